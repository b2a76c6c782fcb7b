"""Pools as files: what is written comes back; foreign files; what is refused, in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace.colocation import read_pool, write_pool
from borgtrace.colocation.tasks.pool import PER_TASK, PER_WINDOW, PreparationStep, TaskPool
from borgtrace.errors import SourceError
from borgtrace.schema.dialects import dialect
from borgtrace.store.coverage import Coverage, StoreCoverage

WAY_OUT = "; write one: borgtrace colocate pool STORE --out FILE"


def full() -> TaskPool:
    """A pool that knows everything a pool can know."""
    return TaskPool(
        offsets=np.array([0, 2, 5]),
        inst=np.float32([0, 0.5, 0.25, 0.25, 1]),
        avg=np.float32([0.1, 0.4, 0.25, 0.2, 0.9]),
        collection_id=np.array([2**62, 9]),
        instance_index=np.array([3, 0]),
        start=np.array([600, 900, 600, 900, 1200]),
        seconds=np.array([300, 300, 10, 20, 30]),
        is_weighted=True,
        memory=np.float32([0.1, 0.2, 0.3, 0.4, 0.5]),
        quantiles=np.arange(100, dtype=np.float32).reshape(5, 20) / 100,
        cpu_request=np.float32([0.5, np.nan]),
        memory_request=np.float32([0.25, 0.125]),
        priority=np.array([200, -1]),
        disk_request=np.float32([np.nan, 0.5]),
        logical_name=np.array([1, 0]),
        user=np.array([-1, 2]),
        retried=np.array([1, 0]),
        generation="2019",
        source="two tasks",
        is_synthetic=True,
        steps=(PreparationStep("dropped", 3, 5), PreparationStep("mended", 1, 9, "windows")),
    )


def test_round_trip(tmp_path: Path) -> None:
    pool = full()
    write_pool(pool, tmp_path / "pool.parquet")
    back = read_pool(tmp_path / "pool.parquet")
    for name in ("offsets", *PER_WINDOW, *PER_TASK):
        expected = getattr(pool, name)
        got = getattr(back, name)
        assert got.dtype == expected.dtype, name
        np.testing.assert_array_equal(got, expected, err_msg=name)
    for name in ("is_weighted", "generation", "source", "is_synthetic", "steps"):
        assert getattr(back, name) == getattr(pool, name)
    assert [path.name for path in tmp_path.iterdir()] == ["pool.parquet"]


def test_a_pool_of_a_part_of_a_store_stays_a_part(tmp_path: Path) -> None:
    table = Coverage(
        5,
        parts=(3, 4),
        of=500,
        span=1_000_000,
    )
    part = StoreCoverage(dialect("2019"), {"instance_usage": table}, n_tasks=2, is_subset=True)
    write_pool(replace(full(), part=part), tmp_path / "p")
    back = read_pool(tmp_path / "p").part
    assert back == part
    # What a claim about all of a trace is told of it.
    assert back is not None
    assert not back.tables["instance_usage"].is_whole


def test_same_pool_same_bytes(tmp_path: Path) -> None:
    write_pool(full(), tmp_path / "a")
    write_pool(full(), tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def foreign(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def test_two_lists_are_enough(tmp_path: Path) -> None:
    path = foreign(
        tmp_path / "p",
        inst=[[0.5, 0.25], [1.0]],
        avg=[[0.5, 0.5], [1.0]],
    )
    pool = read_pool(path)
    assert pool.offsets.tolist() == [0, 2, 3]
    assert pool.inst.tolist() == [0.5, 0.25, 1]
    assert pool.collection_id.tolist() == [0, 1]
    assert pool.source == "p"
    assert not pool.is_weighted
    assert pool.start is None


def test_a_task_column_is_the_identity(tmp_path: Path) -> None:
    path = foreign(
        tmp_path / "p",
        task=[70, 60],
        inst=[[0.5], [1.0]],
        avg=[[0.5], [1.0]],
    )
    assert read_pool(path).collection_id.tolist() == [70, 60]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"avg": [[1.0]]}, "no column inst: expected lists inst and avg" + WAY_OUT),
        ({"inst": [[1.0]]}, "no column avg: expected lists inst and avg" + WAY_OUT),
        ({"inst": [1.0], "avg": [[1.0]]}, "column inst is not a list: got double" + WAY_OUT),
        ({"inst": [["a"]], "avg": [[1.0]]}, "column inst is not a list of numbers: got object"),
        (
            {
                "inst": [[1.0], None],
                "avg": [[1.0], [1.0]],
            },
            "column inst holds NULLs" + WAY_OUT,
        ),
        ({"inst": [[1.0], []], "avg": [[1.0], []]}, "row 1: a task without windows" + WAY_OUT),
        (
            {"inst": [[1.0], [1.0, 2.0]], "avg": [[1.0], [1.0]]},
            "row 1: avg and inst differ in length: expected 2, got 1",
        ),
        (
            {
                "inst": [[1.0], [1.0, -2.0]],
                "avg": [[1.0], [1.0, 1.0]],
            },
            "row 1: column inst: expected numbers ≥ 0, got -2.0",
        ),
        (
            {
                "inst": [[1.0], [1.0]],
                "avg": [[1.0], [float("nan")]],
            },
            "row 1: column avg: expected numbers ≥ 0, got nan",
        ),
        (
            {
                "inst": [[1.0, 1.0]],
                "avg": [[1.0, 1.0]],
                "quantiles": [[[0.5] * 20, [0.5] * 4]],
            },
            "column quantiles: expected 20 percentiles for each window",
        ),
        (
            {
                "inst": [[1.0]],
                "avg": [[1.0]],
                "quantiles": [[0.5]],
            },
            "column quantiles: expected 20 percentiles for each window",
        ),
        (
            {
                "inst": [[1.0], [1.0]],
                "avg": [[1.0], [1.0]],
                "quantiles": [[[0.5] * 20], [[0.5] * 20] * 2],
            },
            "row 1: quantiles and inst differ in length: expected 1, got 2",
        ),
        (
            {
                "inst": [[1.0], [1.0]],
                "avg": [[1.0]] * 2,
                "quantiles": [
                    [[0.5] * 20],
                    [[0.5] * 19 + [-1.0]],
                ],
            },
            "row 1: column quantiles: expected numbers ≥ 0, got -1.0",
        ),
        (
            {
                "task": [1, 1],
                "inst": [[1.0], [1.0]],
                "avg": [[1.0], [1.0]],
            },
            "two rows are the same task: expected unique (task, instance_index)",
        ),
        # Between two tasks time may go back, within one it may not: the second one's window 600 follows 900.
        (
            {
                "inst": [[1.0] * 2, [1.0] * 3],
                "avg": [[1.0] * 2, [1.0] * 3],
                "start": [[900, 1200], [300, 900, 600]],
            },
            "row 1: column start goes back in time: expected at least 900, got 600",
        ),
    ],
)
def test_refuses(tmp_path: Path, columns: dict[str, Any], message: str) -> None:
    path = foreign(tmp_path / "p", **columns)
    with pytest.raises(SourceError) as error:
        read_pool(path)
    assert str(error.value) == f"{path}: {message}"


def test_refuses_what_is_no_pool_at_all(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    text = tmp_path / "text"
    text.write_text("task,inst,avg")
    empty = foreign(
        tmp_path / "empty",
        inst=pa.array([], pa.list_(pa.float32())),
    )
    for path, message in (
        (missing, f"no such file; write one: borgtrace colocate pool STORE --out {missing}"),
        (text, f"not a Parquet file{WAY_OUT}"),
        (empty, f"the pool has no tasks{WAY_OUT}"),
    ):
        with pytest.raises(SourceError) as error:
            read_pool(path)
        assert str(error.value) == f"{path}: {message}"
