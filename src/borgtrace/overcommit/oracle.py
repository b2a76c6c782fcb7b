"""The oracle that policies are judged by: the peak that the present tasks will reach together."""

from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.runs import add_run
from borgtrace.overcommit.block import MachineBlock, SampleColumns
from borgtrace.overcommit.horizons import horizon_ends

SLACK = 1e-9
"""Sums of many tasks are rounded: what exceeds a prediction by less than this share is no violation."""


@compiled(makes_arrays=False)
def _fold(values: Numbers, is_sum: bool) -> float:
    """Return the sum, or the largest, of some values, by halves, which vectorizes; the values are overwritten."""
    n = values.size
    while n > 1:
        half = (n + 1) // 2
        for k in range(n - half):
            other = values[half + k]
            values[k] = values[k] + other if is_sum else max(values[k], other)
        n = half
    return values[0]


@compiled(makes_arrays=False)
def _count_exceeding(
    sums: Numbers,
    bound: float,
    above: Numbers,
) -> int:
    """Return how many sums exceed a bound, and write by how much each does; without branches, it vectorizes."""
    n = 0
    for k in range(sums.size):
        exceeds = sums[k] * (1 - SLACK) > bound
        n += exceeds
        above[k] = sums[k] - bound if exceeds else 0.0
    return n


@compiled(inline=True)
def _is_kept(i: int, columns: SampleColumns) -> bool:
    """Whether the task of a sample was there in the slot before, with the same limit."""
    if i == 0 or columns.run_ends[i - 1] < i:
        return False
    return columns.limit[i - 1] == columns.limit[i]


@compiled(makes_arrays=False)
def _judge(
    columns: SampleColumns,
    ends: Index,
    sums: Numbers,
    above: Numbers,
    predictions: Numbers,
    peaks: Numbers,
    over: Index,
    excess: Numbers,
) -> None:
    # `sums` holds, of each slot, what the tasks of now use in it.  They stay valid from slot to slot, up to `reach`,
    # until a task that will return leaves, or a limit changes: then all is added up anew, for a difference of sums
    # would not be exact.
    task = columns.task
    offsets = columns.offsets
    reach = -1
    n_lasting = 0
    for j in range(peaks.size):
        now = columns.slots[j]
        last = ends[j] - 1
        present = columns.order[offsets[j] : offsets[j + 1]]
        n_kept = 0
        for i in present:
            n_kept += _is_kept(i, columns)
        is_anew = n_kept < n_lasting or last > reach
        if is_anew:
            reach = last + (last - now) // 4
            sums[now : reach + 1] = 0.0
        n_lasting = 0
        for i in present:
            n_lasting += i + 1 < task.size and task[i + 1] == task[i]
            if is_anew or not _is_kept(i, columns):
                _add_future(columns, i, reach, sums)
        ahead = sums[now + 1 : last + 1]
        if not ahead.size:
            peaks[j] = _sum_limits(columns, present)
            continue
        scratch = above[: ahead.size]
        for k in range(ahead.size):
            scratch[k] = ahead[k]
        peaks[j] = _fold(scratch, False)
        for p in range(predictions.shape[0]):
            bound = predictions[p, j]
            # Most predictions are never exceeded: their slots need not be looked at one by one.
            if peaks[j] * (1 - SLACK) > bound:
                over[p, j] = _count_exceeding(ahead, bound, scratch)
                excess[p, j] = _fold(scratch, True)


@compiled(makes_arrays=False)
def _sum_limits(columns: SampleColumns, present: Index) -> float:
    """Return what the tasks of a slot may use: the peak of a horizon without slots."""
    limits = 0.0
    for i in present:
        limits += columns.limit[i]
    return limits


@compiled(makes_arrays=False)
def _add_future(
    columns: SampleColumns,
    i: int,
    reach: int,
    sums: Numbers,
) -> None:
    """Add what the task of a sample uses after it, up to a slot, each sample at most the limit of now.

    Run by run: a task that leaves and returns is still one of those that are here now.
    """
    task = columns.task
    slot = columns.slot
    k = i + 1
    while k < task.size and task[k] == task[i] and slot[k] <= reach:
        end = min(columns.run_ends[k], k + reach - slot[k]) + 1
        add_run(
            columns.usage[k:end],
            columns.limit[i],
            1.0,
            sums[slot[k] :],
        )
        k = end


def oracle(block: MachineBlock, horizon: int) -> Numbers:
    """Return the peak over (t, t + horizon] of the tasks present in each slot t: float64 (judged slots,).

    Tasks that come later do not count, those that leave and return do.  Each counts at most its limit of slot t.

    Parameters
    ----------
    block
        A machine.
    horizon
        Slots to come; slots whose horizon ends after the trace have no peak.
    """
    no_predictions = np.empty((0, len(block.all.slots)))
    return judge(block, horizon, no_predictions).peaks


def usage_ahead(
    block: MachineBlock,
    place: int,
    horizon: int,
) -> Numbers:
    """Return what the tasks of one slot use together in each slot of the horizon after it: float64 (slots ahead,).

    As for :func:`oracle`, tasks that come later do not count, and each counts at most its limit of the slot.

    Parameters
    ----------
    block
        A machine.
    place
        Position of the slot among the judged ones.
    horizon
        Slots to come.
    """
    columns = block.all.columns
    now = int(columns.slots[place])
    last = int(horizon_ends(block, horizon)[place]) - 1
    sums = np.zeros(int(columns.slots.max(initial=0)) + 2)
    for i in columns.order[columns.offsets[place] : columns.offsets[place + 1]]:
        _add_future(columns, i, last, sums)
    return sums[now + 1 : last + 1]


class Judgement(NamedTuple):
    """The oracle's peaks, and by how much predictions are exceeded.

    Attributes
    ----------
    peaks
        Of each judged slot: float64 (judged,).
    over
        Slots of the horizon whose sum exceeds the prediction: int64 (policies, judged).
    excess
        Sum of what exceeds it: float64 (policies, judged).
    """

    peaks: Numbers
    over: Index
    excess: Numbers


def judge(
    block: MachineBlock,
    horizon: int,
    predictions: Numbers,
) -> Judgement:
    """Return the oracle's peaks, and in how many slots of the horizon, and by how much, predictions are exceeded.

    Parameters
    ----------
    block, horizon
        As for :func:`oracle`.
    predictions
        float64 (policies, m): predicted peak of each slot.
    """
    samples = block.all
    ends = horizon_ends(block, horizon)
    n_judged = len(ends)
    longest = int((ends - samples.slots[:n_judged]).max(initial=1)) - 1
    shape = (len(predictions), n_judged)
    judgement = Judgement(
        peaks=np.empty(n_judged),
        over=np.zeros(shape, np.int64),
        excess=np.zeros(shape),
    )
    sums = np.zeros(samples.slots.max(initial=0) + 2 * longest + 1)
    above = np.empty(longest)
    _judge(
        samples.columns,
        ends,
        sums,
        above,
        np.ascontiguousarray(predictions),
        *judgement,
    )
    return judgement
