"""Reproducible i.i.d. draws from the empirical distributions of many tasks.

Draw `r` of a task is a hash of the task's key and r: a counter-based generator.  So it does not depend on the thread
that computes it, on the other tasks drawn, or on the number of draws: the first columns of a longer run are the
shorter run.
"""

import numba
import numpy as np

from borgtrace.kernels.arrays import Index, Numbers, Values
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.hashing import Keys, hashed

_S32 = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@compiled(inline=True)
def upper_half_below(noise: np.uint64, bound: np.uint64) -> np.int64:
    """Reduce the upper 32 bits of random `noise` to a number from 0 to `bound` − 1.

    (Upper half × bound) ÷ 2³² favors no number by more than bound ÷ 2³², and needs no division, unlike a modulo.

    Parameters
    ----------
    noise
        64 random bits.
    bound
        At most 2³².
    """
    return np.int64(((noise >> _S32) * bound) >> _S32)


@compiled(inline=True)
def _window_at(ends: Index, ticket: np.int64) -> int:
    """Return the index of the first end above `ticket`, by bisection."""
    return int(np.searchsorted(ends, ticket, side="right"))


@compiled(parallel=True)
def draw_uniform(
    values: Values,
    offsets: Index,
    tasks: Index,
    keys: Keys,
    out: Values,
) -> None:
    """Fill row i of `out` with draws from task ``tasks[i]``, all its windows alike.

    The window of a draw depends on the key and the column only: calls over different value arrays draw the same
    windows.

    Parameters
    ----------
    values, offsets
        float32 (W,) and int64 (n + 1,): windows of all tasks (CSR).
    tasks
        int64 (k,): the tasks to draw from.
    keys
        uint64 (k,): from :func:`borgtrace.kernels.hashing.task_keys`, one per row of `out`.
    out
        float32 (k, R): overwritten.
    """
    # Every row of `out` is written by one thread, and nothing is carried from draw to draw: any number of threads
    # gives the same rows.
    for i in numba.prange(tasks.size):
        first = offsets[tasks[i]]
        last = offsets[tasks[i] + 1]
        windows = values[first:last]
        n_windows = np.uint64(last - first)
        key = keys[i]
        for r in range(out.shape[1]):
            noise = hashed(key, np.uint64(r + 1))
            out[i, r] = windows[upper_half_below(noise, n_windows)]


@compiled()
def _ends(weights: Index, first: int, last: int) -> Index:
    """Return the running sum of the weights of a task's windows; 1, 2, … where there are no weights."""
    ends = np.arange(1, last - first + 1)
    total = 0
    if weights.size:
        for k in range(first, last):
            total += weights[k]
            ends[k - first] = total
    return ends


@compiled(parallel=True)
def draw_weighted(
    values: Values,
    offsets: Index,
    weights: Index,
    tasks: Index,
    keys: Keys,
    out: Values,
) -> None:
    """Fill row i of `out` with draws from task ``tasks[i]``, windows weighted by their length.

    Window k of a task is drawn with probability weights[k] ÷ their sum.

    Parameters
    ----------
    values, offsets
        float32 (W,) and int64 (n + 1,): windows of all tasks (CSR).
    weights
        int64 (W,), in any unit that keeps the sum of a task below 2³².
    tasks
        int64 (k,): the tasks to draw from.
    keys
        uint64 (k,): from :func:`borgtrace.kernels.hashing.task_keys`, one per row of `out`.
    out
        float32 (k, R): overwritten.
    """
    for i in numba.prange(tasks.size):
        first = offsets[tasks[i]]
        last = offsets[tasks[i] + 1]
        windows = values[first:last]
        ends = _ends(weights, first, last)
        key = keys[i]
        # At most 2³², or a product would overflow: the seconds of one task in a month are 2.6 million.
        total = np.uint64(ends[-1])
        for r in range(out.shape[1]):
            noise = hashed(key, np.uint64(r + 1))
            ticket = upper_half_below(noise, total)
            out[i, r] = windows[_window_at(ends, ticket)]


@compiled(parallel=True)
def draw_quantiles(
    quantiles: Values,
    levels: Numbers,
    offsets: Index,
    weights: Index,
    tasks: Index,
    keys: Keys,
    out: Values,
) -> None:
    """Fill row i of `out` from the windows' own percentiles: a window by weight, then a level at random.

    Between two levels the usage is interpolated linearly.  The window of a draw is the one that
    :func:`draw_weighted` (without weights, :func:`draw_uniform`) takes for the same key and column; the level
    comes from the hash's other half.

    Parameters
    ----------
    quantiles
        float32 (W, L): usage of each window at each level.
    levels
        float64 (L,), increasing from 0 to 1.
    offsets
        int64 (n + 1,): windows of each task (CSR).
    weights
        int64 (W,) as for :func:`draw_weighted`, or empty where all windows weigh alike.
    tasks
        int64 (k,): the tasks to draw from.
    keys
        uint64 (k,): from :func:`borgtrace.kernels.hashing.task_keys`, one per row of `out`.
    out
        float32 (k, R): overwritten.
    """
    for i in numba.prange(tasks.size):
        first = offsets[tasks[i]]
        last = offsets[tasks[i] + 1]
        ends = _ends(weights, first, last)
        key = keys[i]
        total = np.uint64(ends[-1])
        for r in range(out.shape[1]):
            # Upper half for the window, lower half for the level: two independent numbers from one hash.
            noise = hashed(key, np.uint64(r + 1))
            window = first + _window_at(ends, upper_half_below(noise, total))
            level = np.float64(noise & _LOW) / 4294967296.0
            k = 0
            # This ends: a level is below 1, and the last of `levels` is 1.  It takes five steps on average.
            while levels[k + 1] <= level:
                k += 1
            step = levels[k + 1] - levels[k]
            share = (level - levels[k]) / step
            low = quantiles[window, k]
            high = quantiles[window, k + 1]
            out[i, r] = np.float32(low + share * (high - low))
