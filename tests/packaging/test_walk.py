"""The walk of all commands: what it takes for an answer, a sentence and a dead end, and a small walk."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from borgtrace.cli.app import COMMANDS
from borgtrace.ingest import IngestOptions, ingest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def walking(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package of the walk can be imported."""
    monkeypatch.syspath_prepend(ROOT / "scripts")
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "walking"]:
        del sys.modules[name]


def module(name: str) -> ModuleType:
    return import_module(f"walking.{name}")


ANSWER = "answer"
SENTENCE = "sentence"
DEAD_END = "DEAD END"
ENDINGS = [
    (0, "42\n", "", ANSWER),
    (0, "", "Next: borgtrace ingest raw --store store\n", ANSWER),
    (0, "", "machine node-1: nothing is known to have run\n", ANSWER),
    (
        0,
        "",
        "forecast: not applicable: usage spans 15 min: it takes 3 h at least (0.1 s)\n",
        SENTENCE,
    ),
    (2, "", "borgtrace: --at: not a time: expected 12h or a date, got 'x'; use 12h\n", SENTENCE),
    # Silent, unexplained, or without a way out.
    (0, "", "", DEAD_END),
    (1, "", "Traceback (most recent call last):\n  …\nKeyError: 7\n", DEAD_END),
    (3, "", "went wrong\n", DEAD_END),
    (0, "", "forecast: not applicable: no period has ended (0.1 s)\n", DEAD_END),
    # What nobody can paste or read.
    (0, "", "Next: borgtrace ingest raw --store STORE\n", DEAD_END),
    (0, "", "Next: borgtrace burrow raw\n", DEAD_END),
    (0, "", "subset of the store by time 600000000..900000000\n", DEAD_END),
    (0, "", "machine 2946393348119262580 is full\n", DEAD_END),
    (0, "", "rate: nan\n", DEAD_END),
]


@pytest.mark.parametrize(("code", "stdout", "stderr", "verdict"), ENDINGS)
def test_what_a_stranger_takes_for_an_answer(
    walking: None, code: int, stdout: str, stderr: str, verdict: str
) -> None:
    ended = module("running").Ended(code, stdout, stderr)
    assert module("verdicts").verdict_on(ended) == verdict


def test_every_command_is_walked(walking: None, tmp_path: Path) -> None:
    stores = module("stores")
    lines = module("lines")
    store = tmp_path / "own-10m"
    raw = stores.raw_folder(store)
    raw.mkdir()
    stores.write_own_usage(raw / "usage.csv", 10)
    ingest([raw / "usage.csv"], store, IngestOptions(jobs=1, capacity="8cores,32GiB"))
    walked = [*lines.lines_on(store, tmp_path / "out"), *lines.lines_without_store(tmp_path)]
    assert {line.command for line in walked} == set(COMMANDS)


@pytest.mark.scale
def test_no_command_leads_to_a_dead_end(tmp_path: Path) -> None:
    """Ten minutes of own usage and of the demo's cell, and the commands that need no store."""
    kinds = ("--kind", "none", "--kind", "own", "--kind", "demo", "--span", "10m")
    script = ROOT / "scripts" / "walk_commands.py"
    # The demo runs these commands itself, on a cell of its own.
    walk = [sys.executable, script, tmp_path, *kinds, "--without", "demo"]
    done = subprocess.run(walk, capture_output=True, text=True, check=False)
    with (tmp_path / "walk.csv").open() as file:
        endings = list(csv.DictReader(file))
    assert not [ending for ending in endings if ending["verdict"] == DEAD_END], done.stdout
    assert done.returncode == 0
    assert {ending["store"] for ending in endings} == {"none", "own-10m", "demo-10m"}
