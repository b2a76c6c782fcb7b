"""Runs of equal keys in sorted arrays: the windows of one task."""

import numpy as np

from borgtrace.kernels.arrays import Index


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
    starts = np.concatenate([[0], np.flatnonzero(is_new) + 1, [len(first)]])
    # Without rows there is no run: only the length.
    return starts if len(first) else starts[1:]
