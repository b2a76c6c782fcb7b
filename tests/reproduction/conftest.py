"""A store of a few rows written by hand, one that a generator made, and one paper on each."""

from __future__ import annotations

from pathlib import Path

import pytest

import borgtrace
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.interactive import Store
from borgtrace.synth import generate

HOUR = 3_600_000_000
MINUTE = 60_000_000
NAME = "A" * 43 + "="


def event(time: int, index: int, kind: int, machine: str = "") -> str:
    """Write an event of a task of one job: 0 submits, 1 schedules, 4 finishes."""
    return f"{time},,100,{index},{machine},{kind},{NAME},2,9,0.25,0.125,0.001,0"


TASK_EVENTS = [
    # Three finish, after 4, 20 and 40 minutes; the last one waits to the end.
    event(HOUR, 0, 0),
    event(HOUR + MINUTE, 0, 1, "7"),
    event(HOUR + 5 * MINUTE, 0, 4, "7"),
    event(HOUR, 1, 0),
    event(HOUR + MINUTE, 1, 1, "7"),
    event(HOUR + 21 * MINUTE, 1, 4, "7"),
    event(HOUR, 2, 0),
    event(HOUR + MINUTE, 2, 1, "8"),
    event(HOUR + 41 * MINUTE, 2, 4, "8"),
    event(2 * HOUR, 3, 0),
]
MACHINES = ["0,7,0,PLATFORM,0.5,0.25", "0,8,0,PLATFORM,1,1"]
JOBS = [f"{HOUR},,100,0,{NAME},2,{NAME},{NAME}"]


@pytest.fixture(scope="session")
def four_tasks(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store of the rows above: four tasks, two machines, no usage."""
    root = tmp_path_factory.mktemp("tasks")
    tables = {"machine_events": MACHINES, "job_events": JOBS, "task_events": sorted(TASK_EVENTS)}
    for table, lines in tables.items():
        (root / "raw" / table).mkdir(parents=True)
        text = "\n".join(lines) + "\n"
        (root / "raw" / table / "part-00000-of-00001.csv").write_text(text)
    ingest([root / "raw"], root / "cell", IngestOptions(jobs=1))
    return borgtrace.open(root / "cell")


@pytest.fixture(scope="session")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a generated cell: three machines, two hours."""
    root = tmp_path_factory.mktemp("made")
    generate(root / "raw", "2011", 3, 2.0, 1)
    ingest([root / "raw"], root / "cell", IngestOptions(jobs=1))
    return root / "cell"
