"""Margins over a past usage: their bins, and how much time would have needed which margin."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.compiled import compiled

FINE = 128
"""Margins up to 128 % have bins of one percent; beyond, 64 bins per doubling (under 1.6 % wide)."""
BINS_PER_OCTAVE = 64
OCTAVES = 9
N_BINS = FINE + BINS_PER_OCTAVE * OCTAVES + 2
"""Bin 0: no margin needed; the last: none below 655 times the usage suffices."""
ABOVE_ALL = FINE * 2.0**OCTAVES + 1.0
"""A margin in the last bin, %."""
DIGITS_SHIFT = 46
"""Binary digits of a float after the first six behind its point."""
DIGITS_BELOW = 2**DIGITS_SHIFT - 1
DIGITS_OF_FINE = (1023 + 7) * BINS_PER_OCTAVE
"""Exponent and first six digits of 128."""
NO_PERIOD = -10
"""No period has a number near this one: the first period of a task follows none."""


def upper_edges() -> NDArray[np.float64]:
    """Return the largest margin of each bin, as a fraction; infinite for the last.

    Examples
    --------
    >>> upper_edges()[[0, 1, 128, -1]].tolist()
    [0.0, 0.01, 1.28, inf]
    """
    edges = np.empty(N_BINS)
    edges[: FINE + 1] = np.arange(FINE + 1)
    steps = np.arange(1, BINS_PER_OCTAVE + 1)
    for octave in range(OCTAVES):
        low = FINE * 2.0**octave
        first = FINE + 1 + BINS_PER_OCTAVE * octave
        edges[first : first + BINS_PER_OCTAVE] = low + low / BINS_PER_OCTAVE * steps
    edges[-1] = np.inf
    return edges / 100.0


@compiled(inline=True)
def margin_bin(usage: float, base: float) -> int:
    """Return the bin of the margin that `usage` needs over `base`.

    Parameters
    ----------
    usage
        The usage.
    base
        The usage before, in the same unit.

    Examples
    --------
    >>> margin_bin(0.5, 0.5), margin_bin(0.504, 0.5), margin_bin(0.0, 0.0), margin_bin(0.1, 0.0) == N_BINS - 1
    (0, 1, 0, True)
    """
    # Without branches: whether usage grows, no processor foresees.
    increase = usage - base if usage > base else 0.0
    # Where nothing was used before, no relative margin is enough.
    finite_percent = increase * 100.0 / (base if base > 0.0 else 1.0)
    infinite_percent = ABOVE_ALL if increase > 0.0 else 0.0
    percent = finite_percent if base > 0.0 else infinite_percent
    percent = percent if percent < ABOVE_ALL else ABOVE_ALL
    # Upper edges belong to their bins, as in `upper_edges`.
    whole_percent = int(np.ceil(percent))
    # The exponent of a number is its octave, and its first six binary digits are the bin there: rounded up.
    digits = (np.float64(percent).view(np.int64) + DIGITS_BELOW) >> DIGITS_SHIFT
    return whole_percent if percent <= FINE else FINE + digits - DIGITS_OF_FINE


class MeasuredWindows(NamedTuple):
    """Windows of tasks with their usage.

    Attributes
    ----------
    task, slot
        Task number and 300 s slot of each window, both ascending; shape (n,).
    seconds, average
        Length and mean usage of each window; NaN where it is not known.
    fine, weights
        Usage of single seconds inside each window, shape (n, q), NaN where unknown, and the weight of
        each of the q, which add up to 100.
    group
        The group in which each window counts, shape (n,).
    """

    task: NDArray[np.int64]
    slot: NDArray[np.int64]
    seconds: NDArray[np.int64]
    average: NDArray[np.float64]
    fine: NDArray[np.float64]
    weights: NDArray[np.int64]
    group: NDArray[np.int64]


@compiled()
def needed_margins(
    windows: MeasuredWindows,
    n_groups: int,
    periods: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Count how much time would have needed which margin, for several sampling periods.

    A reservation for one period is the mean usage of the period before it, plus the margin.

    Parameters
    ----------
    windows
        What was measured.
    n_groups
        How many groups of windows there are.
    periods
        Sampling periods in slots.

    Returns
    -------
    ndarray of shape (2, p + 1, n_groups, N_BINS)
        Hundredths of a second.  First axis: demand of whole windows, of single seconds.  Second: each
        period, then "as if the mean of the running window were known" (only for single seconds).
    """
    counts = np.zeros((2, periods.size + 1, n_groups, N_BINS), dtype=np.int64)
    for k in range(periods.size):
        count_margins_of_period(counts[:, k], periods[k], windows)
    count_margins_within_windows(counts[1, periods.size], windows)
    return counts


@compiled(makes_arrays=False)
def count_margins_of_period(
    counts: NDArray[np.int64],
    period: int,
    windows: MeasuredWindows,
) -> None:
    """Add all windows whose reservation is based on the mean of the period before, in slots, to both demands."""
    task, slot, seconds, average, _, _, _ = windows
    previous_mean = np.nan
    previous_number = NO_PERIOD
    start = 0
    while start < task.size:
        # Divided only after a gap: that takes longer than all the rest of a short period.
        number = previous_number + 1
        if not number * period <= slot[start] < (number + 1) * period:
            number = slot[start] // period
        next_slot = (number + 1) * period
        total = 0.0
        weight = 0
        end = start
        while end < task.size and task[end] == task[start] and slot[end] < next_slot:
            if not np.isnan(average[end]):
                total += average[end] * seconds[end]
                weight += seconds[end]
            end += 1
        # Only the very next period has a reservation: after a gap there is no usage to start from.
        if previous_number == number - 1 and not np.isnan(previous_mean):
            count_margins(counts, start, end, previous_mean, windows)
        previous_mean = total / weight if weight > 0 else np.nan
        # The history ends with the task: the next one starts without.
        is_same_task = end < task.size and task[end] == task[start]
        previous_number = number if is_same_task else NO_PERIOD
        start = end


@compiled(makes_arrays=False)
def count_margins_within_windows(
    counts: NDArray[np.int64],
    windows: MeasuredWindows,
) -> None:
    """Add all windows as if the mean of the running window were known: what is left is variation within it."""
    _, _, seconds, average, fine, weights, group = windows
    for i in range(fine.shape[0]):
        for j in range(fine.shape[1]):
            if not np.isnan(fine[i, j]) and not np.isnan(average[i]):
                margin = margin_bin(fine[i, j], average[i])
                counts[group[i], margin] += seconds[i] * weights[j]


@compiled(inline=True, makes_arrays=False)
def count_margins(
    counts: NDArray[np.int64],
    start: int,
    end: int,
    base: float,
    windows: MeasuredWindows,
) -> None:
    """Add the windows `start` … `end` − 1, whose reservation is based on `base`, to both demands."""
    _, _, seconds, average, fine, weights, group = windows
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
