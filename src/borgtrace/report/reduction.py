"""Fewer points, same picture: what a browser need not see of a long step function.

A chart is some hundred pixels wide, a queue length may have a million steps.  The range of x is cut into
buckets of equal width; of each bucket the first, the last, the lowest and the highest point stay (of each
y).  Every extreme survives, and what is left out lies within one bucket's width of a point that stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

MINIMUM_BUCKETS = 20


def reduce_rows(
    rows: Sequence[Mapping[str, Any]], x: str, ys: Sequence[str], by: Sequence[str] = (), *, budget: int = 4000
) -> list[Mapping[str, Any]]:
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
    lines = _lines(rows, by)
    # Two points of each bucket are its ends, and two more for each y its extremes.
    buckets = max(budget // (len(lines) * (2 + 2 * len(ys))), MINIMUM_BUCKETS)
    keep = np.zeros(len(rows), dtype=np.bool_)
    for line in lines:
        _mark(keep, rows, np.array(line, dtype=np.int64), x, ys, buckets)
    return [row for row, stays in zip(rows, keep, strict=True) if stays]


def _lines(rows: Sequence[Mapping[str, Any]], by: Sequence[str]) -> list[list[int]]:
    lines: dict[tuple[Any, ...], list[int]] = {}
    for i, row in enumerate(rows):
        lines.setdefault(tuple(row.get(name) for name in by), []).append(i)
    return list(lines.values())


def _mark(
    keep: npt.NDArray[np.bool_],
    rows: Sequence[Mapping[str, Any]],
    line: npt.NDArray[np.int64],
    x: str,
    ys: Sequence[str],
    buckets: int,
) -> None:
    """Set `keep` for the rows of one line that stay."""
    at = _numbers(rows, line, x)
    # Without a place on the axis they fall into no bucket; they may be what a chart counts as missing.
    keep[line[np.isnan(at)]] = True
    line, at = line[~np.isnan(at)], at[~np.isnan(at)]
    order = np.argsort(at, kind="stable")
    line, at = line[order], at[order]
    values = [_numbers(rows, line, y) for y in ys]
    for start, stop in _bucket_bounds(at, buckets):
        keep[line[start]] = keep[line[stop - 1]] = True
        for value in values:
            piece = value[start:stop]
            if not np.isnan(piece).all():
                keep[line[start + np.nanargmin(piece)]] = keep[line[start + np.nanargmax(piece)]] = True


def _bucket_bounds(at: npt.NDArray[np.float64], buckets: int) -> list[tuple[int, int]]:
    """Return the slices of sorted `at` that fall into buckets of equal width, empty ones left out."""
    if not len(at):
        return []
    # Inner limits only: the last point belongs to the last bucket.
    edges = np.linspace(at[0], at[-1], buckets + 1)[1:-1]
    cuts = np.concatenate(([0], np.searchsorted(at, edges), [len(at)]))
    return [(int(a), int(b)) for a, b in pairwise(cuts) if b > a]


def _numbers(rows: Sequence[Mapping[str, Any]], line: npt.NDArray[np.int64], column: str) -> npt.NDArray[np.float64]:
    values = (rows[i].get(column) for i in line)
    return np.array([v if isinstance(v, int | float) else np.nan for v in values], dtype=np.float64)
