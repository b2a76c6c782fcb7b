"""Sums of exp(iθx) over the history of a task on a grid: changed by a value, or made anew.

Many samples share a cell: a whole history is counted first, and the cells on both sides of its middle are folded, for
their cosines are the same and their sines opposite.
"""

import math

import numpy as np

from borgtrace.kernels.arrays import Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.overcommit.grid_frequencies import CELLS

_AT_ONCE = 512
"""Samples that are counted at once: with more, their shares would have too few digits beside their number."""
_UNIT = 1024.0
COUNTS, BELOW, ABOVE, EVEN, ODD = range(5)
"""Rows of a histogram of the samples of a history, by cell.

Samples at or above each cell, in `_UNIT`, with the sum of how far they are above it: one addition for both.  What a
cell takes of its samples, and what the next one takes of them.  Sum and difference of the cells at a distance on both
sides of the middle.
"""


def make_histogram() -> Numbers:
    """Return room for a histogram; zeros between uses, but for `EVEN` and `ODD`: (5, CELLS + 2)."""
    return np.zeros((5, CELLS + 2))


@compiled(makes_arrays=False)
def add_value(position: float, weight: float, table: Numbers, own: Numbers) -> None:
    """Add a value in steps of the grid, shared between the two cells beside it."""
    cell = int(position)
    share = position - cell
    _add_rows(table[cell], table[cell + 1], weight * (1.0 - share), weight * share, own)


@compiled(makes_arrays=False)
def _add_rows(first: Numbers, second: Numbers, a: float, b: float, sums: Numbers) -> None:
    for f in range(sums.size):
        sums[f] += a * first[f] + b * second[f]


@compiled(makes_arrays=False)
def write_history(
    usage: Numbers,
    cells_per_unit: float,
    table: Numbers,
    histogram: Numbers,
    own: Numbers,
) -> None:
    """Make the sums of a task those of a whole history, cell by cell: several samples share one."""
    least = CELLS
    most = 0
    for begin in range(0, usage.size, _AT_ONCE):
        for value in usage[begin : begin + _AT_ONCE]:
            position = value * cells_per_unit
            cell = int(position)
            histogram[COUNTS, cell] += position + (_UNIT - cell)
            least = min(least, cell)
            most = max(most, cell)
        _share_counts(least, most, histogram)
    middle = (least + most + 1) // 2
    n_sides = _fold(least, middle, most + 1, histogram)
    own[:] = 0.0
    cosines = np.uint64(0)
    sines = np.uint64(own.size // 2)
    for k in range(0, n_sides, 4):
        _add_four(table[k : k + 4], cosines, histogram[EVEN, k : k + 4], own)
        _add_four(table[k : k + 4], sines, histogram[ODD, k : k + 4], own)
    _turn(table[middle], own)


@compiled(makes_arrays=False)
def _share_counts(least: int, most: int, histogram: Numbers) -> None:
    """Part the counts of some cells into what these and the next ones take of their samples, and make them 0."""
    for cell in range(least, most + 1):
        count = histogram[COUNTS, cell]
        n = math.floor(count / _UNIT)
        shares = count - n * _UNIT
        histogram[BELOW, cell] += n - shares
        histogram[ABOVE, cell] += shares
        histogram[COUNTS, cell] = 0.0


@compiled(makes_arrays=False)
def _fold(least: int, middle: int, most: int, histogram: Numbers) -> int:
    """Write sums and differences of both sides of the cells, and return of how many distances: a multiple of four."""
    above_before = 0.0
    for cell in range(least, most + 1):
        above = histogram[ABOVE, cell]
        histogram[BELOW, cell] += above_before
        histogram[ABOVE, cell] = 0.0
        above_before = above
    n_sides = most - middle + 1
    n_written = (n_sides + 3) // 4 * 4
    for k in range(n_written):
        after = histogram[BELOW, middle + k] if k < n_sides else 0.0
        before = histogram[BELOW, middle - k] if 0 < k <= middle - least else 0.0
        histogram[EVEN, k] = after + before
        histogram[ODD, k] = after - before
    histogram[BELOW, least : most + 1] = 0.0
    return n_written


@compiled(makes_arrays=False)
def _add_four(rows: Numbers, begin: np.uint64, weights: Numbers, own: Numbers) -> None:
    """Add the cosines or sines of four rows at once, for which the sums are read and written once."""
    a = weights[0]
    b = weights[1]
    c = weights[2]
    d = weights[3]
    for f in range(begin, begin + np.uint64(own.size // 2)):
        first_pair = a * rows[0, f] + b * rows[1, f]
        second_pair = c * rows[2, f] + d * rows[3, f]
        own[f] += first_pair + second_pair


@compiled(makes_arrays=False)
def _turn(row: Numbers, own: Numbers) -> None:
    """Multiply sums by exp(iθx) of a row."""
    half = np.uint64(own.size // 2)
    for f in range(half):
        x = own[f]
        y = own[half + f]
        own[f] = x * row[f] - y * row[half + f]
        own[half + f] = y * row[f] + x * row[half + f]
