"""Fewer points, same picture: what a browser need not see of a long step function.

A chart is some hundred pixels wide, a queue length may have a million steps.  The range of x is cut into
buckets of equal width; of each bucket the first, the last, the lowest and the highest point stay (of each
y).  Every extreme survives, and what is left out lies within one bucket's width of a point that stays.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers

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
    for number, row in enumerate(rows):
        lines[tuple(row.get(name) for name in by)].append(number)
    # Two points of each bucket are its ends, and two more for each y its extremes.
    rows_per_bucket = 2 + 2 * len(ys)
    n_buckets = max(budget // (len(lines) * rows_per_bucket), MINIMUM_BUCKETS)
    kept: set[int] = set()
    for line in lines.values():
        rows_of_line = [rows[number] for number in line]
        for position in kept_positions(rows_of_line, x, ys, n_buckets):
            kept.add(line[position])
    return [rows[number] for number in sorted(kept)]


def kept_positions(
    rows: Sequence[Mapping[str, Any]],
    x: str,
    ys: Sequence[str],
    n_buckets: int,
) -> set[int]:
    """Return the positions of the rows of one line that stay."""
    places = numbers_of(rows, x)
    columns = [numbers_of(rows, y) for y in ys]
    # Without a place on the axis they fall into no bucket; they may be what a chart counts as missing.
    kept = set(np.flatnonzero(np.isnan(places)).tolist())
    # What is not a number is sorted to the end.
    order = np.argsort(places, kind="stable")[: len(rows) - len(kept)]
    if not len(order):
        return kept
    # Inner limits only: the last point belongs to the last bucket.
    edges = np.linspace(places[order[0]], places[order[-1]], n_buckets + 1)[1:-1]
    for bucket in np.split(order, np.searchsorted(places[order], edges)):
        if len(bucket):
            kept |= {int(bucket[0]), int(bucket[-1])}
            for column in columns:
                kept |= extremes(bucket, column[bucket])
    return kept


def extremes(positions: Index, values: Numbers) -> set[int]:
    """Return the positions of the lowest and the highest value; none where no value is known."""
    if np.isnan(values).all():
        return set()
    return {int(positions[np.nanargmin(values)]), int(positions[np.nanargmax(values)])}


def numbers_of(rows: Sequence[Mapping[str, Any]], column: str) -> Numbers:
    """Return a column as numbers, NaN where it holds something else."""
    numbers = np.full(len(rows), np.nan)
    for position, row in enumerate(rows):
        value = row.get(column)
        if isinstance(value, int | float):
            numbers[position] = value
    return numbers
