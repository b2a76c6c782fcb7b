"""Statistics of runs of equal keys (the windows of one task), and runs that may repeat."""

import numpy as np
import numpy.typing as npt

from borgtrace.kernels.arrays import Flags, Index, Numbers, Values
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.hashing import finalized

# Rows of the result of `run_statistics`.
MEAN = 0
DEVIATION = 1
LARGEST = 2
WEIGHTED_MEAN = 3
# Rows of the result of `run_spans`.
FIRST_START = 0
LAST_END = 1
DURATION = 2
N_GAPS = 3
N_MACHINES = 4


@compiled()
def run_statistics(values: Values, starts: Index, weights: Numbers) -> Numbers:
    """Return mean, deviation (ddof 0), maximum and weighted mean of each run, NaN skipped.

    Parameters
    ----------
    values
        Shape (n,), NaN where there is no value.
    starts
        Shape (k + 1,), as `run_starts` gives.
    weights
        Shape (n,), ≥ 0; a run whose weights are all 0 has a weighted mean of NaN.

    Returns
    -------
    ndarray
        Shape (4, k), rows as named in this module, NaN for a run without values.  Two passes in float64, so the order
        of additions, and with it every bit, is fixed.

    Examples
    --------
    >>> run_statistics(np.array([1, 3], np.float32), np.array([0, 2]), np.array([1.0, 3.0]))[:, 0].tolist()
    [2.0, 1.0, 3.0, 2.5]
    """
    n_runs = len(starts) - 1
    result = np.full((4, n_runs), np.nan)
    for run in range(n_runs):
        count = 0
        total = 0.0
        largest = -np.inf
        weight = 0.0
        weighted = 0.0
        for row in range(starts[run], starts[run + 1]):
            value = np.float64(values[row])
            if not np.isnan(value):
                count += 1
                total += value
                largest = max(largest, value)
                weight += weights[row]
                weighted += weights[row] * value
        if count == 0:
            continue
        mean = total / count
        # A second pass: the sum of squares minus the square of the sum loses all digits where a task hardly varies.
        squares = 0.0
        for row in range(starts[run], starts[run + 1]):
            value = np.float64(values[row])
            if not np.isnan(value):
                squares += (value - mean) ** 2
        result[MEAN, run] = mean
        result[DEVIATION, run] = np.sqrt(squares / count)
        result[LARGEST, run] = largest
        if weight > 0:
            result[WEIGHTED_MEAN, run] = weighted / weight
    return result


@compiled()
def run_spans(
    start: Index,
    end: Index,
    length: Index,
    machine: Index,
    starts: Index,
) -> Index:
    """Return first start, last end, seconds, gaps and machines of each run of windows.

    Parameters
    ----------
    start, end
        Times in µs, shape (n,), starts ascending within a run.
    length
        Length of each window in µs, as it is to be summed.
    machine
        Machine of each window, −1 where unknown.
    starts
        Shape (k + 1,), as `run_starts` gives.

    Returns
    -------
    ndarray
        Shape (5, k) of int64, rows as named in this module: first start, last end, µs in windows, gaps, distinct
        machines.
    """
    n_runs = len(starts) - 1
    result = np.zeros((5, n_runs), np.int64)
    for run in range(n_runs):
        low = starts[run]
        high = starts[run + 1]
        latest = end[low]
        is_moved = False
        for row in range(low, high):
            result[DURATION, run] += length[row]
            if row > low:
                # Against the latest end so far, not the end before: windows of one task may overlap.
                result[N_GAPS, run] += start[row] > latest
            latest = max(latest, end[row])
            is_moved |= machine[row] != machine[low]
        result[FIRST_START, run] = start[low]
        result[LAST_END, run] = latest
        # Only the rare task was on more than one machine, or not always on a known one.
        result[N_MACHINES, run] = (
            _count_known(machine[low:high]) if is_moved else int(machine[low] >= 0)
        )
    return result


@compiled()
def _count_known(machine: Index) -> int:
    """Count the machines of one run of windows, without −1."""
    # A table of hashes, half of it empty: compiling a sort would take longer than all of this module.
    n_places = 2
    while n_places < 2 * machine.size:
        n_places *= 2
    table = np.full(n_places, -1, np.int64)
    n_known = 0
    for row in range(machine.size):
        if machine[row] < 0 or (row > 0 and machine[row] == machine[row - 1]):
            continue
        place = np.int64(finalized(np.uint64(machine[row])) % np.uint64(n_places))
        while table[place] not in (-1, machine[row]):
            place = (place + 1) % n_places
        if table[place] < 0:
            table[place] = machine[row]
            n_known += 1
    return n_known


@compiled()
def repeating_runs(
    start: Index,
    machine: Index,
    words: npt.NDArray[np.uint32],
    starts: Index,
) -> Flags:
    """Tell the runs in which a window has the start, the machine and the words of an earlier one.

    Parameters
    ----------
    start
        Shape (n,), ascending within a run.
    machine
        Shape (n,): a task that moves has two windows of one start, which its measured values may not tell apart.
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
    >>> words, machine = np.array([[7, 7, 8, 8]], np.uint32), np.array([3, 3, 3, 3])
    >>> repeating_runs(np.array([0, 0, 5, 6]), machine, words, np.array([0, 2, 4])).tolist()
    [True, False]
    """
    repeats = np.zeros(len(starts) - 1, np.bool_)
    for run in range(len(repeats)):
        for row in range(starts[run] + 1, starts[run + 1]):
            # Starts ascend, so only the rows just before can have the same one.
            other = row - 1
            while other >= starts[run] and start[other] == start[row]:
                is_equal = machine[other] == machine[row]
                for column in range(len(words)):
                    is_equal = is_equal and words[column, other] == words[column, row]
                repeats[run] |= is_equal
                other -= 1
    return repeats
