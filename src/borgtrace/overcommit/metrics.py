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
_COUNTS = (
    "instants",
    "violations",
    "limited",
    "clipped",
    "pairs",
    "changes",
    "over",
    "samples",
    "cold",
    "kills",
)
_SUMS = ("severity", "saved", "limit", "peak", "overload", "excess")
SCORE = np.dtype(
    [
        *((n, "i8") for n in _COUNTS),
        *((n, "f8") for n in _SUMS),
        ("severities", "i8", (SEVERITIES + 1,)),
    ]
)
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
    predicted = np.stack([each.peak for each in predictions])
    found, over, excess = judge(block.all, horizon, block.n_slots, predicted)
    n = len(found)
    peaks = predicted[:, :n]
    limits = block.limits[:n]
    capacity = block.capacity[:n]
    limited = limits > 0
    has_capacity = capacity > 0
    adjoin = np.diff(block.all.slots[:n]) == 1
    short = is_short(found, peaks)
    severity = np.where(short, (found - peaks) / np.where(short, found, 1.0), 0.0)
    thousandths = (
        np.ceil(severity * SEVERITIES).astype(int)
        + (SEVERITIES + 1) * np.arange(len(peaks))[:, None]
    )
    out = np.zeros(len(predictions), SCORE)
    out["instants"] = n
    out["limited"] = limited.sum()
    out["limit"] = limits.sum()
    out["samples"] = len(block.known)
    out["pairs"] = adjoin.sum()
    out["violations"] = short.sum(axis=1)
    out["severity"] = severity.sum(axis=1)
    out["severities"] = np.bincount(thousandths.ravel(), minlength=out["severities"].size).reshape(
        len(peaks), -1
    )
    out["saved"] = ((limits - peaks)[:, limited] / limits[limited]).sum(axis=1)
    out["peak"] = peaks.sum(axis=1)
    out["clipped"] = (peaks >= limits * (1 - SLACK)).sum(axis=1)
    out["changes"] = ((np.abs(np.diff(peaks)) > CHANGE * peaks[:, :-1]) & adjoin).sum(axis=1)
    out["overload"] = over.sum(axis=1) / horizon
    out["over"] = over[:, has_capacity].sum(axis=1)
    out["excess"] = (excess[:, has_capacity] / capacity[has_capacity]).sum(axis=1)
    out["cold"] = [each.n_cold for each in predictions]
    # CPU is throttled where usage exceeds the prediction; memory cannot be taken back.
    if block.resource == "memory":
        out["kills"] = kills(block.all.columns, block.priority, peaks)
    return out


def is_short(peaks: Numbers, promised: Numbers) -> Flags:
    """Return where a prediction is below the peak that came, by more than sums are rounded."""
    return np.asarray(peaks * (1 - SLACK) > promised)


@compiled()
def kills(columns: Columns, priority: Index, peaks: Numbers) -> Index:
    """Return how many tasks die of memory in the slot after each judged one, were the machine filled to its prediction.

    Where the tasks of a slot use more than predicted in the next one, the fewest are killed that make the rest fit:
    of the lowest priority first, of one priority the largest first.  A task that is killed is there again in the next
    slot, for the trace goes on as it was.

    Parameters
    ----------
    columns, priority
        Of the samples of a machine.
    peaks
        Of each judged slot as policies predict it: (policies, judged).
    """
    usage = columns.usage
    offsets = columns.offsets
    ends = columns.run_ends
    killed = np.zeros(peaks.shape[0], np.int64)
    for j in range(peaks.shape[1]):
        present = columns.order[offsets[j] : offsets[j + 1]]
        total = 0.0
        least = peaks[:, j].min()
        for i in present:
            if ends[i] > i:
                total += usage[i + 1]
        # Most slots fit: nothing is made for them.
        if total * (1 - SLACK) <= least:
            continue
        # The lowest priority first, of it the largest.
        later = np.array([i + 1 for i in present if ends[i] > i])
        later = later[np.argsort(-usage[later], kind="mergesort")]
        ordered = usage[later[np.argsort(priority[later], kind="mergesort")]]
        for p in range(killed.size):
            excess = total * (1 - SLACK) - peaks[p, j]
            deaths = 0
            while excess > 0 and deaths < ordered.size:
                excess -= ordered[deaths]
                deaths += 1
            killed[p] += deaths
    return killed
