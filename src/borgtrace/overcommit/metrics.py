"""How well predictions would have done on one machine: sums that add up over machines."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.overcommit.block import Block, Columns
from borgtrace.overcommit.oracle import SLACK, judge
from borgtrace.overcommit.policies import Prediction

SEVERITIES = 1000
"""Severities are counted to a thousandth."""
CHANGE = 0.05
"""A prediction that moves by more has changed."""
_COUNTS = ("instants", "violations", "limited", "clipped", "pairs", "changes", "over", "samples", "cold", "kills")
_SUMS = ("severity", "saved", "limit", "peak", "overload", "excess")
SCORE = np.dtype([*((n, "i8") for n in _COUNTS), *((n, "f8") for n in _SUMS), ("severities", "i8", (SEVERITIES + 1,))])
"""Of one machine and policy.  Instants are judged slots; ``limited`` those with a limit above 0; ``saved`` is
Σ (L − P)/L over them; ``pairs`` are neighboring slots; ``overload`` is Σ of the share of the horizon above P; ``over``
counts slots above P where the capacity is known, and ``excess`` sums what is above as a share of it; ``samples`` and
``cold`` count measured tasks in slots, judged or not."""


def scores(block: Block, horizon: int, predictions: Sequence[Prediction]) -> npt.NDArray[np.void]:
    """Judge predictions on one machine.

    Parameters
    ----------
    block
        The machine.
    horizon
        Slots to come whose peak is predicted.  Slots with a shorter rest of the trace are not judged.
    predictions
        Of each policy.

    Returns
    -------
    ndarray
        `SCORE` of shape (policies,).
    """
    peaks = np.stack([each.peak for each in predictions])
    found, over, excess = judge(block.all, horizon, block.n_slots, peaks)
    n = len(found)
    limits, capacity = block.limits[:n], block.capacity[:n]
    has_capacity = capacity > 0
    adjoin = np.diff(block.all.slots[:n]) == 1
    out = np.zeros(len(predictions), SCORE)
    out["instants"], out["limited"], out["limit"] = n, (limits > 0).sum(), limits.sum()
    out["samples"], out["pairs"] = len(block.known), adjoin.sum()
    for score, each, slots, above in zip(out, predictions, over, excess, strict=True):
        peak = each.peak[:n]
        short = is_short(found, peak)
        severity = np.where(short, (found - peak) / np.where(short, found, 1.0), 0.0)
        score["violations"], score["severity"] = short.sum(), severity.sum()
        score["severities"] = np.bincount(np.ceil(severity * SEVERITIES).astype(int), minlength=SEVERITIES + 1)
        limited = limits > 0
        score["saved"] = ((limits - peak)[limited] / limits[limited]).sum()
        score["peak"], score["clipped"] = peak.sum(), (peak >= limits * (1 - SLACK)).sum()
        moved = np.abs(np.diff(peak)) > CHANGE * peak[:-1]
        score["changes"] = (moved & adjoin).sum()
        score["overload"] = slots.sum() / horizon
        score["over"] = slots[has_capacity].sum()
        score["excess"] = (above[has_capacity] / capacity[has_capacity]).sum()
        score["cold"] = each.n_cold
        # CPU is throttled where usage exceeds the prediction; memory cannot be taken back.
        if block.resource == "memory":
            score["kills"] = kills(block.all.columns, block.priority, peak)
    return out


def is_short(peaks: Numbers, promised: Numbers) -> Flags:
    """Return where a prediction is below the peak that came, by more than sums are rounded."""
    return np.asarray(peaks * (1 - SLACK) > promised)


@compiled()
def kills(columns: Columns, priority: Index, peak: Numbers) -> int:
    """Return how many tasks die of memory in the slot after each judged one, were the machine filled to its prediction.

    Where the tasks of a slot use more than predicted in the next one, the fewest are killed that make the rest fit:
    of the lowest priority first, of one priority the largest first.  A task that is killed is there again in the next
    slot, for the trace goes on as it was.

    Parameters
    ----------
    columns, priority
        Of the samples of a machine.
    peak
        Prediction of each judged slot.
    """
    task, slot, usage, offsets = columns.task, columns.slot, columns.usage, columns.offsets
    killed = 0
    for j in range(peak.size):
        present, total = columns.order[offsets[j] : offsets[j + 1]], 0.0
        for i in present:
            if _goes_on(i, task, slot):
                total += usage[i + 1]
        excess = total * (1 - SLACK) - peak[j]
        # Most slots fit: nothing is made for them.
        if excess > 0:
            killed += _deaths(present, columns, priority, excess)
    return killed


@compiled(inline=True)
def _goes_on(i: int, task: Index, slot: Index) -> bool:
    """Whether a task is on the machine in the slot after sample i too."""
    return i + 1 < task.size and task[i + 1] == task[i] and slot[i + 1] == slot[i] + 1


@compiled()
def _deaths(present: Index, columns: Columns, priority: Index, excess: float) -> int:
    """Return how many tasks die, the lowest priority and of it the largest first, until an excess is gone."""
    usage = columns.usage
    later = np.array([i + 1 for i in present if _goes_on(i, columns.task, columns.slot)])
    largest = later[np.argsort(-usage[later], kind="mergesort")]
    ordered = largest[np.argsort(priority[largest], kind="mergesort")]
    deaths = 0
    while excess > 0 and deaths < ordered.size:
        excess -= usage[ordered[deaths]]
        deaths += 1
    return deaths
