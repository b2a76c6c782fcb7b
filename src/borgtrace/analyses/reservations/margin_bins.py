"""Margins over a past usage: their bins, and which margin how much of the time would have needed."""

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.compiled import compiled

FINE = 128
"""Margins up to 128 % have bins of one percent; beyond, 64 bins per doubling (under 1.6 % wide)."""
_PER_OCTAVE = 64
_OCTAVES = 9
N_BINS = FINE + _PER_OCTAVE * _OCTAVES + 2
"""Bin 0: no margin needed; the last: none below 655 times the usage suffices."""


def upper_edges() -> NDArray[np.float64]:
    """Return the largest margin of each bin, as a fraction; infinite for the last.

    Examples
    --------
    >>> upper_edges()[[0, 1, 128, -1]].tolist()
    [0.0, 0.01, 1.28, inf]
    """
    edges = np.empty(N_BINS)
    edges[: FINE + 1] = np.arange(FINE + 1)
    for octave in range(_OCTAVES):
        low = FINE * 2.0**octave
        first = FINE + 1 + _PER_OCTAVE * octave
        edges[first : first + _PER_OCTAVE] = low + low / _PER_OCTAVE * np.arange(1, _PER_OCTAVE + 1)
    edges[-1] = np.inf
    return edges / 100.0


@compiled(inline=True)
def margin_bin(usage: float, base: float) -> int:
    """Return the bin of the margin that `usage` needs over `base`.

    Parameters
    ----------
    usage
        What is used.
    base
        What was used before, in the same unit.

    Examples
    --------
    >>> margin_bin(0.5, 0.5), margin_bin(0.504, 0.5), margin_bin(0.0, 0.0), margin_bin(0.1, 0.0) == N_BINS - 1
    (0, 1, 0, True)
    """
    if usage <= base:
        return 0
    # Where nothing was used before, no relative margin is enough.
    if base <= 0.0:
        return N_BINS - 1
    percent = (usage - base) * 100.0 / base
    if percent <= FINE:
        # Upper edges belong to their bins, as in `upper_edges`.
        return int(np.ceil(percent))
    low = float(FINE)
    for octave in range(_OCTAVES):
        if percent <= 2.0 * low:
            return FINE + _PER_OCTAVE * octave + int(np.ceil((percent - low) * _PER_OCTAVE / low))
        low *= 2.0
    return N_BINS - 1


@compiled()
def needed_margins(
    task: NDArray[np.int64],
    slot: NDArray[np.int64],
    seconds: NDArray[np.int64],
    average: NDArray[np.float64],
    fine: NDArray[np.float64],
    weights: NDArray[np.int64],
    group: NDArray[np.int64],
    n_groups: int,
    periods: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Count how much time would have needed which margin, for several sampling periods.

    A reservation for one period is the mean usage of the period before it, plus the margin.

    Parameters
    ----------
    task, slot
        Task number and 300 s slot of each window, both ascending; shape (n,).
    seconds, average
        Length and mean usage of each window; NaN where it is not known.
    fine, weights
        Usage of single seconds inside each window, shape (n, q), NaN where unknown, and the weight of
        each of the q, which add up to 100.
    group, n_groups
        What each window counts for.
    periods
        Sampling periods in slots.

    Returns
    -------
    ndarray of shape (2, p + 1, n_groups, N_BINS)
        Hundredths of a second.  First axis: demand of whole windows, of single seconds.  Second: each
        period, then "as if the mean of the running window were known" (only for single seconds).
    """
    n, q = fine.shape
    counts = np.zeros((2, periods.size + 1, n_groups, N_BINS), dtype=np.int64)
    for k in range(periods.size):
        period, start = periods[k], 0
        # No period has a number near −10: the first period of a task follows none.
        previous, previous_number = np.nan, -10
        while start < n:
            end, number = start, slot[start] // period
            total, weight = 0.0, 0
            while end < n and task[end] == task[start] and slot[end] // period == number:
                if not np.isnan(average[end]):
                    total += average[end] * seconds[end]
                    weight += seconds[end]
                end += 1
            # Only the very next period has a reservation: after a gap there is no usage to start from.
            if previous_number == number - 1 and not np.isnan(previous):
                _count(counts[:, k], start, end, previous, seconds, average, fine, weights, group)
            previous = total / weight if weight > 0 else np.nan
            # The history ends with the task: the next one starts without.
            previous_number = number if end < n and task[end] == task[start] else -10
            start = end
    # As if the mean of the running window were known: what is left is variation within it.
    known = counts[1, periods.size]
    for i in range(n):
        for j in range(q):
            if not np.isnan(fine[i, j]) and not np.isnan(average[i]):
                known[group[i], margin_bin(fine[i, j], average[i])] += seconds[i] * weights[j]
    return counts


@compiled()
def _count(
    counts: NDArray[np.int64],
    start: int,
    end: int,
    base: float,
    seconds: NDArray[np.int64],
    average: NDArray[np.float64],
    fine: NDArray[np.float64],
    weights: NDArray[np.int64],
    group: NDArray[np.int64],
) -> None:
    """Add the windows `start` … `end` − 1, reserved for by `base`, to both demands."""
    for i in range(start, end):
        if not np.isnan(average[i]):
            # In hundredths of a second, for the weights of single seconds add up to 100.
            counts[0, group[i], margin_bin(average[i], base)] += seconds[i] * 100
        for j in range(fine.shape[1]):
            if not np.isnan(fine[i, j]):
                counts[1, group[i], margin_bin(fine[i, j], base)] += seconds[i] * weights[j]


def margin_for(counts: NDArray[np.int64], violation: float) -> float:
    """Return the smallest bin edge that at most a share `violation` of the counted time exceeds.

    NaN where no event was counted, infinite where no bin suffices.

    Parameters
    ----------
    counts
        Time per bin, shape (N_BINS,).
    violation
        Share of the time that may need more, 0 to 1.

    Examples
    --------
    >>> counts = np.zeros(N_BINS, dtype=np.int64)
    >>> counts[[0, 20]] = 90, 10
    >>> margin_for(counts, 0.1), margin_for(counts, 0.05)
    (0.0, 0.2)
    """
    total = int(counts.sum())
    if total == 0:
        return float("nan")
    above = total - np.cumsum(counts)
    return float(upper_edges()[int(np.argmax(above <= violation * total))])
