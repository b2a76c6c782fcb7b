"""The last 24 lines of each command on a terminal of 80 columns: they hold the answer.

``BORGTRACE_WRITE_SCREENS=1 pytest tests/cli/test_last_screen.py`` writes the files below ``screens`` anew; read the
difference before it is committed.
"""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path

import pytest

from borgtrace.cli import main
from borgtrace.ingest import IngestOptions, ingest
from tests.ingest.raw import write_part
from tests.lifecycle.test_by_machine import CELL

SCREENS = Path(__file__).parent / "screens"
N_LINES = 24
N_COLUMNS = 80
LINES = {
    "info": "info {store}",
    "sql": "sql {store} 'select * from instance_usage'",
    "trace": "trace {store} 100 0",
    "machine": "machine {store} 7",
    "analyze": "analyze {store} machine_shapes",
    "overcommit": "overcommit {store}",
    "overcommit out": "overcommit {store} --policy limit --policy borg:phi=0.2 --out {out}",
    "overcommit target": "overcommit target {store} --target 0.01",
    "overcommit reclaim": "overcommit reclaim {store} --resource cpu",
    "overcommit recommend": "overcommit recommend {store} --resource cpu --cores-per-unit 64",
    "overcommit explain": "overcommit explain {store} 7 --at 100s --resource cpu --policy limit",
    "compact": "compact {store} --what-if limits --what-if no-constraints --out {out}",
    "simulate": "simulate {store} --policy recorded --policy best-fit --out {out}",
    "forecast": "forecast {store} --out {out}",
    "colocate": "colocate {store} --experiment packing_base",
    "verify": "verify {store}",
}
"""A command line for each screen, by the name of its file."""


class Terminal(io.StringIO):
    """What a terminal shows, stdout and stderr together."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        raise io.UnsupportedOperation


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Machines 7 and 8 over five slots, of capacity 1 and unknown."""
    root = tmp_path_factory.mktemp("screens")
    for table, lines in {**CELL, "machine_events": ["0,7,0,PLATFORM,1,1"]}.items():
        write_part(root / "raw", table, lines, compressed=False)
    ingest([root / "raw"], root / "store", IngestOptions(jobs=1))
    return root / "store"


def screen(line: str, store: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the last lines that a command leaves on a terminal, with what differs from run to run taken out."""
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", str(N_COLUMNS))
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(sys, "stderr", terminal)
    words = [word.format(store=store, out=out) for word in split(line)]
    with pytest.raises(SystemExit):
        main(words)
    text = terminal.getvalue().replace(str(store), "STORE").replace(str(out), "OUT")
    text = re.sub(r"\d+\.\d s\)", "… s)", text)
    text = re.sub(r"[0-9a-f]{64}", "DIGEST", text)
    text = re.sub(r"borgtrace \d[^,]*, format", "borgtrace VERSION, format", text)
    text = re.sub(r"First run: compiling.*\n", "", text)
    lines = [line.rstrip() for line in text.rstrip().splitlines()]
    return "\n".join(lines[-N_LINES:]) + "\n"


def split(line: str) -> list[str]:
    """Return the words of a command line."""
    return [quoted or word for quoted, word in re.findall(r"'([^']*)'|(\S+)", line)]


@pytest.mark.parametrize("name", LINES)
def test_the_last_screen_holds_the_answer(
    name: str, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = screen(LINES[name], store, tmp_path / "out", monkeypatch)
    path = SCREENS / f"{name.replace(' ', '-')}.txt"
    if os.environ.get("BORGTRACE_WRITE_SCREENS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(shown)
    assert shown == path.read_text()
