"""What a trace knows of its machines and tasks: who is there or nearest, whose a row is, tiers."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from borgtrace.errors import UsageError
from borgtrace.explore.span import Span
from borgtrace.explore.trace import Tasks, Trace
from borgtrace.schema import dialect
from tests.explore.test_pyramid_files import layout


def trace(machines: list[int], jobs: list[int]) -> Trace:
    """Stands for a trace of these machines, and of jobs of one task each."""

    def rows_of_collection(id_: int) -> tuple[int, int]:
        return int(np.searchsorted(jobs, id_)), int(np.searchsorted(jobs, id_, side="right"))

    def task_ids(rows: Any) -> tuple[Any, Any]:
        return np.array(jobs)[rows], np.zeros(len(rows), int)

    manifest = SimpleNamespace(tables={"tasks": len(jobs)})
    store = SimpleNamespace(
        rows_of_collection=rows_of_collection, task_ids=task_ids, manifest=manifest
    )
    ids = np.array(machines, np.int64)
    pyramid = SimpleNamespace(
        machines=ids, place=lambda id_: machines.index(id_) if id_ in machines else None
    )
    return Trace(store, pyramid, SimpleNamespace(), Span(0, 1))  # type: ignore[arg-type]


@pytest.mark.parametrize(("asked", "nearest"), [(1, 7), (9, 7), (51, 50), (90, 100), (999, 100)])
def test_who_is_not_there_has_a_nearest(asked: int, nearest: int) -> None:
    known = trace([7, 50, 100], [7, 50, 100])
    with pytest.raises(UsageError) as told:
        known.place(asked)
    assert str(told.value) == f"machine: not in this store: got {asked}; the nearest is {nearest}"
    with pytest.raises(UsageError) as told:
        known.job_rows(asked)
    assert (
        str(told.value)
        == f"job: no task of it is in this store: got {asked}; the nearest is {nearest}"
    )
    assert (known.place(100), known.job_rows(100)) == (2, (2, 3))


def test_the_only_one_is_the_nearest() -> None:
    alone = trace([7], [7])
    with pytest.raises(UsageError, match="the nearest is 7"):
        alone.place(9)
    with pytest.raises(UsageError, match="the nearest is 7"):
        alone.job_rows(9)


def test_nobody_is_nearest_where_there_is_nobody() -> None:
    nobody = trace([], [])
    with pytest.raises(UsageError, match=r"got 1; the store names no machines$"):
        nobody.place(1)
    with pytest.raises(UsageError, match=r"got 1; the store has no tasks$"):
        nobody.job_rows(1)
    # Nor is there a table of them where nothing was stored.
    nobody.store.manifest.tables.clear()
    with pytest.raises(UsageError, match=r"got 1; the store has no tasks$"):
        nobody.job_rows(1)


def test_a_row_of_usage_is_of_the_last_task_that_begins_there() -> None:
    found = Trace(SimpleNamespace(offsets=np.array([0, 5, 5, 7])), *[None] * 3)  # type: ignore[arg-type]
    assert found.task_of(np.array([0, 4, 5, 6])).tolist() == [0, 0, 2, 2]


def test_tiers_begin_and_end_with_their_priorities(tmp_path: Path) -> None:
    table = pa.table(
        {
            "collection_type": ["JOB"] * 7 + ["ALLOC_SET"],
            "priority": pa.array([0, 1, 2, 8, 9, 11, 12, None], pa.int16()),
            "cpu_request": pa.array([0.5, *[None] * 7], pa.float32()),
            "memory_request": pa.array([0.25, *[None] * 7], pa.float32()),
        }
    )
    store = SimpleNamespace(
        manifest=SimpleNamespace(dialect=dialect("2011")),
        layout=layout(tmp_path / "tasks.parquet", table),
    )
    tasks = Tasks(store)  # type: ignore[arg-type]
    assert [tasks.tiers[tier] for tier in tasks.tier] == [
        *("free", "free", "other", "other", "production", "production", "unknown", "unknown")
    ]
    assert tasks.is_job.tolist() == [True] * 7 + [False]
    assert (tasks.request("cpu")[0], tasks.request("memory")[0]) == (0.5, 0.25)
