"""Policies that predict each task by itself and add up the predictions."""

from abc import abstractmethod
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.overcommit.block import MachineBlock, Samples, continues_run
from borgtrace.overcommit.moments import decayed_moments
from borgtrace.overcommit.policies.policy import (
    HISTORY,
    WARMUP,
    HistoryPolicy,
    PeakPolicy,
    Prediction,
    is_warm,
)
from borgtrace.overcommit.rolling import moving_maximum, rolling_percentile
from borgtrace.overcommit.rule import Amount, Percentile, Slots

EVER = 2**31
"""A history without an end, in slots."""


class TaskPolicy(PeakPolicy):
    """Base of the policies that add up predictions of tasks; a cold task counts its limit."""

    def predict(self, block: MachineBlock) -> Prediction:
        """Return the sum over the present tasks."""
        known = block.known
        values, warm = self.of_each(known)
        peak = block.spread(known.sums(values)) + block.unmeasured
        return Prediction(peak, int((~warm).sum()))

    def of_each(self, samples: Samples) -> tuple[Numbers, Flags]:
        """Return what counts for the task of each sample, and whether enough is known of it to predict that: (n,)."""
        warm = self.is_warm(samples)
        return np.where(warm, self.of_tasks(samples), samples.limit), warm

    @abstractmethod
    def is_warm(self, samples: Samples) -> Flags:
        """Return for each sample whether enough is known of its task: bool (n,)."""

    @abstractmethod
    def of_tasks(self, samples: Samples) -> Numbers:
        """Return for each sample what its task is predicted to use at most: float64 (n,)."""


@dataclass(frozen=True)
class WholeHistoryPolicy(TaskPolicy):
    """Base of the policies over all that was seen of a task.

    Attributes
    ----------
    warmup
        Samples that a task needs.
    """

    warmup: Slots = 24

    def is_warm(self, samples: Samples) -> Flags:
        """Count all samples of the task so far."""
        return is_warm(samples, EVER, self.warmup)


@dataclass(frozen=True)
class Highest(WholeHistoryPolicy):
    """Σ of the highest usage ever seen of each task."""

    name = "max"
    about = "the sum of each task's highest usage so far"

    def of_tasks(self, samples: Samples) -> Numbers:
        """Return the running maximum."""
        return moving_maximum(
            samples.task,
            samples.slot,
            samples.usage,
            EVER,
        )


@dataclass(frozen=True)
class AveragePolicy(WholeHistoryPolicy):
    """Σ of the mean of all that was seen of each task."""

    name = "average"
    about = "the sum of each task's mean usage so far"

    def of_tasks(self, samples: Samples) -> Numbers:
        """Return the running mean."""
        is_known = np.ones(len(samples), np.bool_)
        moments = decayed_moments(
            samples.task,
            samples.slot,
            samples.usage,
            is_known,
            np.inf,
        )
        return moments.mean


@dataclass(frozen=True)
class TaskPercentile(HistoryPolicy, TaskPolicy):
    """Σ P_q(U/L over the last samples) · L(now), the per-task percentile of Google's simulator.

    Attributes
    ----------
    q
        Percentile, linear between values.
    history, warmup
        Slots of the past that count, and samples in them that a task needs.
    """

    q: Percentile = 99.0
    history: Slots = HISTORY
    warmup: Slots = WARMUP

    literal = MappingProxyType({"warmup": HISTORY})
    name = "task-percentile"
    about = "the sum over tasks of a percentile of usage ÷ limit, times the limit now"

    def of_tasks(self, samples: Samples) -> Numbers:
        """Return the percentile of the ratios, times the limit."""
        n = len(samples)
        # A limit of zero has no ratio: Google's simulator takes 0.
        has_limit = samples.limit > 0
        ratio = np.divide(
            samples.usage,
            samples.limit,
            out=np.zeros(n),
            where=has_limit,
        )
        percentile = np.empty(n)
        window = np.empty(n)
        low = samples.low(self.history)
        rolling_percentile(
            low,
            ratio,
            self.q / 100,
            window,
            percentile,
        )
        return percentile * samples.limit


@dataclass(frozen=True)
class Reservation(WholeHistoryPolicy):
    """Σ of each task's reservation: its limit for a slot, then decaying to usage × (1 + margin), rising to it at once.

    Decay rate and margin of Borg are not published (Verma et al., EuroSys'15, §5.5): both are parameters.

    Attributes
    ----------
    warmup
        Samples before the reservation may sink.
    margin
        Above the usage, as a share of it.
    half_life
        Slots in which the distance to usage and margin halves.
    """

    warmup: Slots = 1
    margin: Amount = 0.2
    half_life: Slots = 12

    name = "reservation"
    about = "the sum of reservations as in Borg: the limit, decaying toward usage plus a margin, up at once"

    def of_tasks(self, samples: Samples) -> Numbers:
        """Return each task's reservation after each sample."""
        return reservations(
            samples.task,
            samples.slot,
            samples.usage,
            samples.limit,
            self.margin,
            self.half_life,
        )


@compiled()
def reservations(
    task: Index,
    slot: Index,
    usage: Numbers,
    limit: Numbers,
    margin: float,
    half_life: int,
) -> Numbers:
    """Return the reservation of each task at the end of each of its slots, at most the limit: float64 (n,).

    After a gap a task starts over from its limit, as when it is new.

    Parameters
    ----------
    task, slot, usage, limit
        Of :class:`borgtrace.overcommit.block.Samples`.
    margin, half_life
        As for :class:`Reservation`.
    """
    out = np.empty(task.size)
    decay = 0.5 ** (1.0 / half_life)
    for i in range(task.size):
        before = out[i - 1] if continues_run(task, slot, i) else limit[i]
        target = usage[i] * (1.0 + margin)
        decayed = target + (before - target) * decay
        out[i] = min(limit[i], max(target, decayed))
    return out
