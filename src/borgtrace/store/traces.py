"""Read a task's trace in microseconds: an index look-up and a slice of a memory map."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.errors import UsageError, first_line
from borgtrace.kernels.arrays import Index, ShortIndex
from borgtrace.kernels.compiled import compiled
from borgtrace.schema import with_percentiles
from borgtrace.storage import refuse_shortage
from borgtrace.storage.sparse_copy import SparseCopy, fetch_all
from borgtrace.store.columns import DEFAULT_COLUMNS, TRACE_COLUMNS, further_array, open_array
from borgtrace.store.compatibility import unreadable
from borgtrace.store.kept_folders import Keeper
from borgtrace.store.layout import Layout


@compiled()
def find_row(
    collections: Index,
    instances: ShortIndex,
    collection: int,
    instance: int,
) -> int:
    """Return the row of (collection, instance) in arrays sorted together, −1 where there is none.

    Parameters
    ----------
    collections, instances
        Key columns of the index, shape (n,), sorted by the pair.
    collection, instance
        The task.

    Examples
    --------
    >>> find_row(np.array([1, 1, 4]), np.array([0, 2, 0], np.int32), 1, 2)
    1
    >>> find_row(np.array([1, 1, 4]), np.array([0, 2, 0], np.int32), 1, 1)
    -1
    """
    # By hand: np.searchsorted looks for one key, and the index is sorted by two columns.
    low = 0
    high = len(collections)
    while low < high:
        middle = (low + high) // 2
        is_before = collections[middle] < collection or (
            collections[middle] == collection and instances[middle] < instance
        )
        if is_before:
            low = middle + 1
        else:
            high = middle
    if low == len(collections):
        return -1
    is_found = collections[low] == collection and instances[low] == instance
    return low if is_found else -1


@compiled()
def find_rows(collections: Index, instances: ShortIndex, pairs: Index) -> Index:
    """Return the rows of (collection, instance) `pairs`, shape (n, 2); −1 where there is none.

    Parameters
    ----------
    collections, instances
        Key columns of the index, shape (n,), sorted by the pair.
    pairs
        Tasks, shape (k, 2).

    Returns
    -------
    ndarray
        int64 of shape (k,).

    Examples
    --------
    >>> collections, instances = np.array([1, 1, 4]), np.array([0, 2, 0], np.int32)
    >>> find_rows(collections, instances, np.array([[4, 0], [4, 1]])).tolist()
    [2, -1]
    """
    rows = np.empty(len(pairs), np.int64)
    for i in range(len(pairs)):
        collection = pairs[i, 0]
        instance = pairs[i, 1]
        rows[i] = find_row(collections, instances, collection, instance)
    return rows


@compiled()
def gather_runs(
    values: npt.NDArray[np.generic], starts: Index, offsets: Index
) -> npt.NDArray[np.generic]:
    """Copy run i, ``values[starts[i]:]`` of length ``offsets[i+1] - offsets[i]``, to ``offsets[i]``.

    Parameters
    ----------
    values
        Shape (n,), any numeric type.
    starts
        Shape (k,).
    offsets
        Shape (k + 1,), from 0.

    Examples
    --------
    >>> gather_runs(np.arange(9.0), np.array([6, 1]), np.array([0, 2, 3])).tolist()
    [6.0, 7.0, 1.0]
    """
    result = np.empty(offsets[-1], values.dtype)
    # Loops rather than slices: most runs are a few rows, and a slice costs more than copying them. Unsigned, so that
    # no index may count from the end: runs of twelve rows take a fifth of the time.
    for run in range(len(starts)):
        start = np.uint64(starts[run])
        first = np.uint64(offsets[run])
        length = np.uint64(offsets[run + 1]) - first
        for i in range(length):
            result[first + i] = values[start + i]
    return result


Array = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class Traces:
    """Traces of several tasks as flat columns and offsets (CSR).

    Parameters
    ----------
    rows
        Positions of the tasks in the ``tasks`` table, shape (n,).
    offsets
        Shape (n + 1,): the i-th trace is ``column[offsets[i]:offsets[i + 1]]``.
    columns
        Flat arrays, float32 with NaN for NULL; ``start_time`` in s (uint32; 0 = before, 2³²−1 =
        after the trace), ``duration`` in s.
    """

    rows: Index
    offsets: Index
    columns: Mapping[str, Array]

    def __len__(self) -> int:
        """Return the number of tasks."""
        return len(self.rows)

    def __getitem__(self, i: int) -> Mapping[str, Array]:
        """Return the i-th task's arrays (views); the last is −1."""
        # Of a range, so that −1 is the last task and what lies beyond is an IndexError.
        position = range(len(self.rows))[i]
        span = slice(self.offsets[position], self.offsets[position + 1])
        return {name: column[span] for name, column in self.columns.items()}

    def __getattr__(self, name: str) -> Array:
        """Return a flat column by its name."""
        try:
            return self.columns[name]
        except KeyError:
            raise AttributeError(name) from None


def _keep_for_this_process() -> Keeper:
    return Keeper((), "")


class TraceReader:
    """The index and the memory-mapped columns of a store; opened once, read many thousand times.

    Parameters
    ----------
    layout
        The store.
    keeper
        Says where arrays of further columns are kept; by default only as long as the process lives.
    expect_current
        Makes a block in which files are opened: it refuses them if they are of another version.
    """

    def __init__(
        self,
        layout: Layout,
        keeper: Callable[[], Keeper] = _keep_for_this_process,
        expect_current: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._layout = layout
        self._keeper = keeper
        self._expect_current = expect_current
        # Threads that want one column wait for the one that opens it.
        self._opening = RLock()
        self._arrays: dict[str, Array] = {}
        self._copies: dict[str, SparseCopy] = {}
        index = _read_index(layout)
        self.collections: Index = index.collections
        self.instances: ShortIndex = index.instances
        self.offsets: Index = index.offsets
        if layout.is_remote:
            with ThreadPoolExecutor(len(DEFAULT_COLUMNS)) as pool:
                list(pool.map(self._open, DEFAULT_COLUMNS))
        # A tuple made once: a trace takes a few microseconds, of which each look-up by name would be a part.
        self._default_columns = tuple((name, self._column(name)) for name in DEFAULT_COLUMNS)

    def array(self, column: str, spans: tuple[Index, Index] | None = None) -> Array:
        """Return a column in task order, memory-mapped; built or copied from its bucket on first use.

        Parameters
        ----------
        column
            Its name.
        spans
            First rows and ends of what has to be right; the whole column where None.

        Raises
        ------
        UsageError
            When there is no such numeric usage column.
        StoreError
            When its file is damaged, or missing though every store has it.
        """
        array = self._column(column)
        starts, ends = spans or (self.offsets[:1], self.offsets[-1:])
        self._fetch([column], starts, ends)
        return array

    def _column(self, column: str) -> Array:
        """Return a column, of which only the fetched bytes are right where the store is in a bucket."""
        if column in self._arrays:
            return self._arrays[column]
        with self._opening, self._expect_current():
            return self._open(column)

    def _open(self, column: str) -> Array:
        """Map the array of a column, made first where there is none."""
        if column in self._arrays:
            return self._arrays[column]
        if column not in TRACE_COLUMNS:
            raise UsageError(
                "column",
                "no such trace column",
                expected=", ".join(TRACE_COLUMNS),
                got=repr(column),
            )
        n_rows = int(self.offsets[-1])
        array, copy = open_array(self._layout, column, n_rows, self._further_array(column))
        if copy:
            self._copies[column] = copy
        self._arrays[column] = array
        return array

    def _further_array(self, column: str) -> Path | None:
        """Return the file of a column that the manifest does not vouch for, None for one of the store's own."""
        # Only the five default columns get an array at ingest: each takes 4 bytes a row.
        is_of_store = column in DEFAULT_COLUMNS
        if self._layout.is_remote and not is_of_store:
            is_of_store = self._layout.array(column).exists()
        return None if is_of_store else further_array(self._layout, self._keeper(), column)

    def _fetch(self, columns: Sequence[str], starts: Index, stops: Index) -> None:
        """Fetch rows of columns from their bucket, unless they are here."""
        spans = []
        for name in columns:
            copy = self._copies.get(name)
            if copy is not None:
                # Four bytes a row, behind a header.
                header = copy.size - 4 * self.offsets[-1]
                spans.append((copy, header + 4 * starts, header + 4 * stops))
        if spans:
            fetch_all(spans)

    def rows(self, pairs: Index) -> Index:
        """Return the positions of tasks given as (collection_id, instance_index), shape (n, 2).

        Raises
        ------
        UsageError
            For the first task that the store does not have.
        """
        rows = find_rows(self.collections, self.instances, pairs)
        missing = np.flatnonzero(rows < 0)
        if len(missing):
            collection_id, instance_index = pairs[missing[0]].tolist()
            raise self._unknown_task(collection_id, instance_index)
        return rows

    def trace(self, collection_id: int, instance_index: int) -> dict[str, Array]:
        """Return one task's default columns as views of the memory maps.

        Parameters
        ----------
        collection_id, instance_index
            The task.

        Returns
        -------
        dict
            Arrays of shape (windows,), read-only: times in s, amounts as fractions of the largest machine.

        Raises
        ------
        UsageError
            When the store has no such task.
        """
        row = find_row(self.collections, self.instances, collection_id, instance_index)
        if row < 0:
            raise self._unknown_task(collection_id, instance_index)
        if self._copies:
            start = self.offsets[row : row + 1]
            stop = self.offsets[row + 1 : row + 2]
            self._fetch(DEFAULT_COLUMNS, start, stop)
        # One slice of plain integers: NumPy's would be converted again for each column.
        span = slice(self.offsets.item(row), self.offsets.item(row + 1))
        return {name: column[span] for name, column in self._default_columns}

    def traces(self, rows: Index, columns: tuple[str, ...] = DEFAULT_COLUMNS) -> Traces:
        """Return many tasks as flat columns; zero-copy where they are neighbors, else gathered.

        Parameters
        ----------
        rows
            Positions of the tasks in the index, shape (n,).
        columns
            Names from `TRACE_COLUMNS`, and distributions, which stand for all of their percentiles.
        """
        columns = with_percentiles(columns)
        starts = self.offsets[rows]
        ends = self.offsets[rows + 1]
        arrays = {name: self._column(name) for name in columns}
        self._fetch(columns, starts, ends)
        offsets = np.append(0, np.cumsum(ends - starts))
        are_neighbors = np.array_equal(starts[1:], ends[:-1])
        # Neighbors in the index are neighbors in the arrays: one slice serves, and nothing is copied.
        if len(rows) and are_neighbors:
            span = slice(starts[0], ends[-1])
            flat = {name: array[span] for name, array in arrays.items()}
        else:
            flat = {name: gather_runs(array, starts, offsets) for name, array in arrays.items()}
        return Traces(rows, offsets, flat)

    def _unknown_task(self, collection_id: int, instance_index: int) -> UsageError:
        collections = self.collections
        first, end = np.searchsorted(collections, [collection_id, collection_id + 1])
        if first < end:
            low = self.instances[first]
            high = self.instances[end - 1]
            return UsageError(
                "task",
                "not in this store",
                got=f"instance {instance_index}",
                way_out=f"it has instances {low} to {high}",
            )
        way_out = None
        if len(collections):
            nearest = collections[min(first, len(collections) - 1)]
            way_out = f"the nearest is {nearest}"
        return UsageError(
            "task",
            "not in this store",
            got=f"collection {collection_id}",
            way_out=way_out,
        )


class _TaskIndex(NamedTuple):
    """Ids of all tasks in key order, and the row of each one's first window, with the number of rows last."""

    collections: Index
    instances: ShortIndex
    offsets: Index


def _read_index(layout: Layout) -> _TaskIndex:
    try:
        tasks = layout.tasks(["collection_id", "instance_index", "first_row", "n_windows"])
    except (OSError, ValueError, LookupError, pa.ArrowException) as error:
        refuse_shortage(error, layout.root)
        what = "the index of tasks cannot be read"
        raise unreadable(layout.root, what, first_line(error)) from error
    first_rows = _numbers(tasks, "first_row", np.int64)
    n_windows = _numbers(tasks, "n_windows", np.int64)
    # One more than tasks, so that a trace is offsets[i] to offsets[i + 1] for the last one too.
    offsets = np.append(first_rows, n_windows.sum())
    # Compiled code reads what the offsets say, without checking bounds.
    lengths = np.diff(offsets)
    is_sound = (
        offsets[0] == 0 and np.array_equal(lengths, n_windows) and bool((n_windows >= 0).all())
    )
    if not is_sound:
        what = "the index of tasks is damaged"
        raise unreadable(layout.root, what, "rows that do not follow each other")
    return _TaskIndex(
        collections=_numbers(tasks, "collection_id", np.int64),
        instances=_numbers(tasks, "instance_index", np.int32),
        offsets=offsets,
    )


def _numbers(tasks: pa.Table, name: str, dtype: type) -> Any:
    return np.ascontiguousarray(tasks.column(name).to_numpy(), dtype=dtype)
