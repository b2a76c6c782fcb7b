"""Usage columns as arrays: which there are, and making one, at ingest or on its first use."""

import errno
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from borgtrace.engine.stored import footers, stored_names
from borgtrace.errors import StoreError, first_line
from borgtrace.schema import PERCENTILES, TABLES
from borgtrace.schema.time import AFTER_TRACE, SECOND
from borgtrace.storage import NOT_WRITABLE, RemotePath, readable, replacing, write_file
from borgtrace.storage.sparse_copy import SparseCopy
from borgtrace.store.compatibility import unreadable
from borgtrace.store.digest import file_digest
from borgtrace.store.layout import Layout
from borgtrace.store.unchanged import changed_files

MEASURED = (
    *(column.name for column in TABLES["instance_usage"].columns if column.type == "float32"),
    *PERCENTILES,
)
TRACE_COLUMNS = ("start_time", "duration", *MEASURED)
"""Columns that `Store.traces` can return: two about time (made at ingest), all measured ones, and percentiles."""
DEFAULT_COLUMNS = ("start_time", "duration", "average_cpu", "sampled_cpu", "average_memory")
"""Columns whose arrays every store has; those of the others are made on first use."""
_MADE_OF = {"start_time": ("start_time",), "duration": ("start_time", "end_time")}
"""Times of which arrays about time are made, in µs; all others hold the values of a column."""
LAST_SECOND = np.uint32(2**32 - 1)
"""Stored in ``start_time`` for "after the trace"."""


def load_array(layout: Layout, column: str, rows: int) -> np.ndarray:
    """Map the array of a trace column; of a bucket it is copied first.  See :func:`open_array`."""
    array, blocks = open_array(layout, column, rows)
    if blocks:
        blocks.fetch_whole()
    return array


def open_array(layout: Layout, column: str, rows: int) -> tuple[np.ndarray, SparseCopy | None]:
    """Map the array of a trace column, and return also what fetches its bytes, where it is in a bucket.

    Parameters
    ----------
    layout
        The store.
    column
        One of `TRACE_COLUMNS`.
    rows
        Usage rows of the store.

    Raises
    ------
    StoreError
        When the file is missing, truncated, or not such an array; it is named.
    """
    path, kind = layout.array(column), _kind(column)
    blocks = None
    try:
        if isinstance(path, RemotePath):
            blocks = SparseCopy(path)
            blocks.fetch(np.zeros(1, np.int64), np.ones(1, np.int64))
            path = blocks.path
        # An empty array cannot be mapped.
        array = np.load(path, mmap_mode="r" if rows else None)
        # To the byte: NumPy maps a file that goes on behind its array.
        is_whole = not rows or path.stat().st_size == array.offset + array.nbytes
    # A damaged header is Python text, in which anything may go wrong.
    except Exception as error:
        raise _damaged(layout, column, first_line(error)) from error
    if (array.shape, array.dtype) != ((rows,), kind) or not is_whole:
        got = f"shape {array.shape} of {array.dtype} in {path.stat().st_size:,} bytes"
        raise _damaged(layout, column, got, f"shape ({rows},) of {kind}")
    _check_made(layout, column)
    # A plain array on the same memory: np.memmap runs Python code for every slice.
    return array.view(np.ndarray), blocks


def _check_made(layout: Layout, column: str) -> None:
    """Refuse an array made on first use that is not as it was written; the manifest lists the others."""
    written = layout.array_digest(column)
    # One that an earlier version made has no digest: it is taken as it is, and `verify` compares it with its column.
    if column in DEFAULT_COLUMNS or not written.exists():
        return
    expected = written.read_text(errors="replace")
    name = layout.array(column).relative_to(layout.root).as_posix()
    got = changed_files(layout.root, {name: expected}).get(name)
    if got is not None:
        raise _damaged(layout, column, got[:12], expected[:12])


def _damaged(layout: Layout, column: str, got: str, expected: str | None = None) -> StoreError:
    what = f"traces/{column}.npy is missing or damaged"
    if column in DEFAULT_COLUMNS:
        return unreadable(layout.root, what, got, expected)
    way_out = f"remove it, and the next use builds it again: rm {layout.array(column)}"
    return StoreError(str(layout.root), what, expected=expected, got=got, way_out=way_out)


def add_array(layout: Layout, column: str) -> None:
    """Write ``traces/<column>.npy`` from the Parquet table: beside it, then renamed into place.

    Parameters
    ----------
    layout
        The store.
    column
        A measured column of instance_usage.

    Raises
    ------
    StoreError
        When the store cannot be written to.
    """
    try:
        if layout.is_remote:
            raise PermissionError(errno.EROFS, "a bucket")
        with replacing(layout.array(column)) as draft:
            write_array(draft, layout.parts("instance_usage"), column)
            # Before the array gets its name: a kill in between leaves no array that nothing vouches for.
            write_file(layout.array_digest(column), file_digest(draft))
    except OSError as error:
        # A file system that is read-only raises an error of its own.
        if error.errno not in NOT_WRITABLE:
            raise
        what = f"no array of {column} yet, and the store cannot be written to"
        way_out = "let its owner read that column once"
        raise StoreError(str(layout.root), what, way_out=way_out) from error


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
    rows = sum(footer.num_rows for footer in footers(parts))
    with path.open("wb") as file:
        about = {"descr": _kind(column).str, "fortran_order": False, "shape": (rows,)}
        np.lib.format.write_array_header_1_0(file, about)
        for _, block in column_blocks(parts, column):
            block.tofile(file)


def _kind(column: str) -> np.dtype[Any]:
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
    row, (column, at) = 0, PERCENTILES.get(column, (column, None))
    held = stored_names(TABLES["instance_usage"], parts) if parts else {}
    stored = [held[name] for name in _MADE_OF.get(column, (column,)) if held.get(name)]
    for part in parts:
        for batch in pq.ParquetFile(readable(part)).iter_batches(columns=stored):
            # A store of an earlier version may lack the column; batches without columns still count the rows.
            found = [batch.column(name) for name in stored] or [
                pa.nulls(batch.num_rows, pa.float32())
            ]
            yield row, _of_times(*found) if column in _MADE_OF else values(found[0], at)
            row += batch.num_rows


def _of_times(start: pa.Array, end: pa.Array | None = None) -> np.ndarray:
    """Return the starts of windows in whole seconds, with ends their lengths in seconds."""
    times = start.to_numpy()
    if end is None:
        return np.where(times == AFTER_TRACE, LAST_SECOND, times // SECOND).astype(np.uint32)
    return (lengths(times, end.to_numpy()) / SECOND).astype(np.float32)


def lengths(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return how long windows are, in the unit of their times; one that ends after the trace has no known length: 0."""
    return np.where(end == AFTER_TRACE, 0, end - start)


def values(array: pa.Array, at: int | None = None) -> np.ndarray:
    """Return a column as float32 (n,), of lists their element `at`; NaN where there is none.

    Parameters
    ----------
    array
        A column of instance_usage.
    at
        Place in each list, from 0; None where the column holds numbers.

    Examples
    --------
    >>> values(pa.array([[0.5, 0.75], [], None], pa.list_(pa.float32())), 1)
    array([0.75,  nan,  nan], dtype=float32)
    """
    # NumPy has no NULL; NaN is free for it, since ingest refuses NaN and infinity.
    if at is None or not pa.types.is_list(array.type):
        return pc.fill_null(array, np.float32(np.nan)).to_numpy()
    offsets, flat = array.offsets.to_numpy(), array.values.to_numpy(zero_copy_only=False)
    # Lists may be NULL or empty: 2019 has both.
    has = np.diff(offsets) > at
    found = np.full(len(array), np.nan, np.float32)
    found[has] = flat[offsets[:-1][has] + at]
    return found
