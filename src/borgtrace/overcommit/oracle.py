"""What the tasks of now will use together in the slots to come: the peak that policies are judged by."""

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.overcommit.block import Columns, Samples, add_run

SLACK = 1e-9
"""A sum of many tasks is rounded: what exceeds a prediction by less is no violation."""


@compiled(makes_arrays=False)
def _folded(values: Numbers, is_sum: bool) -> float:
    """Return the sum, or the largest, of some values, by halves: as vectors, for which they are overwritten."""
    n = values.size
    while n > 1:
        half = (n + 1) // 2
        for k in range(n - half):
            values[k] = values[k] + values[half + k] if is_sum else max(values[k], values[half + k])
        n = half
    return values[0]


@compiled(makes_arrays=False)
def _exceeded(sums: Numbers, bound: float, above: Numbers) -> int:
    """Return how many sums exceed a bound, and write by how much each does: without branches, as vectors."""
    n = 0
    for k in range(sums.size):
        exceeds = sums[k] * (1 - SLACK) > bound
        n += exceeds
        above[k] = sums[k] - bound if exceeds else 0.0
    return n


@compiled(inline=True)
def _is_kept(i: int, columns: Columns) -> bool:
    """Whether the task of a sample was there in the slot before, with the same limit."""
    return i > 0 and columns.run_ends[i - 1] >= i and columns.limit[i - 1] == columns.limit[i]


@compiled(makes_arrays=False)
def _judge(
    columns: Columns,
    sums: Numbers,
    above: Numbers,
    predictions: Numbers,
    peaks: Numbers,
    over: Index,
    excess: Numbers,
) -> None:
    # Of each slot, what the tasks of now use in it.  It holds from slot to slot, up to `reach`, until a task that will
    # return leaves, or a limit changes: then all is added up anew, for a difference of sums would not be exact.
    task = columns.task
    slot = columns.slot
    offsets = columns.offsets
    horizon = above.size
    reach = -1
    n_lasting = 0
    for j in range(peaks.size):
        now = columns.slots[j]
        present = columns.order[offsets[j] : offsets[j + 1]]
        n_kept = 0
        for i in present:
            n_kept += _is_kept(i, columns)
        is_anew = n_kept < n_lasting or now + horizon > reach
        if is_anew:
            reach = now + horizon + horizon // 4
            sums[now : reach + 1] = 0.0
        n_lasting = 0
        for i in present:
            n_lasting += i + 1 < task.size and task[i + 1] == task[i]
            if is_anew or not _is_kept(i, columns):
                # Run by run: a task that leaves and returns is still one of those that are here now.
                k = i + 1
                while k < task.size and task[k] == task[i] and slot[k] <= reach:
                    last = min(columns.run_ends[k], k + reach - slot[k])
                    add_run(columns.usage[k : last + 1], columns.limit[i], 1.0, sums[slot[k] :])
                    k = last + 1
        ahead = sums[now + 1 : now + 1 + horizon]
        for k in range(horizon):
            above[k] = ahead[k]
        peaks[j] = _folded(above, False)
        for p in range(predictions.shape[0]):
            # Most predictions are never exceeded: their slots need not be looked at one by one.
            if peaks[j] * (1 - SLACK) > predictions[p, j]:
                over[p, j] = _exceeded(ahead, predictions[p, j], above)
                excess[p, j] = _folded(above, True)


def oracle(samples: Samples, horizon: int, n_slots: int) -> Numbers:
    """Return the peak over (t, t + horizon] of the tasks present in each slot t: float64 (judged slots,).

    Tasks that come later do not count, those that leave and return do.  Each counts at most its limit of slot t.

    Parameters
    ----------
    samples
        Of a machine.
    horizon
        Slots to come.
    n_slots
        Slots of the trace; slots whose horizon is longer have no peak.
    """
    return judge(samples, horizon, n_slots, np.empty((0, len(samples.slots))))[0]


def judge(
    samples: Samples, horizon: int, n_slots: int, predictions: Numbers
) -> tuple[Numbers, Index, Numbers]:
    """Return the oracle's peaks, and by how many slots of the horizon, and how much, predictions are exceeded.

    Parameters
    ----------
    samples, horizon, n_slots
        As for :func:`oracle`.
    predictions
        float64 (policies, m): predicted peak of each slot.

    Returns
    -------
    tuple
        Peaks, float64 (judged slots,); slots whose sum exceeds the prediction, int64 (policies, judged slots); and
        the sum of what exceeds it, float64 of that shape.
    """
    judged = int(np.searchsorted(samples.slots, n_slots - horizon))
    peaks = np.empty(judged)
    over = np.zeros((len(predictions), judged), np.int64)
    excess = np.zeros((len(predictions), judged))
    sums = np.zeros(samples.slots.max(initial=0) + 2 * horizon + 1)
    above = np.empty(horizon)
    _judge(samples.columns, sums, above, np.ascontiguousarray(predictions), peaks, over, excess)
    return peaks, over, excess
