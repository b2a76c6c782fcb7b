"""A store of two machines, and a runner of commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from borgtrace.cli import main
from borgtrace.ingest import IngestOptions, ingest
from tests.ingest.raw import write_part
from tests.lifecycle.test_by_machine import CELL

Run = Callable[..., tuple[int, str, str]]
"""From the words of a command to its exit code and what it printed to stdout and stderr."""


@pytest.fixture(scope="package")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Machines 7 and 8 over five slots."""
    root = tmp_path_factory.mktemp("extensions")
    for table, lines in {**CELL, "machine_events": ["0,7,0,PLATFORM,1,1"]}.items():
        write_part(root / "raw", table, lines, compressed=False)
    ingest([root / "raw"], root / "store", IngestOptions(jobs=1))
    return root / "store"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def invoke(*words: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main([str(word) for word in words])
        printed = capsys.readouterr()
        return int(caught.value.code or 0), printed.out, printed.err

    return invoke


@pytest.fixture
def name(tmp_path: Path) -> str:
    """A name that no other test gives to an extension: a process remembers them."""
    return tmp_path.name.lower().replace("_", "-").strip("-")
