"""Runs the code blocks of the documentation, and compares or writes down what they print.

- A ``console`` block holds commands behind ``$ `` and, below each, what a terminal shows.
- A ``python`` block is a script, and is kept under the name that its ``title`` says, as a ``toml`` block is; a
  ``sql`` block is a query for ``borgtrace sql store``.  A ``text`` block that follows directly is what it prints.

In what is expected, ``…`` stands for anything.  ``python docs/blocks.py --write PAGE…`` runs pages in a
fresh folder and writes the real output into them, with times, rates and sizes of disks as ``…``.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import zip_longest
from pathlib import Path

from warm import warm_commands

ROOT = Path(__file__).resolve().parent.parent
# The stand-in of a server is that of the tests.
sys.path.append(str(ROOT))

from tests.fetch.fake_prometheus import FakePrometheus, serving  # noqa: E402
from tests.fetch.small_cluster import cluster  # noqa: E402

RUN = ("console", "python", "sql")
STATIC = ("text", "bibtex", "pycon", "sh", "toml", "yaml")
"""Not run here: output, references, doctests (the package's own tests run them), and how to install."""
INSTALLING = ("pip install ", "git clone ", "cd ", "make ")
"""All that a ``sh`` block may do; continuous integration does it itself."""
_FENCE = re.compile(
    r'^```(?P<language>\w*)(?: title="(?P<title>[\w.]+)")?[^\n]*\n(?P<text>.*?)^```[ ]*$',
    re.MULTILINE | re.DOTALL,
)
_SECONDS = 300
_FAILED = re.compile(r"^(borgtrace: |Traceback \(most recent call last\))", re.MULTILINE)
"""What a command says that fails on the left of a pipe, whose exit code the shell does not tell."""
_STOPPABLE = "Press Ctrl-C to stop.\n"
"""What a server says of itself."""
_BAR = "━"
"""Progress bars are left out: a page cannot show them move."""
_FIRST_RUN = "First run: compiling"
"""Nor who has run the command before."""
_VOLATILE = (
    (re.compile(r"\b\d[\d,.]* ?(?:µs|ms|s|min|seconds)\b(?!\w)"), "…"),
    (re.compile(r"\b[\d.,]+ ?[kMGT]?B/s"), "…"),
    (re.compile(r"[\d.]+ .B(?= free| of disk free)|(?<=free disk )[\d.]+ .B"), "…"),
    (re.compile(r"\b[0-9a-f]{32,64}\b"), "…"),
)


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its title or an empty text, its text and where it stands."""

    page: Path
    line: int
    language: str
    title: str
    text: str
    span: tuple[int, int]

    @property
    def place(self) -> str:
        """Page and line, for messages."""
        return f"{self.page.name}:{self.line}"


@dataclass(frozen=True)
class Step:
    """Something to run, and what it should print; None where nothing is said."""

    block: Block
    command: str
    expected: str | None


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            page,
            text.count("\n", 0, found.start()) + 1,
            found["language"],
            found["title"] or "",
            found["text"],
            found.span("text"),
        )
        for found in _FENCE.finditer(text)
    ]


def steps(page: Path) -> list[Step]:
    """Return everything a page runs, in order."""
    found = blocks(page)
    text = page.read_text(encoding="utf-8")
    result: list[Step] = []
    for block, following in zip_longest(found, found[1:]):
        if block.language == "console":
            result += [Step(block, command, output) for command, output in dialogue(block.text)]
        elif block.language in RUN:
            expected = None
            if following and following.language == "text" and _adjacent(text, block, following):
                expected = following.text
            result.append(Step(block, _script(block), expected))
        elif block.language == "toml" and block.title:
            # Kept under its name, for the commands that follow.
            result.append(Step(block, "true", None))
    return result


def _adjacent(text: str, block: Block, following: Block) -> bool:
    return text[block.span[1] + 3 : following.span[0]].strip() == "```text"


def dialogue(text: str) -> list[tuple[str, str]]:
    r"""Split a console block into commands and outputs.

    >>> dialogue("$ echo a\na\n$ true\n")
    [('echo a', 'a\n'), ('true', '')]
    """
    parts = re.split(r"^\$ ((?:.*\\\n)*.*)\n", text, flags=re.MULTILINE)
    if parts[0].strip():
        raise ValueError(f"output without a command: {parts[0]!r}")
    return list(zip(parts[1::2], parts[2::2], strict=True))


def _script(block: Block) -> str:
    return (
        f"borgtrace sql store {shlex.quote(block.text.strip())}"
        if block.language == "sql"
        else block.text
    )


def run(step: Step, folder: Path, environment: dict[str, str]) -> str:
    """Run one step in a folder and return what a terminal would show.

    Raises
    ------
    AssertionError
        It fails.  A page that shows an error says ``|| echo "exit code $?"``.
    """
    console = step.block.language != "python"
    if step.block.title:
        (folder / step.block.title).write_text(step.block.text, encoding="utf-8")
    python = shutil.which("python", path=environment["PATH"]) or sys.executable
    command = ["bash", "-c", step.command] if console else [python, "-c", step.command]
    code, printed = _watched(command, folder, environment)
    if code or (_FAILED.search(printed) and "exit code" not in step.command):
        raise AssertionError(f"{step.block.place}: {step.command}\nends with {code}:\n{printed}")
    lines = printed.replace(str(folder), "…").splitlines()
    shown = [line for line in lines if _BAR not in line and not line.startswith(_FIRST_RUN)]
    return "".join(line.rstrip() + "\n" for line in shown)


def _watched(command: list[str], folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Return the exit code of a command and what it prints; what asks for Ctrl-C gets it."""
    printed = ""
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        limit = threading.Timer(_SECONDS, process.kill)
        limit.start()
        assert process.stdout
        for line in process.stdout:
            printed += line
            if line == _STOPPABLE:
                process.send_signal(signal.SIGINT)
        limit.cancel()
    return process.returncode, printed


def agrees(expected: str, printed: str) -> bool:
    r"""Return whether output is as a page shows it; ``…`` stands for anything, trailing blanks for nothing.

    >>> agrees("rows …\n…\nend\n", "rows 7\nx\ny\nend\n")
    True
    """
    clean = "\n".join(line.rstrip() for line in expected.strip("\n").splitlines())
    pattern = ".*?".join(re.escape(piece) for piece in clean.split("…"))
    return re.fullmatch(pattern, printed.strip("\n"), re.DOTALL) is not None


def masked(printed: str) -> str:
    """Replace what differs from run to run by ``…``."""
    for pattern, mask in _VOLATILE:
        printed = pattern.sub(mask, printed)
    return printed


def environment(**more: str) -> dict[str, str]:
    """Return an environment with this interpreter's commands, a fixed width and no colours."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    plain = {
        "COLUMNS": "110",
        "TERMINAL_WIDTH": "110",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "LC_ALL": "C.UTF-8",
    }
    return {
        **os.environ,
        "PATH": path,
        "PYTHONWARNINGS": "error::DeprecationWarning:borgtrace",
        **plain,
        **more,
    }


@contextmanager
def workspace(root: Path) -> Iterator[tuple[Path, dict[str, str]]]:
    """Make a folder to run pages in, and serve stand-ins of Google's buckets and Prometheus."""
    folder, bucket = root / "work", root / "bucket"
    folder.mkdir()
    bucket.mkdir()
    handler = partial(_Quiet, directory=str(bucket))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        usage = FakePrometheus(cluster())
        with serving(usage):
            env = environment(
                BORGTRACE_BASE_URL=f"http://127.0.0.1:{server.server_address[1]}",
                PROMETHEUS=usage.url,
            )
            with warm_commands(root / "bin", env) as commands:
                env = {**env, "PATH": f"{commands}{os.pathsep}{env['PATH']}"}
                _fill(bucket, env)
                yield folder, env
        server.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Else each answer waits 40 ms, until its headers are acknowledged.
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _fill(bucket: Path, env: dict[str, str]) -> None:
    """Put synthetic files under the names that the real ones have in their buckets."""
    command = ["borgtrace", "synth", str(bucket / "2011"), "--machines", "40", "--hours", "4"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for path in sorted((bucket / "2011").rglob("*.csv.gz")):
        whole = path.parent.name in ("machine_events", "machine_attributes")
        target = (
            bucket / path.parent.name / (path.name[:10] + f"-of-{1 if whole else 500:05d}.csv.gz")
        )
        target.parent.mkdir(exist_ok=True)
        path.rename(target)
    files = sorted(path for path in bucket.rglob("part-*.gz"))
    sums = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(bucket)}"
        for path in files
    ]
    (bucket / "SHA256SUM").write_text("\n".join(sums))
    _lengthen(bucket)


def _lengthen(bucket: Path) -> None:
    """Let a month follow the first hours: every later part is the last one again, to be listed but not fetched."""
    for table in ("job_events", "task_events", "task_constraints", "task_usage"):
        held = sorted((bucket / table).iterdir())
        for number in range(len(held), 500):
            (bucket / table / f"part-{number:05d}-of-00500.csv.gz").hardlink_to(held[-1])


def rewrite(page: Path, folder: Path, env: dict[str, str]) -> None:
    """Run a page and write what it prints into it."""
    text, replacements = page.read_text(encoding="utf-8"), []
    outputs: dict[tuple[int, int], str] = {}
    found = blocks(page)
    for block, following in zip_longest(found, found[1:]):
        mine = [step for step in steps(page) if step.block == block]
        if block.language == "console":
            outputs[block.span] = "".join(
                f"$ {step.command}\n{_shown(step, folder, env)}" for step in mine
            )
        elif mine and mine[0].expected is not None and following:
            outputs[following.span] = _shown(mine[0], folder, env)
        elif mine:
            run(mine[0], folder, env)
    replacements = sorted(outputs.items(), reverse=True)
    for (start, end), content in replacements:
        text = text[:start] + content + text[end:]
    page.write_text(text, encoding="utf-8")


def _shown(step: Step, folder: Path, env: dict[str, str]) -> str:
    printed = run(step, folder, env)
    return step.expected if step.expected and agrees(step.expected, printed) else masked(printed)


def home(page: Path, folder: Path) -> Path:
    """Return where a page runs: the README starts from nothing, others beside the store of the quickstart."""
    own = folder / "readme" if page.name == "README.md" else folder
    own.mkdir(exist_ok=True)
    return own


def pages() -> list[Path]:
    """Return the pages that run, the quickstart first: the others use the store it makes."""
    written = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    first = ROOT / "docs" / "quickstart.md"
    return [first, *(page for page in written if page != first)]


def main() -> None:
    """Write real output into pages."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pages", nargs="*", type=Path)
    parser.add_argument("--write", action="store_true", required=True)
    chosen = [page.resolve() for page in parser.parse_args().pages] or pages()
    with tempfile.TemporaryDirectory() as scratch, workspace(Path(scratch)) as (folder, env):
        for step in steps(pages()[0]) if pages()[0] not in chosen else []:
            run(step, folder, env)
        for page in chosen:
            rewrite(page, home(page, folder), env)


if __name__ == "__main__":
    main()
