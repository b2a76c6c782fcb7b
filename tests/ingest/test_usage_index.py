"""The index of tasks over sorted usage, and what is counted file by file."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.build import sorted_relation, sorting_limits, table_files, usage_index
from borgtrace.schema.time import AFTER_TRACE
from borgtrace.store.columns import DEFAULT_COLUMNS
from borgtrace.store.verify import verify
from tests.ingest.raw import HASH, TABLES, write_part


def test_blocks_of_usage_end_where_a_task_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(usage_index, "ROWS_PER_BLOCK", 3)
    tasks = [(1, 0)] * 2
    tasks += [(1, 1)] * 4
    tasks += [(2, 0)]
    tasks += [(2, 1)] * 3
    columns = {
        "collection_id": pa.array([c for c, _ in tasks]),
        "instance_index": pa.array([i for _, i in tasks], pa.int32()),
        "start_time": pa.array([600_000_000 + 300_000_000 * n for n in range(10)]),
        "end_time": pa.array([900_000_000 + 300_000_000 * n for n in range(9)] + [AFTER_TRACE]),
        "machine_id": pa.array([5, 6, 5, 5, None, 5, 7, 8, 9, 8]),
        "collection_type": pa.array(["JOB"] * 10),
        "average_cpu": pa.array([0.5] * 9 + [None], pa.float32()),
        "sampled_cpu": pa.array([0.25] * 10, pa.float32()),
        "average_memory": pa.array([None] * 10, pa.float32()),
    }
    pq.write_table(pa.table(columns), tmp_path / "usage.parquet")
    table, suspects = usage_index.index_usage(tmp_path / "usage.parquet", 3)
    assert table.column("first_row").to_pylist() == [3, 5, 9, 10]
    assert table.column("n_windows").to_pylist() == [2, 4, 1, 3]
    assert table.column("n_machines").to_pylist() == [2, 1, 1, 2]
    assert table.column("seconds").to_pylist() == [600.0, 1200.0, 300.0, 600.0]
    assert table.column("last_time").to_pylist()[-1] == AFTER_TRACE
    assert table.column("mean_average_memory").to_pylist() == [None] * 4
    assert suspects.tolist() == []


def test_no_usage_has_an_index_too():
    table, suspects = usage_index.index_usage(None, 0)
    assert (table.num_rows, suspects.size) == (0, 0)
    assert "weighted_mean_sampled_cpu" in table.column_names


@pytest.mark.parametrize("most", [1 << 22, 1])
def test_tasks_and_broken_rules_are_those_of_whole_tables_in_any_number_of_files(
    tmp_path,
    monkeypatch,
    most,
):
    """Jobs 10, 20, 30, 40: with events alone before, between and behind those with usage."""
    monkeypatch.setattr(sorting_limits, "MOST_ROWS", most)
    raw = tmp_path / "raw"
    write_part(raw, "machine_events", TABLES["machine_events"])  # of machine 5
    events = [
        (10, 5, 0),
        (20, 5, 1),
        (20, 6, 4),
        (30, 6, 0),
        (40, 5, 1),
    ]
    write_part(
        raw,
        "task_events",
        [f"{job},,{job},0,{machine},{kind},u,0,9,,,," for job, machine, kind in events],
    )
    usage = [
        (20, 0, 5),
        (20, 0, 5),
        (20, 1, 5),
        (40, 0, 6),
        (40, 0, 6),
        (40, 0, 6),
        (40, 0, 7),
    ]
    rows = (
        f"600000000,900000000,{job},{task},{machine},0.5,,,,,,,,0.5,,,,,0,"
        for job, task, machine in usage
    )
    write_part(raw, "task_usage", list(rows))
    write_part(
        raw,
        "task_constraints",
        [f"0,{job},{task},1,{HASH},x" for job, task in ((10, 0), (20, 1), (40, 1))],
    )
    ingest([raw], tmp_path / "store", IngestOptions(jobs=1))
    store = borgtrace.open(tmp_path / "store")
    assert (
        len(store.layout.parts("instance_usage"))
        == len(store.layout.parts("tasks"))
        == (1 if most > 1 else 2)
    )
    tasks = store.sql(
        "SELECT collection_id, instance_index, first_row, n_windows, end_type FROM tasks"
    ).to_pylist()
    assert [tuple(task.values()) for task in tasks] == [
        (10, 0, 0, 0, None),
        (20, 0, 0, 2, "FINISH"),
        (20, 1, 2, 1, None),
        (30, 0, 3, 0, None),
        (40, 0, 3, 4, None),
    ]
    assert [store.trace(job, 0)["duration"].tolist() for job in (20, 40)] == [
        [300.0] * 2,
        [300.0] * 4,
    ]
    assert store.manifest.quality == {
        # Of 20/0 one of two, of 40/0 two of three on one machine.
        "instance_usage": {
            "exact_duplicate": 3,
            "unknown_machine": 4,
            "orphan_instance": 1,
        },
        "instance_events": {"unknown_machine": 2},
        "instance_constraints": {"orphan_instance": 2},
    }
    assert store.manifest.time_range["instance_events"] == [10, 40]
    assert all(check.holds for check in verify(tmp_path / "store"))


def test_arrays_and_index_are_the_same_made_while_writing_or_from_files(tmp_path, monkeypatch):
    """Rows of a new store are taken as they are written; files of one that is added to are read."""
    # A file for each of the three jobs, of which the second part adds to the last two.
    monkeypatch.setattr(sorting_limits, "MOST_ROWS", 1)
    for module in (sorted_relation, table_files):
        monkeypatch.setattr(module, "PIECE", 2)
    parts = [
        [(10, 0), (10, 0), (10, 1), (20, 0)],
        [(20, 0), (20, 0), (20, 2), (30, 0), (30, 0)],
    ]
    raw = tmp_path / "raw"
    for number, tasks in enumerate(parts):
        rows = (
            f"{(600 + 300 * k) * 10**6},{(900 + 300 * k) * 10**6},{job},{task},5,0.{k + 1},,0.5,,,,,,0.5,,,,,0,0.25"
            for k, (job, task) in enumerate(tasks, 4 * number)
        )
        write_part(raw, "task_usage", list(rows), number)
    first, second = sorted(raw.rglob("*.gz"))
    ingest([first, second], tmp_path / "at once", IngestOptions(jobs=1))
    ingest([first], tmp_path / "added", IngestOptions(jobs=1))
    ingest([second], tmp_path / "added", IngestOptions(jobs=1))
    stores = [borgtrace.open(tmp_path / name) for name in ("at once", "added")]
    assert len(stores[0].layout.parts("instance_usage")) == 3
    cpu = stores[0].trace(20, 0)["average_cpu"]
    assert cpu.tolist() == [pytest.approx(share) for share in (0.4, 0.5, 0.6)]
    assert stores[0].array("start_time").tolist() == [600 + 300 * k for k in range(9)]
    at_once, added = (store.manifest.files for store in stores)
    assert {name for name in at_once if name.endswith(".npy")} == {
        f"traces/{column}.npy" for column in DEFAULT_COLUMNS
    }
    assert at_once == added
    assert not list((tmp_path / "at once").rglob("*.incomplete"))
