"""The index of tasks over sorted usage, and the arrays of traces."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace.ingest import usage_index
from borgtrace.ingest.trace_arrays import KINDS, TraceArrays
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
    files = TraceArrays(tmp_path / "traces", (3, 10))
    files.begin()
    with files.part(1) as arrays:
        table, suspects = usage_index.index_usage(tmp_path / "usage.parquet", 3, arrays)
    assert table.column("first_row").to_pylist() == [3, 5, 9, 10]
    assert table.column("n_windows").to_pylist() == [2, 4, 1, 3]
    assert table.column("n_machines").to_pylist() == [2, 1, 1, 2]
    assert table.column("seconds").to_pylist() == [600.0, 1200.0, 300.0, 600.0]
    assert table.column("last_time").to_pylist()[-1] == AFTER_TRACE
    assert table.column("mean_average_memory").to_pylist() == [None] * 4
    assert suspects.tolist() == []
    found = {path.stem: np.load(path) for path in (tmp_path / "traces").iterdir()}
    assert {len(values) for values in found.values()} == {13}
    assert found["start_time"][3:].tolist() == [600 + 300 * n for n in range(10)]
    assert found["duration"][3:].tolist() == [300.0] * 9 + [0.0]
    assert found["sampled_cpu"][3:].tolist() == [0.25] * 10
    assert np.isnan(found["average_cpu"][3:]).tolist() == [False] * 9 + [True]


def test_no_usage_has_arrays_too(tmp_path):
    files = TraceArrays(tmp_path, (0,))
    files.begin()
    with files.part(0) as arrays:
        table, suspects = usage_index.index_usage(None, 0, arrays)
    assert (table.num_rows, suspects.size, np.load(tmp_path / "duration.npy").size) == (0, 0, 0)
    assert "weighted_mean_sampled_cpu" in table.column_names


@pytest.mark.parametrize("ranges", [(2, 3, 1), (6,), (0,)])
def test_arrays_written_in_pieces_are_those_written_in_place(tmp_path, ranges):
    digests = []
    for in_pieces in (False, True):
        files = TraceArrays(tmp_path / str(in_pieces), ranges, in_pieces)
        files.begin()
        # Tasks end in any order.
        for number in reversed(range(len(ranges))):
            with files.part(number) as arrays:
                for name, values in arrays.items():
                    values[:] = np.arange(len(values)) + sum(ranges[:number]) + len(name)
        digests.append([files.digest(name) for name in KINDS])
        names = sorted(path.relative_to(files.folder).as_posix() for path in files.folder.rglob("*"))
        assert names == sorted(f"{name}.npy" for name in KINDS)
        for name in KINDS:
            path = files.folder / f"{name}.npy"
            assert np.load(path).tolist() == [n + len(name) for n in range(sum(ranges))]
            assert np.load(path).dtype == KINDS[name]
    assert digests[0] == digests[1] == [hashlib.sha256(path.read_bytes()).hexdigest() for path in _made(tmp_path)]


def _made(folder):
    return [folder / "True" / f"{name}.npy" for name in KINDS]
