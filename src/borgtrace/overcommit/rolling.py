"""Rolling maxima and percentiles of samples, compiled."""

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled


@compiled()
def moving_maximum(
    owner: Index,
    slot: Index,
    value: Numbers,
    length: int,
) -> Numbers:
    """Return the largest value of each owner's last `length` slots, that of the sample included.

    Parameters
    ----------
    owner, slot, value
        Of each sample, sorted by owner and slot.
    length
        In slots.
    """
    out = np.empty(owner.size)
    # Candidates, oldest first, each larger than all after it: a sample enters and leaves once.
    candidates = np.empty(owner.size, np.int64)
    first = 0
    end = 0
    for i in range(owner.size):
        if i == 0 or owner[i] != owner[i - 1]:
            first = end
        while end > first and value[candidates[end - 1]] <= value[i]:
            end -= 1
        candidates[end] = i
        end += 1
        while slot[candidates[first]] <= slot[i] - length:
            first += 1
        out[i] = value[candidates[first]]
    return out


@compiled()
def percentile_of(values: Numbers, share: float) -> float:
    """Return a percentile of some values, linear between them as NumPy's; unless it is near 100, this sorts them.

    Parameters
    ----------
    values
        Shape (n,).
    share
        Percentile ÷ 100.
    """
    position = (values.size - 1) * share
    if position < values.size - 2:
        values.sort()
        return _read_sorted(values, values.size, share)
    first = -np.inf
    second = -np.inf
    for value in values:
        second = max(second, min(first, value))
        first = max(first, value)
    if values.size == 1:
        return first
    return second + (first - second) * (position - (values.size - 2))


@compiled(inline=True)
def _read_sorted(
    values: Numbers,
    n: int,
    share: float,
) -> float:
    """Return a percentile of the first n values, which are sorted."""
    position = (n - 1) * share
    below = int(position)
    above = min(below + 1, n - 1)
    return values[below] + (values[above] - values[below]) * (position - below)


@compiled(makes_arrays=False)
def rolling_percentile(
    low: Index,
    values: Numbers,
    share: float,
    window: Numbers,
    out: Numbers,
) -> None:
    """Write the percentile of each sample's history, from ``low[i]`` to i.

    Parameters
    ----------
    low
        First sample of each history; ascending.
    values
        Shape (n,).
    share
        Percentile ÷ 100.
    window, out
        Working memory, and the result: (n,).

    Notes
    -----
    The history is kept sorted: a sample costs two searches and shifts of at most its length.  A percentile between
    the two largest values is found by looking at all.
    """
    n = 0
    first = 0
    for i in range(low.size):
        last = i - low[i]
        if last * share >= last - 1:
            out[i] = percentile_of(values[low[i] : i + 1], share)
            continue
        if first + n <= low[i]:
            n = 0
            first = low[i]
        while first < low[i]:
            # The oldest leaves.
            place = np.searchsorted(window[:n], values[first])
            _shift_down(window[place:n])
            n = n - 1
            first = first + 1
        while first + n <= i:
            value = values[first + n]
            place = np.searchsorted(window[:n], value)
            _shift_up(window[place : n + 1])
            window[place] = value
            n += 1
        out[i] = _read_sorted(window, n, share)


@compiled(makes_arrays=False)
def _shift_down(values: Numbers) -> None:
    """Move all values one place down, over the first; over a slice, which the compiler vectorizes."""
    for k in range(values.size - 1):
        values[k] = values[k + 1]


@compiled(makes_arrays=False)
def _shift_up(values: Numbers) -> None:
    """Move all values one place up, over the last."""
    for k in range(values.size - 1, 0, -1):
        values[k] = values[k - 1]
