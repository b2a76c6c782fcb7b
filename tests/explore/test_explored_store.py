"""What an explored store knows of its machines and tasks: who is there or nearest, whose a row is, tiers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import borgtrace
from borgtrace.errors import UsageError
from borgtrace.explore.explored_store import ExploredStore, TaskColumns
from borgtrace.explore.pyramid import MACHINES_FILE, Pyramid, pyramid
from borgtrace.schema import dialect
from tests.explore.conftest import write_store
from tests.ingest.raw import HASH


def explored(folder: Path, machines: list[int], jobs: list[int]) -> ExploredStore:
    """A store of these machines, and of jobs of one task each."""
    raw = {
        "machine_events": [f"0,{machine},0,PLATFORM,0.5,0.25" for machine in machines or [1]],
        "task_events": [f"600000000,,{job},0,,0,{HASH},2,9,0.25,0.125,0.001,0" for job in jobs],
    }
    store = write_store(folder, {table: lines for table, lines in raw.items() if lines})
    (folder / "pyramid").mkdir()
    np.save(folder / "pyramid" / MACHINES_FILE, np.array(machines, np.int64))
    return ExploredStore(borgtrace.open(store), Pyramid(folder / "pyramid"))


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> ExploredStore:
    return explored(tmp_path_factory.mktemp("three"), [7, 50, 100], [7, 50, 100])


@pytest.mark.parametrize(
    ("wanted", "nearest"),
    [
        (1, 7),
        (9, 7),
        (51, 50),
        (90, 100),
        (999, 100),
    ],
)
def test_who_is_not_there_has_a_nearest(three: ExploredStore, wanted: int, nearest: int) -> None:
    got = f"got {wanted}; the nearest is {nearest}"
    with pytest.raises(UsageError) as caught:
        three.place(wanted)
    assert str(caught.value) == f"machine: not in this store: {got}"
    with pytest.raises(UsageError) as caught:
        three.job_rows(wanted)
    assert str(caught.value) == f"job: no task of it is in this store: {got}"


def test_who_is_there_has_a_position(three: ExploredStore) -> None:
    assert three.place(100) == 2
    assert three.job_rows(100) == (2, 3)


def test_the_only_one_is_the_nearest(tmp_path: Path) -> None:
    alone = explored(tmp_path, [7], [7])
    with pytest.raises(UsageError, match="the nearest is 7"):
        alone.place(9)
    with pytest.raises(UsageError, match="the nearest is 7"):
        alone.job_rows(9)


def test_nobody_is_nearest_where_there_is_nobody(tmp_path: Path) -> None:
    nobody = explored(tmp_path, [], [])
    with pytest.raises(UsageError, match=r"got 1; the store names no machines$"):
        nobody.place(1)
    with pytest.raises(UsageError, match=r"got 1; the store has no tasks$"):
        nobody.job_rows(1)
    # Nor is there a table of them where nothing was stored.
    nobody.store.manifest.tables.clear()
    with pytest.raises(UsageError, match=r"got 1; the store has no tasks$"):
        nobody.job_rows(1)


def test_a_row_of_usage_is_of_the_last_task_that_begins_there(cell_store: Path) -> None:
    """Task 100:0 has two rows, 100:1 none, 200:0 three."""
    store = borgtrace.open(cell_store)
    rows = np.arange(5)
    assert ExploredStore(store, pyramid(store)).task_of(rows).tolist() == [0, 0, 2, 2, 2]


def test_tiers_begin_and_end_with_their_priorities() -> None:
    table = pa.table(
        {
            "collection_type": ["JOB"] * 7 + ["ALLOC_SET"],
            "priority": pa.array([0, 1, 2, 8, 9, 11, 12, None], pa.int16()),
            "cpu_request": pa.array([0.5, *[None] * 7], pa.float32()),
            "memory_request": pa.array([0.25, *[None] * 7], pa.float32()),
        }
    )
    tasks = TaskColumns(table, dialect("2011"))
    assert [tasks.tiers[tier] for tier in tasks.tier] == [
        "free",
        "free",
        "other",
        "other",
        "production",
        "production",
        "unknown",
        "unknown",
    ]
    assert tasks.is_job.tolist() == [True] * 7 + [False]
    assert tasks.request("cpu")[0] == 0.5
    assert tasks.request("memory")[0] == 0.25
