"""The usage windows of chosen tasks, flat and in time order, wherever the store keeps them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.colocation.tasks.pool import select_rows
from borgtrace.kernels.arrays import Flags, Values
from borgtrace.question import Tables
from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE, SECOND

Int32s = NDArray[np.int32]

KEY = ["collection_id", "instance_index"]
DECILES = "cpu_usage_distribution"
"""0, 10 … 100 % of a window's CPU usage."""
TAIL_PERCENTILES = "tail_cpu_usage_distribution"
"""91, 92 … 99 %."""
N_DECILES = 11
N_TAIL_PERCENTILES = 9
ENDLESS = np.float32(2**30)
"""Seconds from which on a window counts as one that ends after the trace."""


@dataclass(frozen=True, slots=True, eq=False)
class PoolWindows:
    """Windows of several tasks.

    Attributes
    ----------
    task
        int32 (W,): position of the task among the chosen ones, ascending; within a task by time.
    inst, avg, memory
        float32 (W,): sampled CPU, average CPU, average memory; NaN where NULL.
    start, seconds
        int32 (W,): start of the window in seconds of the trace's clock, and its length.
    quantiles
        float32 (W, 20) or None: see :data:`borgtrace.colocation.tasks.pool.LEVELS`; NaN where NULL.
    """

    task: Int32s
    inst: Values
    avg: Values
    memory: Values
    start: Int32s
    seconds: Int32s
    quantiles: Values | None = None

    def take(self, rows: Flags) -> PoolWindows:
        """Keep some windows; the same object where all are kept.

        Parameters
        ----------
        rows
            bool (W,): which ones.
        """
        if rows.all():
            return self
        columns = {
            column.name: select_rows(getattr(self, column.name), rows) for column in fields(self)
        }
        return PoolWindows(**columns)


def read_windows(
    tables: Tables,
    chosen: pa.Table,
    with_percentiles: bool,
    seconds: str = "sampled_cpu",
) -> PoolWindows:
    """Read the windows of `chosen` tasks (sorted by collection_id, instance_index).

    The store's per-task arrays are used where they hold all that is asked for.  Percentiles, and tables without a
    store, take one join over instance_usage.  Windows that begin before the trace or end after it have no length and
    are left out.

    Parameters
    ----------
    tables
        The store's tables.
    chosen
        Columns ``collection_id`` and ``instance_index`` of the tasks.
    with_percentiles
        Whether the percentiles of each window are wanted too.
    seconds
        The usage column that stands for one random second of each window.
    """
    # A slice of a memory map per task instead of a join over all usage rows: seconds, not minutes, on a whole trace.
    if tables.traces is not None and not with_percentiles:
        return _from_arrays(tables.traces, chosen, seconds)

    usage = tables.instance_usage
    # Windows that are cut off by the trace have no length to weigh them by.
    inside = usage.filter(usage.start_time > BEFORE_TRACE, usage.end_time < AFTER_TRACE)
    joined = inside.inner_join(ibis.memtable(numbered(chosen)), KEY)
    # Ties are broken as in the store's arrays, so that both ways of reading give one pool.
    order = ["task", "start_time", "source_part", "source_row"]
    columns = [*order, "end_time", *dict.fromkeys(_usage_columns(seconds).values())]
    if with_percentiles:
        columns += [DECILES, TAIL_PERCENTILES]
    rows = tables.fetch(joined.select(*columns), "windows")
    return from_rows(rows.sort_by([(name, "ascending") for name in order]), seconds)


def numbered(chosen: pa.Table) -> pa.Table:
    """Return the keys of the chosen tasks, each with its position ``task``, to join by.

    Parameters
    ----------
    chosen
        Columns ``collection_id`` and ``instance_index`` of the tasks.
    """
    positions = np.arange(len(chosen), dtype=np.int64)
    return chosen.select(KEY).append_column("task", pa.array(positions))


def _usage_columns(seconds: str) -> dict[str, str]:
    """Return the column of instance_usage for each usage of a window."""
    return {"inst": seconds, "avg": "average_cpu", "memory": "average_memory"}


def _from_arrays(
    traces: Callable[[list[tuple[int, int]]], Any],
    chosen: pa.Table,
    seconds: str,
) -> PoolWindows:
    """Read windows from the store's arrays, which are sorted as `from_rows` expects."""
    collections = chosen["collection_id"].to_pylist()
    instances = chosen["instance_index"].to_pylist()
    arrays = traces(list(zip(collections, instances, strict=True)))
    # A view, not a conversion: seconds of a trace fit into 31 bits, and 2³² − 1 (after the trace) becomes −1.
    start = np.asarray(arrays.start_time).view(np.int32)
    duration = np.minimum(arrays.duration, ENDLESS)
    usage = {}
    for name, column in _usage_columns(seconds).items():
        usage[name] = np.asarray(getattr(arrays, column))
    positions = np.arange(len(arrays), dtype=np.int32)
    windows = PoolWindows(
        task=np.repeat(positions, np.diff(arrays.offsets)),
        start=start,
        seconds=whole_seconds(duration),
        **usage,
    )
    return windows.take((start > 0) & (duration < ENDLESS))


def from_rows(rows: pa.Table, seconds: str = "sampled_cpu") -> PoolWindows:
    """Make windows of rows of instance_usage, which are in their order.

    Parameters
    ----------
    rows
        Rows with the position ``task``, times and usage, and maybe percentiles.
    seconds
        The usage column that stands for one random second of each window.
    """
    start = rows["start_time"].to_numpy().astype(np.int64)
    end = rows["end_time"].to_numpy().astype(np.int64)
    usage = {}
    for name, column in _usage_columns(seconds).items():
        usage[name] = rows[column].to_numpy().astype(np.float32)
    return PoolWindows(
        task=rows["task"].to_numpy().astype(np.int32),
        start=(start // SECOND).astype(np.int32),
        seconds=whole_seconds((end - start) / SECOND),
        quantiles=merged_percentiles(rows) if DECILES in rows.column_names else None,
        **usage,
    )


def whole_seconds(duration: NDArray[Any]) -> Int32s:
    """Round lengths of windows to whole seconds.

    Parameters
    ----------
    duration
        In seconds.
    """
    rounded = np.rint(duration).astype(np.int32)
    # At least a second: a window without weight could not be drawn, and a task of such windows has no total.
    return np.maximum(rounded, np.int32(1))


def merged_percentiles(rows: pa.Table) -> Values:
    """Merge 0, 10 … 100 % and 91 … 99 % into the 20 levels; unordered lists are made ascending.

    Parameters
    ----------
    rows
        Rows of instance_usage.
    """
    deciles = matrix_of_lists(rows[DECILES], N_DECILES)
    tail = matrix_of_lists(rows[TAIL_PERCENTILES], N_TAIL_PERCENTILES)
    maximum = deciles[:, -1:]
    merged = np.concatenate((deciles[:, :-1], tail, maximum), axis=1)
    # A NaN runs on to the end of the row, so a gap anywhere is seen as one.
    return np.maximum.accumulate(merged, axis=1)


def matrix_of_lists(lists: pa.ChunkedArray, length: int) -> Values:
    """Return lists of one length as rows; NaN for NULL and for any other length.

    Parameters
    ----------
    lists
        A column of lists of numbers.
    length
        Number of columns.
    """
    combined = lists.combine_chunks()
    out = np.full((len(combined), length), np.nan, np.float32)
    lengths = combined.value_lengths().fill_null(-1).to_numpy()
    # NULL rows have no values of their own: offsets, not a reshape, say where a list begins.
    starts = combined.offsets.to_numpy()[:-1]
    is_whole = lengths == length
    values = combined.values.to_numpy(zero_copy_only=False).astype(np.float32)
    positions = starts[is_whole][:, None] + np.arange(length)
    out[is_whole] = values[positions]
    return out
