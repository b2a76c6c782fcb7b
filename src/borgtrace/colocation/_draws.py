"""Reproducible i.i.d. draws from the empirical distributions of many tasks.

Draw `r` of a task is a hash of (key of the task, r) — a counter-based generator — so it depends neither on
the thread that computes it, nor on which other tasks are drawn, nor on how many draws are asked for: the
first columns of a longer run are the shorter run.
"""

import numba
import numpy as np

from borgtrace.kernels.arrays import Index, Numbers, Values
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.hashing import Keys, hashed

_S32 = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@compiled(inline=True)
def _window(ends: Index, ticket: np.uint64) -> int:
    """Index of the first end beyond `ticket`, by bisection."""
    return int(np.searchsorted(ends, np.int64(ticket), side="right"))


@compiled(parallel=True)
def draw_uniform(
    values: Values,
    offsets: Index,
    tasks: Index,
    keys: Keys,
    out: Values,
) -> None:
    """Fill row i of `out` with draws from task ``tasks[i]``, all its windows alike.

    The window of a draw depends on the key and the column only: two calls over two value arrays draw the same
    windows.  The multiply-shift reduction favors no window by more than n/2³².

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
        windows = np.uint64(offsets[tasks[i] + 1] - first)
        row = values[first : offsets[tasks[i] + 1]]
        key = keys[i]
        for r in range(out.shape[1]):
            # (upper half of the hash × windows) ÷ 2³² is a window number, without the division of a modulo.
            out[i, r] = row[np.int64(((hashed(key, np.uint64(r + 1)) >> _S32) * windows) >> _S32)]


@compiled()
def _ends(weights: Index, first: int, last: int) -> Index:
    """Running sum of the weights of a task's windows; 1, 2, … where there are no weights."""
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
        row = values[first:last]
        end = _ends(weights, first, last)
        key = keys[i]
        # Below 2³², or the product below overflows: seconds of one task in a month are 2.6 million.
        total = np.uint64(end[-1])
        for r in range(out.shape[1]):
            out[i, r] = row[_window(end, ((hashed(key, np.uint64(r + 1)) >> _S32) * total) >> _S32)]


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
        int64 (W,) as for :func:`draw_weighted`, or empty: all windows weigh alike.
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
        end = _ends(weights, first, last)
        key = keys[i]
        total = np.uint64(end[-1])
        for r in range(out.shape[1]):
            # Upper half for the window, lower half for the level: the two are independent, from one hash.
            noise = hashed(key, np.uint64(r + 1))
            window = first + _window(end, ((noise >> _S32) * total) >> _S32)
            level = np.float64(noise & _LOW) / 4294967296.0
            k = 0
            # Ends, because a level is below 1 and the last of `levels` is 1; one by one takes five steps on average.
            while levels[k + 1] <= level:
                k += 1
            share = (level - levels[k]) / (levels[k + 1] - levels[k])
            low = quantiles[window, k]
            high = quantiles[window, k + 1]
            out[i, r] = np.float32(low + share * (high - low))
