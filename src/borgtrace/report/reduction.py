"""Fewer points, same picture: what a browser need not see of a long step function.

A chart is some hundred pixels wide, a queue length may have a million steps.  The range of x is cut into
buckets of equal width; of each bucket the first, the last, the lowest and the highest point stay (of each
y).  Every extreme survives, and what is left out lies within one bucket's width of a point that stays.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

MINIMUM_BUCKETS = 20


def reduce_rows(
    rows: Sequence[dict[str, Any]],
    x: str,
    ys: Sequence[str],
    by: Sequence[str] = (),
    *,
    budget: int = 4000,
) -> list[dict[str, Any]]:
    """Keep at most about `budget` rows of `rows`, and every extreme.

    Parameters
    ----------
    rows
        Points as dictionaries, in any order; rows without a number in `x` stay.
    x
        Column of the horizontal axis.
    ys
        Columns drawn vertically.
    by
        Columns that tell one line from another; each line is reduced alone.
    budget
        Number of rows to aim at.  It is exceeded where there are more lines than ``budget / 80``:
        each keeps at least 20 buckets.

    Returns
    -------
    list
        The rows that stay, in their order.

    Examples
    --------
    >>> rows = [{"t": t, "n": 100 if t == 777 else t % 2} for t in range(1000)]
    >>> kept = reduce_rows(rows, "t", ["n"], budget=100)
    >>> len(kept) <= 100, max(row["n"] for row in kept), kept[0]["t"], kept[-1]["t"]
    (True, 100, 0, 999)
    """
    if len(rows) <= budget:
        return list(rows)
    lines: defaultdict[tuple[Any, ...], list[int]] = defaultdict(list)
    for i, row in enumerate(rows):
        lines[tuple(row.get(name) for name in by)].append(i)
    # Two points of each bucket are its ends, and two more for each y its extremes.
    buckets = max(budget // (len(lines) * (2 + 2 * len(ys))), MINIMUM_BUCKETS)
    keep = {
        line[k] for line in lines.values() for k in _kept([rows[i] for i in line], x, ys, buckets)
    }
    return [rows[i] for i in sorted(keep)]


def _kept(
    rows: Sequence[Mapping[str, Any]], x: str, ys: Sequence[str], buckets: int
) -> set[np.int64]:
    """Return the numbers of the rows of one line that stay."""
    at, values = _numbers(rows, x), [_numbers(rows, y) for y in ys]
    # Without a place on the axis they fall into no bucket; they may be what a chart counts as missing.
    kept: set[np.int64] = set(np.flatnonzero(np.isnan(at)))
    # What is not a number is sorted to the end.
    order = np.argsort(at, kind="stable")[: len(rows) - len(kept)]
    if not len(order):
        return kept
    # Inner limits only: the last point belongs to the last bucket.
    edges = np.linspace(at[order[0]], at[order[-1]], buckets + 1)[1:-1]
    for bucket in filter(len, np.split(order, np.searchsorted(at[order], edges))):
        kept |= {bucket[0], bucket[-1]}
        for value in (column[bucket] for column in values):
            if not np.isnan(value).all():
                kept |= {bucket[np.nanargmin(value)], bucket[np.nanargmax(value)]}
    return kept


def _numbers(rows: Sequence[Mapping[str, Any]], column: str) -> npt.NDArray[np.float64]:
    values = (row.get(column) for row in rows)
    return np.array([v if isinstance(v, int | float) else np.nan for v in values], dtype=np.float64)
