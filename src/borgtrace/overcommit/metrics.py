"""Measures of the predictions on one machine: sums that add up over machines."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.overcommit.block import MachineBlock, SampleColumns
from borgtrace.overcommit.measured import judged_instants
from borgtrace.overcommit.oracle import SLACK, Judgement, judge
from borgtrace.overcommit.policies import Prediction

SEVERITIES = 1000
"""Severities are counted to a thousandth."""
CHANGE = 0.05
"""A prediction that moves by more has changed."""
SCORE = np.dtype(
    [
        ("instants", "i8"),
        ("violations", "i8"),
        ("limited", "i8"),
        ("clipped", "i8"),
        ("pairs", "i8"),
        ("changes", "i8"),
        ("over", "i8"),
        ("samples", "i8"),
        ("cold", "i8"),
        ("kills", "i8"),
        ("judged_samples", "i8"),
        ("severity", "f8"),
        ("saved", "f8"),
        ("limit", "f8"),
        ("peak", "f8"),
        ("overload", "f8"),
        ("excess", "f8"),
        ("severities", "i8", (SEVERITIES + 1,)),
    ]
)
"""Of one machine and policy.  Instants are judged slots; ``limited`` those with a limit above 0; ``saved`` is
Σ (L − P)/L over them; ``pairs`` are neighboring slots; ``overload`` is Σ of the share of the horizon above P; ``over``
counts slots above P where the capacity is known, and ``excess`` sums what is above as a share of it; ``samples`` and
``cold`` count measured tasks in slots, judged or not, ``judged_samples`` those in judged slots, which ``kills`` are
of."""


def scores(
    block: MachineBlock,
    horizon: int,
    predictions: Sequence[Prediction],
) -> npt.NDArray[np.void]:
    """Judge predictions on one machine.

    Parameters
    ----------
    block
        The machine.
    horizon
        Slots to come whose peak is predicted.  Slots with a shorter rest of the trace are not judged, nor those of
        which too little was measured (:func:`borgtrace.overcommit.measured.judged_instants`).
    predictions
        Of each policy.

    Returns
    -------
    ndarray
        `SCORE` of shape (policies,).
    """
    predicted = np.stack([prediction.peak for prediction in predictions])
    judgement = judge(block, horizon, predicted)
    actual = judgement.peaks
    n = len(actual)
    is_judged = judged_instants(block, horizon)
    predicted = predicted[:, :n]
    limits = block.limits[:n]
    is_limited = is_judged & (limits > 0)
    is_next_slot = (np.diff(block.all.slots[:n]) == 1) & is_judged[1:] & is_judged[:-1]
    short = is_short(actual, predicted) & is_judged
    severity = _severities(actual, predicted, short)
    saved = (limits - predicted)[:, is_limited] / limits[is_limited]
    has_changed = np.abs(np.diff(predicted)) > CHANGE * predicted[:, :-1]
    out = np.zeros(len(predictions), SCORE)
    _count_instants(out, block, is_judged)
    out["limited"] = is_limited.sum()
    out["limit"] = limits[is_judged].sum()
    out["pairs"] = is_next_slot.sum()
    out["violations"] = short.sum(axis=1)
    out["severity"] = severity.sum(axis=1)
    out["severities"] = _count_severities(severity[:, is_judged])
    out["saved"] = saved.sum(axis=1)
    out["peak"] = predicted[:, is_judged].sum(axis=1)
    out["clipped"] = ((predicted >= limits * (1 - SLACK)) & is_judged).sum(axis=1)
    out["changes"] = (has_changed & is_next_slot).sum(axis=1)
    out["overload"] = judgement.over[:, is_judged].sum(axis=1) / horizon
    _score_excess(out, judgement, np.where(is_judged, block.capacity[:n], np.nan))
    out["cold"] = [prediction.n_cold for prediction in predictions]
    # CPU is throttled where usage exceeds the prediction; memory cannot be taken back.
    if block.resource == "memory":
        # Nothing exceeds infinity: no kill is counted where nothing is judged.
        room = np.where(is_judged, predicted, np.inf)
        out["kills"] = kills(block.all.columns, block.priority, block.is_known, room)
    return out


def _count_instants(
    out: npt.NDArray[np.void],
    block: MachineBlock,
    is_judged: Flags,
) -> None:
    """Count the instants that are judged, and the samples in them: the same under each policy."""
    out["instants"] = is_judged.sum()
    out["samples"] = len(block.known)
    n_known = block.all.sums(block.is_known.astype(np.float64))
    out["judged_samples"] = n_known[: len(is_judged)][is_judged].sum()


def _severities(
    actual: Numbers,
    predicted: Numbers,
    short: Flags,
) -> Numbers:
    """Return what predictions that are short lack of the actual peak, as a share of it; 0 for the others."""
    return np.where(
        short,
        (actual - predicted) / np.where(short, actual, 1.0),
        0.0,
    )


def _score_excess(
    out: npt.NDArray[np.void],
    judgement: Judgement,
    capacity: Numbers,
) -> None:
    """Write how often usage exceeds predictions, and by what share of the capacity, where that is known."""
    has_capacity = capacity > 0
    excess = judgement.excess[:, has_capacity] / capacity[has_capacity]
    out["over"] = judgement.over[:, has_capacity].sum(axis=1)
    out["excess"] = excess.sum(axis=1)


def _count_severities(severity: Numbers) -> Index:
    """Count, for each policy, severities rounded up to a thousandth: (policies, SEVERITIES + 1)."""
    n_policies = len(severity)
    n_bins = SEVERITIES + 1
    thousandths = np.ceil(severity * SEVERITIES).astype(int)
    bins = thousandths + n_bins * np.arange(n_policies)[:, None]
    counts = np.bincount(bins.ravel(), minlength=n_policies * n_bins)
    return counts.reshape(n_policies, -1)


def is_short(peaks: Numbers, promised: Numbers) -> Flags:
    """Return where a prediction is below the actual peak, by more than the rounding of sums."""
    return np.asarray(peaks * (1 - SLACK) > promised)


@compiled(makes_arrays=False)
def next_victim(
    columns: SampleColumns,
    priority: Index,
    is_known: Flags,
    present: Index,
    is_left: Flags,
) -> int:
    """Return the place in a slot of the next task to kill: of the lowest priority the largest, the first of equals.

    Parameters
    ----------
    columns, priority, is_known
        Of the samples of a machine.
    present
        The samples of the slot.
    is_left
        Which of them were not killed yet.

    Returns
    -------
    int
        −1 where none of those that are left is measured in the next slot.
    """
    victim = -1
    lowest = 0
    largest = 0.0
    for place in range(present.size):
        i = present[place]
        if not is_left[place] or columns.run_ends[i] <= i or not is_known[i + 1]:
            continue
        is_lower = priority[i + 1] < lowest
        is_larger = priority[i + 1] == lowest and columns.usage[i + 1] > largest
        if victim < 0 or is_lower or is_larger:
            victim = place
            lowest = priority[i + 1]
            largest = columns.usage[i + 1]
    return victim


@compiled()
def kills(
    columns: SampleColumns,
    priority: Index,
    is_known: Flags,
    peaks: Numbers,
) -> Index:
    """Return how many tasks are killed for memory in the slot after each judged one, on machines filled as predicted.

    Where the tasks of a slot use more than predicted in the next one, the fewest are killed that make the rest fit:
    the lowest priority first, and of one priority the largest first.  A task that is not measured in the next slot is
    never killed: nobody knows what that would free.  A killed task is there again in the next slot, for the trace goes
    on as it was.

    Parameters
    ----------
    columns, priority, is_known
        Of the samples of a machine.
    peaks
        Of each judged slot as policies predict it: (policies, judged).
    """
    usage = columns.usage
    offsets = columns.offsets
    ends = columns.run_ends
    n_killed = np.zeros(peaks.shape[0], np.int64)
    freed = np.empty(columns.order.size)
    for j in range(peaks.shape[1]):
        present = columns.order[offsets[j] : offsets[j + 1]]
        total = 0.0
        least = peaks[:, j].min()
        for i in present:
            if ends[i] > i and is_known[i + 1]:
                total += usage[i + 1]
        # Most slots fit: nobody is looked for in them.
        if total * (1 - SLACK) <= least:
            continue
        is_left = np.ones(present.size, np.bool_)
        n_freed = 0
        for p in range(n_killed.size):
            excess = total * (1 - SLACK) - peaks[p, j]
            n = 0
            while excess > 0 and n < present.size:
                if n == n_freed:
                    # Few are killed: looking for each of them takes less time than sorting all, and to compile, too.
                    victim = next_victim(columns, priority, is_known, present, is_left)
                    if victim < 0:
                        break
                    is_left[victim] = False
                    freed[n] = usage[present[victim] + 1]
                    n_freed += 1
                excess -= freed[n]
                n += 1
            n_killed[p] += n
    return n_killed
