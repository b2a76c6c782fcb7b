"""The index of tasks over sorted usage."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.ingest import usage_index
from borgtrace.schema.time import AFTER_TRACE


def test_blocks_of_usage_end_where_a_task_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(usage_index, "ROWS_PER_BLOCK", 3)
    tasks = [(1, 0)] * 2 + [(1, 1)] * 4 + [(2, 0)] + [(2, 1)] * 3
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
