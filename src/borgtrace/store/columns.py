"""Usage columns as arrays: which there are, and how one is made, at ingest or on first use."""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from borgtrace.engine.stored import footers, stored_names
from borgtrace.errors import StoreError, first_line
from borgtrace.schema import PERCENTILES, TABLES
from borgtrace.schema.time import AFTER_TRACE, SECOND
from borgtrace.storage import RemotePath, readable, refuse_shortage, require_regular
from borgtrace.storage.sparse_copy import SparseCopy
from borgtrace.store.compatibility import unreadable
from borgtrace.store.kept_folders import Keeper, code_digest
from borgtrace.store.layout import Layout

MEASURED = (
    *(column.name for column in TABLES["instance_usage"].columns if column.type == "float32"),
    *PERCENTILES,
)
TRACE_COLUMNS = ("start_time", "duration", *MEASURED)
"""Columns that `Store.traces` can return: two about time (made at ingest), all measured ones, and percentiles."""
DEFAULT_COLUMNS = ("start_time", "duration", "average_cpu", "sampled_cpu", "average_memory")
"""Columns whose arrays every store has; those of the others are made on first use."""
_TIMES_BEHIND = {
    "start_time": ("start_time",),
    "duration": ("start_time", "end_time"),
}
"""Times in µs from which arrays about time are made; all other arrays hold the values of a column."""
LAST_SECOND = np.uint32(2**32 - 1)
"""Stored in ``start_time`` for "after the trace"."""


def load_array(layout: Layout, column: str, rows: int) -> np.ndarray:
    """Map the array of a trace column; from a bucket it is copied first. See :func:`open_array`."""
    array, copy = open_array(layout, column, rows)
    if copy:
        copy.fetch_whole()
    return array


def open_array(
    layout: Layout,
    column: str,
    rows: int,
    path: Path | None = None,
) -> tuple[np.ndarray, SparseCopy | None]:
    """Map the array of a trace column; for a store in a bucket, return also the copy that fetches its bytes.

    Parameters
    ----------
    layout
        The store.
    column
        One of `TRACE_COLUMNS`.
    rows
        Usage rows of the store.
    path
        The file, where it is not among those of the store.

    Raises
    ------
    StoreError
        When the file is missing, truncated, or not such an array; it is named.
    """
    path = path or layout.array(column)
    copy = None
    try:
        if isinstance(path, RemotePath):
            copy = SparseCopy(path)
            # The header, which the first block holds.
            copy.fetch(np.zeros(1, np.int64), np.ones(1, np.int64))
            path = copy.path
        # An empty array cannot be mapped.
        array = np.load(require_regular(path), mmap_mode="r" if rows else None)
        size = path.stat().st_size
        # To the byte: NumPy maps a file that is longer than its array.
        is_whole = not rows or size == array.offset + array.nbytes
    # A damaged header is Python text, in which anything may go wrong.
    except Exception as error:
        refuse_shortage(error, path)
        raise _damaged(layout, column, first_line(error)) from error
    dtype = _dtype(column)
    if array.shape != (rows,) or array.dtype != dtype or not is_whole:
        got = f"shape {array.shape} of {array.dtype} in {size:,} bytes"
        raise _damaged(layout, column, got, f"shape ({rows},) of {dtype}")
    # A plain array on the same memory: np.memmap runs Python code for every slice.
    return array.view(np.ndarray), copy


def _damaged(
    layout: Layout,
    column: str,
    got: str,
    expected: str | None = None,
) -> StoreError:
    return unreadable(
        layout.root,
        f"traces/{column}.npy is missing or damaged",
        got,
        expected,
    )


def further_array(layout: Layout, keeper: Keeper, column: str) -> Path:
    """Return the file of a column that has no array since ingest: kept, or made now.

    Parameters
    ----------
    layout
        The store.
    keeper
        Where it is kept.
    column
        A measured column of instance_usage.
    """

    def build(folder: Path) -> None:
        write_array(folder / f"{column}.npy", layout.parts("instance_usage"), column)

    folder = keeper.find_or_keep(f"array-{column}", code_version(), build)
    return folder / f"{column}.npy"


@cache
def code_version() -> str:
    """Return the version of the code that makes arrays."""
    return code_digest([Path(__file__).parent])


def write_array(path: Path, parts: Sequence[Path], column: str) -> None:
    """Write a trace column as an array file, block by block: the whole column need not fit in memory.

    Parameters
    ----------
    path
        The file.
    parts
        Files of instance_usage, in order.
    column
        One of `TRACE_COLUMNS`.
    """
    n_rows = sum(footer.num_rows for footer in footers(parts))
    with path.open("wb") as file:
        write_header(file, column, n_rows)
        for _, block in column_blocks(parts, column):
            block.tofile(file)


def write_header(file: BinaryIO, column: str, n_rows: int) -> None:
    """Write what comes before the values in the array file of a trace column."""
    header = {
        "descr": _dtype(column).str,
        "fortran_order": False,
        "shape": (n_rows,),
    }
    np.lib.format.write_array_header_1_0(file, header)


def values_of(rows: pa.RecordBatch, column: str) -> np.ndarray:
    """Return the values of a trace column that rows have, which have all columns of instance_usage.

    Parameters
    ----------
    rows
        The rows.
    column
        One of `DEFAULT_COLUMNS`.
    """
    columns = [rows.column(name) for name in _TIMES_BEHIND.get(column, (column,))]
    if column in _TIMES_BEHIND:
        return _times_in_seconds(*columns)
    return as_floats(*columns)


def _dtype(column: str) -> np.dtype[Any]:
    return np.dtype(np.uint32 if column == "start_time" else np.float32)


def column_blocks(parts: Sequence[Path], column: str) -> Iterator[tuple[int, np.ndarray]]:
    """Yield a trace column in blocks of rows, each with its first row; NaN where the store lacks it.

    Parameters
    ----------
    parts
        Files of instance_usage, in order.
    column
        One of `TRACE_COLUMNS`.
    """
    stored_column, place_in_list = PERCENTILES.get(column, (column, None))
    names = _names_behind(parts, stored_column)
    row = 0
    for part in parts:
        for batch in pq.ParquetFile(readable(part)).iter_batches(columns=names):
            columns = [batch.column(name) for name in names]
            # A store of an earlier version may lack the column; batches without columns still count the rows.
            if not columns:
                columns = [pa.nulls(batch.num_rows, pa.float32())]
            if stored_column in _TIMES_BEHIND:
                yield row, _times_in_seconds(*columns)
            else:
                yield row, as_floats(columns[0], place_in_list)
            row += batch.num_rows


def _names_behind(parts: Sequence[Path], column: str) -> list[str]:
    """Return what the files call the columns that an array is made from, without those that they lack."""
    if not parts:
        return []
    stored = stored_names(TABLES["instance_usage"], parts)
    names = (stored.get(name) for name in _TIMES_BEHIND.get(column, (column,)))
    return [name for name in names if name]


def _times_in_seconds(start: pa.Array, end: pa.Array | None = None) -> np.ndarray:
    """Return the starts of windows in whole seconds; with their ends, their lengths in seconds."""
    starts = start.to_numpy()
    if end is None:
        seconds = np.where(starts == AFTER_TRACE, LAST_SECOND, starts // SECOND)
        return seconds.astype(np.uint32)
    durations = window_lengths(starts, end.to_numpy()) / SECOND
    return durations.astype(np.float32)


def window_lengths(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return how long windows are, in the unit of their times; 0 for one that ends after the trace."""
    return np.where(end == AFTER_TRACE, 0, end - start)


def as_floats(array: pa.Array, place: int | None = None) -> np.ndarray:
    """Return a column as float32 (n,), of lists the element at a place; NaN where there is none.

    Parameters
    ----------
    array
        A column of instance_usage.
    place
        Place in each list, from 0; None where the column holds numbers.

    Examples
    --------
    >>> as_floats(pa.array([[0.5, 0.75], [], None], pa.list_(pa.float32())), 1)
    array([0.75,  nan,  nan], dtype=float32)
    """
    # NumPy has no NULL; NaN is free for it, since ingest refuses NaN and infinity.
    if place is None or not pa.types.is_list(array.type):
        return pc.fill_null(array, np.float32(np.nan)).to_numpy()
    offsets = array.offsets.to_numpy()
    items = array.values.to_numpy(zero_copy_only=False)
    # Lists may be NULL or empty: 2019 has both.
    is_long_enough = np.diff(offsets) > place
    starts = offsets[:-1]
    floats = np.full(len(array), np.nan, np.float32)
    floats[is_long_enough] = items[starts[is_long_enough] + place]
    return floats
