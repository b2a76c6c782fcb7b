"""Edits listed by hand, each with the tests that must notice.

A file without compiled functions is edited in memory, in a fork of a warm process.  Numba finds its cache by the file
on disk, so an edit of compiled functions is made in a copy of the project, which starts Python anew.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from mutation.forked import Fork, tests, warm_up, with_source

ROOT = Path(__file__).parents[2]
_COPIED = ("src", "tests", "scripts", "benchmarks", "docs", "examples")
_FILES = ("pyproject.toml", "README.md", "mkdocs.yml", "Makefile")
_OUTCOMES = {
    0: "SURVIVED",
    1: "noticed",
    2: "noticed",
    -1: "noticed",
    -signal.SIGXCPU: "noticed",
    5: "NO SUCH TEST",
}
"""By pytest's exit code; an edit that makes the import of a test fail is noticed, too."""
_COMPILED = ("@compiled", "kernel(", "njit")
SECONDS = 300
"""For the tests of one edit; an edit that makes them hang is noticed."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit: exact text in a file, what replaces it, and the tests that must fail."""

    id: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def needs_copy(self) -> bool:
        """Whether the file has compiled functions, or is data that code reads: no module to change in memory."""
        if not self.file.endswith(".py"):
            return True
        text = (ROOT / self.file).read_text()
        return any(word in text for word in _COMPILED)

    def fault(self) -> str:
        """Say what is wrong with the entry, or nothing."""
        path = ROOT / self.file
        count = path.read_text().count(self.old) if path.is_file() else 0
        return "" if count == 1 else f"its old text stands {count} times in {self.file}"


def read(path: Path) -> list[Edit]:
    """Read a list of edits; a file that was renamed is found by its text, if that stands nowhere else."""
    entries = tomllib.loads(path.read_text()).get("edit", [])
    return [
        Edit(e["id"], _file(e["file"], e["old"]), e["old"], e["new"], tuple(e["tests"]))
        for e in entries
    ]


def _file(name: str, text: str) -> str:
    if (ROOT / name).is_file():
        return name
    found = [path for path in (ROOT / "src").rglob("*.py") if text in path.read_text()]
    return str(found[0].relative_to(ROOT)) if len(found) == 1 else name


def run(edits: Sequence[Edit], jobs: int = 1) -> Iterator[tuple[Edit, str]]:
    """Try every edit; yield it with ``"noticed"``, or with what happened instead.

    Parameters
    ----------
    edits
        Edits whose `fault` is empty.
    jobs
        Edits that are tried at a time.
    """
    in_memory = [edit for edit in edits if not edit.needs_copy]
    yield from _in_forks(in_memory, jobs)
    yield from _in_copies([edit for edit in edits if edit.needs_copy], jobs)


def _in_forks(edits: Sequence[Edit], jobs: int) -> Iterator[tuple[Edit, str]]:
    if edits:
        warm_up()
    waiting, running = list(edits), dict[Edit, Fork]()
    while waiting or running:
        while waiting and len(running) < jobs:
            edit = waiting.pop(0)
            running[edit] = Fork(lambda edit=edit: _edited_tests(edit), SECONDS)  # type: ignore[misc]
        for edit, fork in list(running.items()):
            if (code := fork.outcome()) is not None:
                del running[edit]
                yield edit, _OUTCOMES.get(code, f"PYTEST FAILED ({code})")
        time.sleep(0.05)


def _edited_tests(edit: Edit) -> int:
    with_source(edit.file, (ROOT / edit.file).read_text().replace(edit.old, edit.new))
    return tests(edit.tests, {})


def _in_copies(edits: Sequence[Edit], jobs: int) -> Iterator[tuple[Edit, str]]:
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(jobs if edits else 0):
            copies.put(_copied(Path(folder) / str(number) / "project"))

        def one(edit: Edit) -> str:
            copy = copies.get()
            try:
                return _noticed(edit, copy)
            finally:
                copies.put(copy)

        yield from zip(edits, pool.map(one, edits), strict=True)


def _copied(target: Path) -> Path:
    for name in _COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name, symlinks=True)
    for name in _FILES:
        shutil.copy2(ROOT / name, target / name)
    return target


def _noticed(edit: Edit, copy: Path) -> str:
    with _edited(edit, copy):
        try:
            code = _tests(edit.tests, copy)
        except subprocess.TimeoutExpired:
            return "noticed"
    return _OUTCOMES.get(code, f"PYTEST FAILED ({code})")


def _tests(tests: Sequence[str], copy: Path) -> int:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        *tests,
    ]
    environment = os.environ | {"PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, cwd=copy, env=environment, capture_output=True, timeout=SECONDS, check=False
    )
    return done.returncode


@contextmanager
def _edited(edit: Edit, copy: Path) -> Iterator[None]:
    """Make an edit, and put back the file and what was compiled beside it."""
    path, compiled = copy / edit.file, (copy / edit.file).parent / "__pycache__"
    before, times = path.read_text(), path.stat()
    saved = copy.parent / "compiled"
    if compiled.is_dir():
        shutil.copytree(compiled, saved)
    path.write_text(before.replace(edit.old, edit.new))
    try:
        yield
    finally:
        path.write_text(before)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        shutil.rmtree(compiled, ignore_errors=True)
        if saved.is_dir():
            saved.rename(compiled)
