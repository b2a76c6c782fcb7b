"""What a pyramid is made of, written and read: windows of machines, lives of tasks, grids."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace.explore.grid import file_name, write_grids
from borgtrace.explore.lives import AFTER, Lives, write_lives
from borgtrace.explore.windows import (
    NOWHERE,
    MachineRuns,
    WindowFiles,
    find_runs,
    write_windows,
)
from borgtrace.kernels.arrays import Index
from borgtrace.schema.time import AFTER_TRACE, TRACE_START, WINDOW

S = 1_000_000


@pytest.mark.parametrize("batch_size", [8, 3, 1])
def test_runs_end_with_the_task_or_the_machine(tmp_path: Path, batch_size: int) -> None:
    machine_of_row = np.array([7, 7, 9, NOWHERE, 7, 7, 8, 8])
    batches = [machine_of_row[first : first + batch_size] for first in range(0, 8, batch_size)]
    # Task 0 has rows 0 to 4, task 1 none, task 2 rows 5 and 6, task 3 row 7.
    runs = find_runs(batches, offsets=np.array([0, 5, 5, 7, 8]))
    machines = write_windows(runs, tmp_path, np.array([5, 8]))
    assert machines.tolist() == [5, 7, 8, 9]
    windows = WindowFiles(tmp_path)
    rows = [windows.of(place).tolist() for place in range(4)]
    assert rows == [
        [],
        [0, 1, 4, 5],
        [6, 7],
        [2],
    ]
    written = pq.read_table(tmp_path / "windows.parquet")
    # In the order of machines, then of rows.
    assert written.to_pydict() == {"first_row": [0, 4, 5, 6, 7, 2], "n": [2, 1, 1, 1, 1, 1]}
    assert written.schema.types == [pa.uint32(), pa.uint32()]


@pytest.mark.parametrize(("n_rows", "kind"), [(2**32 - 1, pa.uint32()), (2**32 + 2, pa.uint64())])
def test_rows_beyond_32_bits_are_counted_by_64(
    tmp_path: Path, n_rows: int, kind: pa.DataType
) -> None:
    # Two runs of some thousand million rows, and one of two rows at the end.
    runs = MachineRuns(
        np.array(
            [
                0,
                2**31,
                n_rows - 2,
            ]
        ),
        np.array([7, 8, 9]),
        n_rows,
    )
    write_windows(runs, tmp_path, np.array([], np.int64))
    assert WindowFiles(tmp_path).of(2).tolist() == [n_rows - 2, n_rows - 1]
    assert pq.read_schema(tmp_path / "windows.parquet").field("first_row").type == kind


def attempts(
    *rows: tuple[int, int | None, int | None, int | None, int | None, str | None],
) -> pa.RecordBatch:
    """Attempts: task, machine, times in µs, type of the end."""
    tasks, machines, begins, schedules, lefts, ends = zip(*rows, strict=True)
    return pa.RecordBatch.from_pydict(
        {
            "collection_id": pa.array(tasks, pa.int64()),
            "instance_index": pa.array([0] * len(rows), pa.int32()),
            "machine_id": pa.array(machines, pa.int64()),
            "begin_time": pa.array(begins, pa.int64()),
            "schedule_time": pa.array(schedules, pa.int64()),
            "left_time": pa.array(lefts, pa.int64()),
            "end_type": pa.array(ends, pa.string()),
        }
    )


def row_is_id(ids: Index) -> Index:
    """Tasks stand in the row of their collection's id."""
    return ids[:, 0]


@pytest.fixture
def lives(tmp_path: Path) -> Lives:
    """Attempts on machines 7 and 8, the only ones of the store."""
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
    write_lives(batches, tmp_path, np.array([7, 8]), row_is_id)
    return Lives(tmp_path)


def test_lives_of_a_machine_are_cut_to_seconds_and_sorted(lives: Lives) -> None:
    first = lives.of_machine(0)
    assert first.task.tolist() == [2]
    assert first.machine.tolist() == [0]
    assert first.left.tolist() == [AFTER]
    second = lives.of_machine(1)
    assert second.task.tolist() == [1, 3]
    assert second.begin.tolist() == [7, 5]
    assert second.schedule.tolist() == [8, 9]
    assert second.left.tolist() == [AFTER, 20]
    assert second.end == [None, "FINISH"]


def test_lives_of_tasks_are_sorted_by_their_begin(lives: Lives) -> None:
    # The last task is excluded.
    two = lives.of_tasks(2, 4)
    assert two.task.tolist() == [2, 3, 2]
    assert two.machine.tolist() == [
        0,
        1,
        -1,
    ]
    assert two.end == ["EVICT", "FINISH", "KILL"]
    elsewhere = lives.of_tasks(4, 6)
    assert elsewhere.task.tolist() == [4, 5]
    assert elsewhere.machine.tolist() == [-1, -1]
    assert elsewhere.end == ["FAIL", "LOST"]


def test_who_ran_nowhere_ran_on_no_machine(tmp_path: Path) -> None:
    batch = attempts((0, None, 1 * S, 2 * S, 3 * S, "FINISH"))
    write_lives([batch], tmp_path, np.array([0, 1]), row_is_id)
    lives = Lives(tmp_path)
    assert [lives.of_machine(place).task.tolist() for place in (0, 1)] == [[], []]


def test_a_store_without_attempts(tmp_path: Path) -> None:
    write_lives([], tmp_path, np.array([7]), row_is_id)
    assert Lives(tmp_path).of_machine(0).task.tolist() == []


def test_grids_by_slot_and_by_hour(tmp_path: Path) -> None:
    present = pa.table(
        {
            "machine_id": [7, 7, 8],
            # Machine 7 is there from before the trace until slot 12 begins, and again from within slot 13 on.
            "start": [
                0,
                TRACE_START + 13 * WINDOW + 1,
                TRACE_START,
            ],
            "end": [
                TRACE_START + 12 * WINDOW,
                AFTER_TRACE,
                TRACE_START + 12 * WINDOW + 1,
            ],
            "has_cpu": [True] * 3,
            "has_memory": [True] * 3,
        }
    )
    shares = pa.RecordBatch.from_pydict(
        {
            "machine_id": [7, 7, 8],
            "slot": [0, 24, 1],
            "cpu": [0.6, 0.0026, 9.0],
            "memory": [0.3, 1.0, np.nan],
        }
    )
    # In slot 11 nothing was measured in the whole cell.
    is_measured = np.arange(25) != 11
    write_grids(
        tmp_path,
        np.array([7, 8]),
        is_measured,
        present,
        [shares],
        machines_at_once=1,
    )
    slots = np.load(tmp_path / file_name("cpu", by_hour=False))
    hours = np.load(tmp_path / file_name("cpu", by_hour=True))
    seven = [
        120,
        *[0] * 10,
        255,
        255,
        255,
        *[0] * 10,
        1,
    ]
    eight = [
        0,
        254,
        *[0] * 9,
        255,
        0,
        *[255] * 12,
    ]
    assert slots.tolist() == [seven, eight]
    # The mean of the slots in which it was there and measured: 120 ÷ 11, 0, 1; 254 ÷ 11.
    assert hours.tolist() == [[11, 0, 1], [23, 0, 255]]
    memory = np.load(tmp_path / file_name("memory", by_hour=False))
    assert (memory[0, 0], memory[0, 24], memory[1, 1]) == (60, 200, 255)
    assert (slots.dtype, hours.dtype) == (np.uint8, np.uint8)


def test_grids_are_on_disk_when_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[str] = []
    monkeypatch.setattr(np.memmap, "flush", lambda self: flushed.append(Path(self.filename).name))
    present = pa.table(
        {
            "machine_id": [7],
            "start": [0],
            "end": [AFTER_TRACE],
            "has_cpu": [True],
            "has_memory": [True],
        }
    )
    write_grids(
        tmp_path,
        np.array([7]),
        np.ones(1, bool),
        present,
        [],
    )
    assert sorted(flushed) == [
        "cpu_by_hour.npy",
        "cpu_by_slot.npy",
        "memory_by_hour.npy",
        "memory_by_slot.npy",
    ]
