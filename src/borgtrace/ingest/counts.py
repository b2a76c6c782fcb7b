"""What is only counted, the row stored: vectorised over one Arrow table of canonical columns.

Every function takes a table with canonical column names (a missing column is not checked) and
returns numbers by reason code.  Nothing here touches Python per row.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.schema.time import AFTER_TRACE, WINDOW

_MEAN_AND_MAXIMUM = (
    ("average_cpu", "maximum_cpu"),
    ("average_memory", "maximum_memory"),
    ("mean_disk_io_time", "maximum_disk_io_time"),
)
_CPU = ("average_cpu", "maximum_cpu", "sampled_cpu")
_LISTS = ("cpu_usage_distribution", "tail_cpu_usage_distribution")
_TIMES = ("time", "start_time", "end_time")


def count_suspicions(table: pa.Table) -> Counter[str]:
    """Count, by reason code, the rows of `table` that are stored but suspicious.

    Examples
    --------
    >>> count_suspicions(pa.table({"start_time": [0], "end_time": [300_000_001]}))
    Counter({'window_over_300s': 1})
    """
    counts: Counter[str] = Counter()
    counts["window_over_300s"] = _long_windows(table)
    counts["cpu_above_1"] = _count(_any(table, _CPU, lambda column: pc.greater(column, 1)))
    plain, summed = _means_above_maxima(table)
    counts["mean_above_maximum"], counts["mean_above_summed_maximum"] = plain, summed
    counts["sample_out_of_range"] = _count(_exceeds(table, "sampled_cpu", "maximum_cpu"))
    counts["after_trace_time"] = _count(_any(table, _TIMES, lambda column: pc.equal(column, AFTER_TRACE)))
    for name in _LISTS:
        if name in table.column_names:
            empty, unordered = _list_faults(table.column(name))
            counts["percentiles_empty"] += empty
            counts["percentiles_unordered"] += unordered
    return +counts


def count_out_of_order(times: np.ndarray, previous: int) -> int:
    """Count the rows whose time is before that of the row above (`previous` for the first)."""
    if not len(times):
        return 0
    return int(np.count_nonzero(times[1:] < times[:-1])) + int(times[0] < previous)


def _long_windows(table: pa.Table) -> int:
    if "end_time" not in table.column_names:
        return 0
    start, end = table.column("start_time"), table.column("end_time")
    if (pc.max(pc.subtract(end, start)).as_py() or 0) <= WINDOW:
        return 0
    inside = pc.not_equal(end, AFTER_TRACE)
    return _count(pc.and_(inside, pc.greater(pc.subtract(end, start), WINDOW)))


def _means_above_maxima(table: pa.Table) -> tuple[int, int]:
    above = None
    for mean, maximum in _MEAN_AND_MAXIMUM:
        above = _or(above, _exceeds(table, mean, maximum))
    if above is None or not _count(above):
        return 0, 0
    if "aggregation_type" not in table.column_names:
        return _count(above), 0
    summed = _count(pc.and_(above, pc.fill_null(table.column("aggregation_type"), False)))
    return _count(above) - summed, summed


def _exceeds(table: pa.Table, left: str, right: str) -> pa.ChunkedArray | None:
    if not {left, right} <= set(table.column_names):
        return None
    return pc.fill_null(pc.greater(table.column(left), table.column(right)), False)


def _any(table: pa.Table, names: tuple[str, ...], test: object) -> pa.ChunkedArray | None:
    """Or together `test` of each column whose maximum could make it true."""
    result = None
    for name in names:
        if name in table.column_names:
            column = table.column(name)
            if test(pc.max(column)).as_py():  # type: ignore[operator]
                result = _or(result, pc.fill_null(test(column), False))  # type: ignore[operator]
    return result


def _or(left: pa.ChunkedArray | None, right: pa.ChunkedArray | None) -> pa.ChunkedArray | None:
    if left is None or right is None:
        return right if left is None else left
    return pc.or_(left, right)


def _count(mask: pa.ChunkedArray | None) -> int:
    return 0 if mask is None else int(pc.sum(mask).as_py() or 0)


def _list_faults(column: pa.ChunkedArray) -> tuple[int, int]:
    """Count empty (or missing) lists, and lists whose values do not ascend."""
    empty = unordered = 0
    for chunk in column.chunks:
        lengths = np.diff(np.asarray(chunk.offsets))
        empty += int(np.count_nonzero(lengths == 0))
        values = chunk.flatten().to_numpy(zero_copy_only=False)
        if len(values) < 2:
            continue
        falls = np.flatnonzero(values[1:] < values[:-1]) + 1
        owner = np.repeat(np.arange(len(lengths)), lengths)
        unordered += len(np.unique(owner[falls][owner[falls] == owner[falls - 1]]))
    return empty, unordered
