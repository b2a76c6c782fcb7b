"""Arrays of trace columns, as they are written from the files of usage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace.schema.time import AFTER_TRACE
from borgtrace.store.columns import DEFAULT_COLUMNS, LAST_SECOND, column_blocks, write_array

NAN = np.nan


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    usage = {
        "start_time": pa.array([600_000_000, 900_999_999, AFTER_TRACE]),
        "end_time": pa.array([900_000_000, AFTER_TRACE, AFTER_TRACE]),
        "average_cpu": pa.array([0.5, None, 0.25], pa.float32()),
        "cpu_usage_distribution": pa.array([[0.5, 0.75], None, []], pa.list_(pa.float32())),
    }
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path, rows in zip(paths, (slice(0, 1), slice(1, 3)), strict=True):
        pq.write_table(pa.table({name: column[rows] for name, column in usage.items()}), path)
    return paths


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("start_time", [600, 900, LAST_SECOND]),
        # One that ends after the trace has no known length.
        ("duration", [300, 0, 0]),
        ("average_cpu", [0.5, NAN, 0.25]),
        # Not in these files.
        ("sampled_cpu", [NAN] * 3),
        ("p0", [0.5, NAN, NAN]),
    ],
)
def test_an_array_holds_the_rows_of_all_files(
    parts: list[Path],
    tmp_path: Path,
    column: str,
    expected: list,
) -> None:
    write_array(tmp_path / "it.npy", parts, column)
    array = np.load(tmp_path / "it.npy", mmap_mode="r")
    np.testing.assert_array_equal(array, np.array(expected, array.dtype))
    assert array.dtype == (np.uint32 if column == "start_time" else np.float32)
    assert [row for row, _ in column_blocks(parts, column)] == [0, 1]


@pytest.mark.parametrize("column", DEFAULT_COLUMNS)
def test_an_array_is_the_file_that_numpy_writes(
    parts: list[Path], tmp_path: Path, column: str
) -> None:
    for files in (parts, []):
        write_array(tmp_path / "it.npy", files, column)
        np.save(tmp_path / "numpy.npy", np.load(tmp_path / "it.npy"))
        assert (tmp_path / "it.npy").read_bytes() == (tmp_path / "numpy.npy").read_bytes()
