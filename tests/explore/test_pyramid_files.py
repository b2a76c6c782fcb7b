"""What a pyramid is made of, written and read: windows of machines, lives of tasks, grids."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace.explore import grid, windows
from borgtrace.explore.lives import AFTER, Lives, write_lives
from borgtrace.explore.windows import Windows, write_windows
from borgtrace.schema.time import AFTER_TRACE, TRACE_START, WINDOW

S = 1_000_000


def layout(path: Path, table: pa.Table) -> Any:
    """Stands for a store's layout: one file of a table."""
    pq.write_table(table, path)
    return SimpleNamespace(
        parts=lambda name: [path], tasks=lambda columns: table.select(list(columns))
    )


@pytest.mark.parametrize("batch", [1_000_000, 3, 1])
def test_runs_end_with_the_task_or_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(windows, "_BATCH", batch)
    # Task 0 has rows 0 to 4, task 1 none, task 2 rows 5 and 6, task 3 row 7.
    on = pa.table({"machine_id": pa.array([7, 7, 9, None, 7, 7, 8, 8], pa.int64())})
    store = SimpleNamespace(
        offsets=np.array([0, 5, 5, 7, 8]), layout=layout(tmp_path / "usage.parquet", on)
    )
    machines = write_windows(store, tmp_path, np.array([5, 8]))
    assert machines.tolist() == [5, 7, 8, 9]
    read = Windows(tmp_path)
    assert [read.of(place).tolist() for place in range(4)] == [[], [0, 1, 4, 5], [6, 7], [2]]
    runs = pq.read_table(tmp_path / "windows.parquet")
    # In the order of machines, then of rows.
    assert runs.to_pydict() == {"first_row": [0, 4, 5, 6, 7, 2], "n": [2, 1, 1, 1, 1, 1]}
    assert runs.schema.types == [pa.uint32(), pa.uint32()]


def test_rows_beyond_32_bits_are_counted_by_64(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n_rows, kind in ((2**32 - 1, pa.uint32()), (2**32 + 2, pa.uint64())):
        # Two runs of some thousand million rows, and one of two rows at the end.
        runs = np.array([0, 2**31, n_rows - 2]), np.array([7, 8, 9]), n_rows
        monkeypatch.setattr(windows, "_runs", lambda store, runs=runs: runs)
        write_windows(SimpleNamespace(), tmp_path, np.array([], np.int64))  # type: ignore[arg-type]
        assert Windows(tmp_path).of(2).tolist() == [n_rows - 2, n_rows - 1]
        assert pq.read_schema(tmp_path / "windows.parquet").field("first_row").type == kind


def attempts(
    *rows: tuple[int, int | None, int | None, int | None, int | None, str | None],
) -> pa.RecordBatch:
    """Attempts: task, machine, times in µs, type of the end."""
    tasks, on, begin, schedule, left, end = zip(*rows, strict=True)
    times = {"begin_time": begin, "schedule_time": schedule, "left_time": left}
    return pa.RecordBatch.from_pydict(
        {
            "collection_id": pa.array(tasks, pa.int64()),
            "instance_index": pa.array([0] * len(rows), pa.int32()),
            "machine_id": pa.array(on, pa.int64()),
            **{name: pa.array(values, pa.int64()) for name, values in times.items()},
            "end_type": pa.array(end, pa.string()),
        }
    )


def test_lives_are_cut_to_seconds_and_sorted_by_machine(tmp_path: Path) -> None:
    store = SimpleNamespace(task_rows=lambda pairs: pairs[:, 0])
    batches = [
        attempts(
            (3, 8, 5 * S + 999_999, 9 * S, 20 * S, "FINISH"),
            (1, 8, 7 * S, 8 * S, AFTER_TRACE, None),
        ),
        attempts(
            (2, 7, 0, 4 * S, None, "EVICT"),
            # Its SCHEDULE is lost, or it never ran; machines 6 and 9 are none of the store's.
            (2, 7, 30 * S, None, 40 * S, "KILL"),
            (4, 6, 1 * S, 2 * S, 3 * S, "FAIL"),
            (5, 9, 1 * S, 2 * S, 3 * S, "LOST"),
            (0, None, 1 * S, 2 * S, 3 * S, "FINISH"),
        ),
    ]
    write_lives(store, batches, tmp_path, np.array([7, 8]))
    lives = Lives(tmp_path)
    first, second = lives.of_machine(0), lives.of_machine(1)
    assert (first.task.tolist(), first.machine.tolist(), first.left.tolist()) == ([2], [0], [AFTER])
    assert (second.task.tolist(), second.begin.tolist(), second.schedule.tolist()) == (
        [1, 3],
        [7, 5],
        [8, 9],
    )
    assert (second.left.tolist(), second.end) == ([AFTER, 20], [None, "FINISH"])
    # Of tasks, by their begin; the last is excluded.
    two = lives.of_tasks(2, 4)
    assert (two.task.tolist(), two.machine.tolist()) == ([2, 3, 2], [0, 1, -1])
    assert two.end == ["EVICT", "FINISH", "KILL"]
    rest = lives.of_tasks(4, 6)
    assert (rest.task.tolist(), rest.machine.tolist(), rest.end) == (
        [4, 5],
        [-1, -1],
        ["FAIL", "LOST"],
    )


def test_who_ran_nowhere_ran_on_no_machine(tmp_path: Path) -> None:
    store = SimpleNamespace(task_rows=lambda pairs: pairs[:, 0])
    write_lives(
        store, [attempts((0, None, 1 * S, 2 * S, 3 * S, "FINISH"))], tmp_path, np.array([0, 1])
    )
    assert [Lives(tmp_path).of_machine(place).task.tolist() for place in (0, 1)] == [[], []]


def test_a_store_without_attempts(tmp_path: Path) -> None:
    write_lives(SimpleNamespace(), [], tmp_path, np.array([7]))
    assert Lives(tmp_path).of_machine(0).task.tolist() == []


def test_grids_by_slot_and_by_hour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "_BLOCK", 1)
    present = pa.table(
        {
            "machine_id": [7, 7, 8],
            # Machine 7 is there from before the trace until slot 12 begins, and again from within slot 13 on.
            "start": [0, TRACE_START + 13 * WINDOW + 1, TRACE_START],
            "end": [TRACE_START + 12 * WINDOW, AFTER_TRACE, TRACE_START + 12 * WINDOW + 1],
        }
    )
    shares = pa.RecordBatch.from_pydict(
        {
            "machine_id": [7, 7, 8],
            "slot": [0, 24, 1],
            "cpu": [0.6, 0.0026, 9.0],
            "memory": [0.3, 1.0, 0.0024],
        }
    )
    grid.write_grids(tmp_path, np.array([7, 8]), 25, present, [shares])
    slots, hours = (np.load(tmp_path / grid.file_name("cpu", by_hour)) for by_hour in (False, True))
    seven = [120, *[0] * 11, 255, 255, *[0] * 10, 1]
    assert slots.tolist() == [seven, [0, 254, *[0] * 11, *[255] * 12]]
    # The mean of the slots in which it was there: 120 ÷ 12, 0, 1; 254 ÷ 12 is 21.2.
    assert hours.tolist() == [[10, 0, 1], [21, 0, 255]]
    memory = np.load(tmp_path / grid.file_name("memory", False))
    assert (memory[0, 0], memory[0, 24], memory[1, 1]) == (60, 200, 0)
    assert (slots.dtype, hours.dtype) == (np.uint8, np.uint8)


def test_grids_are_on_disk_when_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[str] = []
    monkeypatch.setattr(np.memmap, "flush", lambda self: flushed.append(Path(self.filename).name))
    present = pa.table({"machine_id": [7], "start": [0], "end": [AFTER_TRACE]})
    grid.write_grids(tmp_path, np.array([7]), 1, present, [])
    assert sorted(flushed) == [
        "cpu_by_hour.npy",
        "cpu_by_slot.npy",
        "memory_by_hour.npy",
        "memory_by_slot.npy",
    ]
