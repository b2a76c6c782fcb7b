"""The usage windows of chosen tasks, flat and in time order, wherever the store keeps them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.colocation.pool import picked
from borgtrace.kernels.arrays import Flags, Values
from borgtrace.question import Tables
from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE, SECOND

Index = NDArray[np.int32]

KEY = ["collection_id", "instance_index"]
_USAGE = {
    "inst": "sampled_cpu",
    "avg": "average_cpu",
    "memory": "average_memory",
}
_LISTS = ("cpu_usage_distribution", "tail_cpu_usage_distribution")
_N_MAIN = 11
_N_TAIL = 9
_ENDLESS = np.float32(2**30)  # seconds: a window that ends after the trace


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
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
        float32 (W, 20) or None: see :data:`borgtrace.colocation.pool.LEVELS`; NaN where NULL.
    """

    task: Index
    inst: Values
    avg: Values
    memory: Values
    start: Index
    seconds: Index
    quantiles: Values | None = None

    def take(self, rows: Flags) -> Windows:
        """Keep some windows; the same object where all are kept."""
        if rows.all():
            return self
        return Windows(
            **{column.name: picked(getattr(self, column.name), rows) for column in fields(self)}
        )


def read_windows(
    tables: Tables,
    chosen: pa.Table,
    with_percentiles: bool,
    seconds: str = "sampled_cpu",
) -> Windows:
    """Read the windows of `chosen` tasks (sorted by collection_id, instance_index).

    The store's per-task arrays are gathered where they hold all that is asked for; percentiles, and tables
    without a store behind them, take one join over instance_usage.  Windows that begin before or end after
    the trace have no length and are left out.

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
        return _gathered(tables.traces, chosen, seconds)
    usage = tables.instance_usage
    # Windows that are cut off by the trace have no length to weigh them by.
    inside = usage.filter(usage.start_time > BEFORE_TRACE, usage.end_time < AFTER_TRACE)
    joined = inside.inner_join(ibis.memtable(numbered(chosen)), KEY)
    # Ties as in the store's arrays, so that both ways of reading give one pool.
    order = ("task", "start_time", "source_part", "source_row")
    picked = joined.select(
        *order, "end_time", *_columns(seconds), *(_LISTS if with_percentiles else ())
    )
    rows = tables.fetch(picked, "windows").sort_by([(name, "ascending") for name in order])
    return _flat(rows, seconds)


def numbered(chosen: pa.Table) -> pa.Table:
    """Keys of the chosen tasks, each with its position ``task``, to join by."""
    return chosen.select(KEY).append_column(
        "task", pa.array(np.arange(len(chosen), dtype=np.int64))
    )


def _columns(seconds: str) -> list[str]:
    return list(dict.fromkeys(({**_USAGE, "inst": seconds}).values()))


def _gathered(
    traces: Callable[[list[tuple[int, int]]], Any], chosen: pa.Table, seconds: str
) -> Windows:
    """Windows from the store's arrays, which are sorted as `_flat` sorts."""
    keys = zip(*(chosen[name].to_pylist() for name in KEY), strict=True)
    found = traces(list(keys))
    # A view, not a conversion: seconds of a trace fit into 31 bits.
    start = np.asarray(found.start_time).view(np.int32)  # after the trace: 2³² − 1, that is −1
    duration = np.minimum(found.duration, _ENDLESS)
    usage = {
        name: np.asarray(getattr(found, column))
        for name, column in ({**_USAGE, "inst": seconds}).items()
    }
    task = np.repeat(np.arange(len(found), dtype=np.int32), np.diff(found.offsets))
    windows = Windows(
        task=task,
        start=start,
        seconds=_whole_seconds(duration),
        **usage,
    )
    return windows.take((start > 0) & (duration < _ENDLESS))


def _flat(rows: pa.Table, seconds: str = "sampled_cpu") -> Windows:
    start, end = (rows[name].to_numpy().astype(np.int64) for name in ("start_time", "end_time"))
    usage = {
        name: rows[column].to_numpy().astype(np.float32)
        for name, column in ({**_USAGE, "inst": seconds}).items()
    }
    return Windows(
        task=rows["task"].to_numpy().astype(np.int32),
        start=(start // SECOND).astype(np.int32),
        seconds=_whole_seconds((end - start) / SECOND),
        quantiles=_quantiles(rows) if _LISTS[0] in rows.column_names else None,
        **usage,
    )


def _whole_seconds(duration: NDArray[Any]) -> Index:
    # At least a second: a window without weight could not be drawn, and a task of such windows has no total.
    return np.maximum(np.rint(duration).astype(np.int32), np.int32(1))


def _quantiles(rows: pa.Table) -> Values:
    """Merge 0, 10 … 100 % and 91 … 99 % into the 20 levels; unordered lists are made ascending."""
    main, tail = (
        _matrix(rows[name], n) for name, n in zip(_LISTS, (_N_MAIN, _N_TAIL), strict=True)
    )
    merged = np.concatenate((main[:, :10], tail, main[:, 10:]), axis=1)
    # A NaN runs on to the end of the row, so a gap anywhere is seen as one.
    return np.maximum.accumulate(merged, axis=1)


def _matrix(lists: pa.ChunkedArray, n: int) -> Values:
    """Lists of length n as rows; NaN for NULL and for any other length."""
    combined = lists.combine_chunks()
    out = np.full((len(combined), n), np.nan, np.float32)
    lengths = combined.value_lengths().fill_null(-1).to_numpy()
    starts = combined.offsets.to_numpy()[:-1]
    # NULL rows have no values of their own: offsets, not a reshape, say where a list begins.
    whole = np.flatnonzero(lengths == n)
    values = combined.values.to_numpy(zero_copy_only=False).astype(np.float32)
    out[whole] = values[starts[whole][:, None] + np.arange(n)]
    return out
