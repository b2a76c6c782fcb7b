"""Runs of equal keys in sorted arrays, such as the windows of one task, and ranges of them."""

from collections.abc import Iterator

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled


def run_starts(first: Index, second: Index) -> Index:
    """Return where runs of equal (first, second) begin, and the length as the last entry.

    Parameters
    ----------
    first, second
        Arrays of shape (n,), sorted together.

    Examples
    --------
    >>> run_starts(np.array([1, 1, 2]), np.array([0, 0, 0])).tolist()
    [0, 2, 3]
    """
    is_new = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    later_starts = np.flatnonzero(is_new) + 1
    starts = np.concatenate([[0], later_starts, [len(first)]])
    # Without rows there is no run: only the length.
    return starts if len(first) else starts[1:]


def spans(length: Index, most: int) -> Iterator[tuple[int, int]]:
    """Cut neighboring groups into spans of at most `most` rows, at least one group each: first, and one after the last.

    Parameters
    ----------
    length
        Rows of each group.
    most
        Rows of a span; a group that has more is one by itself.

    Examples
    --------
    >>> list(spans(np.array([3, 3, 9, 1]), most=6))
    [(0, 2), (2, 3), (3, 4)]
    """
    ends = np.cumsum(length)
    first = 0
    while first < len(ends):
        n_before = int(ends[first - 1]) if first else 0
        # Searched in sums rather than counted group by group: a set has millions of traces.
        last_that_fits = int(np.searchsorted(ends, n_before + most, side="right"))
        end = max(last_that_fits, first + 1)
        yield first, end
        first = end


@compiled(makes_arrays=False)
def add_run(values: Numbers, most: float, factor: float, sums: Numbers) -> None:
    """Add values, each at most `most`, times a factor to the first of some sums.

    A function of its own, and over slices: only then does the compiler vectorize it (seven times faster).
    """
    for k in range(values.size):
        sums[k] += factor * min(values[k], most)
