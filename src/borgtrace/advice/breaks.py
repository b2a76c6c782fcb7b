"""Broken promises on a machine: runs of slots in which its tasks used more than a policy promised."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.overcommit.block import MachineBlock
from borgtrace.overcommit.measured import judged_instants
from borgtrace.overcommit.metrics import is_short
from borgtrace.overcommit.oracle import SLACK, oracle, usage_ahead
from borgtrace.overcommit.policies import Prediction

MOST = 10
"""Breaks of a machine that are returned: its worst."""
SHOWN_TASKS = 3
"""Tasks of a break that are named: those that used most at its worst moment."""
BREAK = np.dtype(
    [
        ("windows", "i8"),
        ("machine", "i8"),
        ("begin", "i8"),
        ("end", "i8"),
        ("worst", "i8"),
        ("used", "f8"),
        ("promised", "f8"),
        ("requested", "f8"),
        ("capacity", "f8"),
        ("tasks", "i8", (SHOWN_TASKS,)),
        ("usage", "f8", (SHOWN_TASKS,)),
    ]
)
"""A break.  ``windows`` are the instants after which the promise is broken, 0 where there is no break; ``begin``,
``end`` and ``worst`` are slots, the end is that after the last; ``tasks`` are positions in the store's index, −1 for
none, with their ``usage`` in the worst slot; amounts are fractions of the largest machine."""


@dataclass(frozen=True, slots=True)
class ChosenPolicy:
    """The policy in force from one slot to another, the end excluded; its place among what is replayed."""

    policy: int
    first_slot: int
    end_slot: int


@dataclass(frozen=True, slots=True)
class BrokenPromise:
    """An instant after which its tasks use more than was promised.

    Attributes
    ----------
    place
        Position of its slot among those of the machine.
    begin, end
        First slot that exceeds the promise, and the one after the last.
    worst
        The slot that exceeds it most.
    used, promised
        There, and at the instant.
    """

    place: int
    begin: int
    end: int
    worst: int
    used: float
    promised: float

    @property
    def excess(self) -> float:
        """By how much the promise is broken at the worst."""
        return self.used - self.promised


def worst_breaks(
    block: MachineBlock,
    horizon: int,
    predictions: Sequence[Prediction],
    *,
    chosen: Sequence[ChosenPolicy],
) -> npt.NDArray[np.void]:
    """Return the worst breaks of one machine: `BREAK` of shape (MOST,), the largest excess first.

    Parameters
    ----------
    block, horizon, predictions
        As for :func:`borgtrace.overcommit.metrics.scores`.
    chosen
        Which prediction is in force when.
    """
    broken = list(broken_promises(block, horizon, predictions, chosen))
    breaks = [describe(block, run) for run in runs_of(broken)]
    breaks.sort(key=lambda one: (one["promised"] - one["used"], one["begin"]))
    out = np.zeros(MOST, BREAK)
    for place, one in enumerate(breaks[:MOST]):
        out[place] = one
    return out


def broken_promises(
    block: MachineBlock,
    horizon: int,
    predictions: Sequence[Prediction],
    chosen: Sequence[ChosenPolicy],
) -> Iterator[BrokenPromise]:
    """Yield the broken promises of a machine in the order of time."""
    peaks = oracle(block, horizon)
    n = len(peaks)
    slots = block.all.slots[:n]
    promised = promised_in_force(slots, predictions, chosen)
    is_broken: Flags = is_short(peaks, promised) & judged_instants(block, horizon)
    for place in np.flatnonzero(is_broken).tolist():
        ahead = usage_ahead(block, place, horizon)
        exceeds = np.flatnonzero(ahead * (1 - SLACK) > promised[place])
        first_ahead = int(slots[place]) + 1
        worst = int(ahead.argmax())
        yield BrokenPromise(
            place=place,
            begin=first_ahead + int(exceeds[0]),
            end=first_ahead + int(exceeds[-1]) + 1,
            worst=first_ahead + worst,
            used=float(ahead[worst]),
            promised=float(promised[place]),
        )


def promised_in_force(
    slots: Index,
    predictions: Sequence[Prediction],
    chosen: Sequence[ChosenPolicy],
) -> Numbers:
    """Return what was promised in each slot; infinite where nothing is judged."""
    promised = np.full(len(slots), np.inf)
    for one in chosen:
        is_in_force: Flags = (slots >= one.first_slot) & (slots < one.end_slot)
        peak = predictions[one.policy].peak[: len(slots)]
        promised[is_in_force] = peak[is_in_force]
    return promised


def runs_of(broken: Sequence[BrokenPromise]) -> list[list[BrokenPromise]]:
    """Return broken promises together that are broken by neighboring slots."""
    runs: list[list[BrokenPromise]] = []
    end = -1
    for one in sorted(broken, key=lambda promise: promise.begin):
        if runs and one.begin <= end:
            runs[-1].append(one)
        else:
            runs.append([one])
            end = -1
        end = max(end, one.end)
    return runs


def describe(block: MachineBlock, run: Sequence[BrokenPromise]) -> npt.NDArray[np.void]:
    """Return a break: when, how much at the worst, and which tasks used most then."""
    worst = max(run, key=lambda promise: (promise.excess, -promise.place))
    out = np.zeros((), BREAK)
    out["windows"] = len(run)
    out["begin"] = run[0].begin
    out["end"] = max(promise.end for promise in run)
    out["worst"] = worst.worst
    out["used"] = worst.used
    out["promised"] = worst.promised
    out["requested"] = block.limits[worst.place]
    out["capacity"] = block.capacity[worst.place]
    out["tasks"] = -1
    # Of the tasks that the promise was made for, those that use most.
    columns = block.all.columns
    first, end = columns.offsets[worst.place : worst.place + 2]
    present = np.unique(columns.task[columns.order[first:end]])
    is_then = (columns.slot == worst.worst) & np.isin(columns.task, present)
    usage_by_task = np.bincount(columns.task[is_then], columns.usage[is_then])
    largest_first = np.argsort(-usage_by_task, kind="stable")[:SHOWN_TASKS]
    for place, task in enumerate(largest_first.tolist()):
        if usage_by_task[task] > 0:
            out["tasks"][place] = block.identity[task]
            out["usage"][place] = usage_by_task[task]
    return out
