"""Runs of windows in which one seems to repeat another, so that whole rows are compared only there."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from borgtrace.kernels.compiled import compiled

Words = npt.NDArray[np.uint32]
Longs = npt.NDArray[np.int64]


@compiled()
def repeating_runs(start: Longs, words: Words, starts: Longs) -> npt.NDArray[np.bool_]:
    """Tell the runs in which a window has the start and the words of an earlier one.

    Parameters
    ----------
    start
        Shape (n,), ascending within a run.
    words
        Shape (columns, n): the bits of some values, so that a missing one (NaN) equals another.
    starts
        Shape (k + 1,), as `run_starts` gives.

    Returns
    -------
    ndarray
        Shape (k,).  Costs a comparison for each pair of windows of a run that start together.

    Examples
    --------
    >>> words = np.array([[7, 7, 8, 8]], np.uint32)
    >>> repeating_runs(np.array([0, 0, 5, 6]), words, np.array([0, 2, 4])).tolist()
    [True, False]
    """
    found = np.zeros(len(starts) - 1, np.bool_)
    for run in range(len(found)):
        for row in range(starts[run] + 1, starts[run + 1]):
            other = row - 1
            while other >= starts[run] and start[other] == start[row]:
                equal = True
                for column in range(len(words)):
                    equal = equal and words[column, other] == words[column, row]
                found[run] |= equal
                other -= 1
    return found
