"""What the tasks of now will use together in the slots to come: the peak that policies are judged by."""

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.overcommit.block import Columns, Samples

SLACK = 1e-9
"""A sum of many tasks is rounded: what exceeds a prediction by less is no violation."""


@compiled(makes_arrays=False)
def _add_capped(run: Numbers, cap: float, sums: Numbers) -> None:
    """Add values to the first of some sums, each at most a cap.

    A function of its own, and over slices: only then does the compiler make vectors of it (seven times faster).
    """
    for k in range(run.size):
        sums[k] += min(run[k], cap)


@compiled(inline=True)
def _future(present: Index, columns: Columns, sums: Numbers) -> None:
    """Add up what the present tasks use in each of the slots to come, each at most its limit of now."""
    task, slot, usage, ends = columns.task, columns.slot, columns.usage, columns.run_ends
    sums[:] = 0.0
    for i in present:
        # Run by run: a task that leaves and returns is still one of those that are here now.
        first, end = i + 1, slot[i] + sums.size
        while first < task.size and task[first] == task[i] and slot[first] <= end:
            last = min(ends[first], first + end - slot[first])
            _add_capped(usage[first : last + 1], columns.limit[i], sums[slot[first] - slot[i] - 1 :])
            first = last + 1


@compiled()
def _judge(columns: Columns, horizon: int, predictions: Numbers, peaks: Numbers, over: Index, excess: Numbers) -> None:
    sums, offsets = np.empty(horizon), columns.offsets
    for j in range(peaks.size):
        _future(columns.order[offsets[j] : offsets[j + 1]], columns, sums)
        peaks[j] = sums.max()
        for p in range(predictions.shape[0]):
            bound = predictions[p, j]
            # Most predictions are never exceeded: their slots need not be looked at one by one.
            if peaks[j] * (1 - SLACK) <= bound:
                continue
            for value in sums:
                if value * (1 - SLACK) > bound:
                    over[p, j] += 1
                    excess[p, j] += value - bound


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


def judge(samples: Samples, horizon: int, n_slots: int, predictions: Numbers) -> tuple[Numbers, Index, Numbers]:
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
    _judge(samples.columns, horizon, np.ascontiguousarray(predictions), peaks, over, excess)
    return peaks, over, excess
