"""Policies that predict every task for itself and add up."""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.overcommit.block import Block, Samples
from borgtrace.overcommit.policies.gaussian import decayed_moments
from borgtrace.overcommit.policies.policy import Policy, Prediction, is_warm

EVER = 2**31
"""A history without an end, in slots."""


class TaskPolicy(Policy):
    """Base of the policies that add up predictions of tasks; a cold task counts its limit."""

    def predict(self, block: Block) -> Prediction:
        """Return the sum over the present tasks."""
        values, warm = self.of_each(block.known)
        return Prediction(
            block.spread(block.known.sums(values)) + block.unmeasured, int((~warm).sum())
        )

    def of_each(self, samples: Samples) -> tuple[Numbers, Flags]:
        """Return for each sample what counts for its task, and whether enough is known of it to predict that: (n,)."""
        warm = self.is_warm(samples)
        return np.where(warm, self.of_tasks(samples), samples.limit), warm

    @abstractmethod
    def is_warm(self, samples: Samples) -> Flags:
        """Return for each sample whether enough is known of its task: bool (n,)."""

    @abstractmethod
    def of_tasks(self, samples: Samples) -> Numbers:
        """Return for each sample what its task is predicted to use at most: float64 (n,)."""


@dataclass(frozen=True)
class Ever(TaskPolicy):
    """Base of the policies over all that was seen of a task.

    Attributes
    ----------
    warmup
        Samples that a task needs.
    """

    warmup: int = 24

    def is_warm(self, samples: Samples) -> Flags:
        """Count all samples of the task so far."""
        return is_warm(samples, EVER, self.warmup)


@dataclass(frozen=True)
class Highest(Ever):
    """Σ of the highest usage ever seen of each task."""

    name = "max"
    about = "the sum of each task's highest usage so far"

    def of_tasks(self, samples: Samples) -> Numbers:
        """Return the running maximum."""
        return moving_maximum(samples.task, samples.slot, samples.usage, EVER)


@dataclass(frozen=True)
class Average(Ever):
    """Σ of the mean of all that was seen of each task."""

    name = "average"
    about = "the sum of each task's mean usage so far"

    def of_tasks(self, samples: Samples) -> Numbers:
        """Return the running mean."""
        known = np.ones(len(samples), np.bool_)
        return decayed_moments(samples.task, samples.slot, samples.usage, known, np.inf)[2]


@dataclass(frozen=True)
class TaskPercentile(TaskPolicy):
    """Σ P_q(U/L over the last samples) · L(now), the per-task percentile of Google's simulator.

    Attributes
    ----------
    q
        Percentile, linear between values.
    history, warmup
        Slots that are looked back on, and samples in them that a task needs.
    """

    q: float = 99.0
    history: int = 24
    warmup: int = 24

    name = "task-percentile"
    about = "the sum over tasks of a percentile of usage ÷ limit, times the limit now"

    def is_warm(self, samples: Samples) -> Flags:
        """Count the samples in the history."""
        return is_warm(samples, self.history, self.warmup)

    def of_tasks(self, samples: Samples) -> Numbers:
        """Return the percentile of the ratios, times the limit."""
        # A limit of zero has no ratio: Google's simulator takes 0.
        ratio = np.divide(
            samples.usage, samples.limit, out=np.zeros(len(samples)), where=samples.limit > 0
        )
        out = np.empty(len(samples))
        rolling_percentile(
            samples.low(self.history), ratio, self.q / 100, np.empty(len(samples)), out
        )
        return out * samples.limit


@compiled()
def moving_maximum(owner: Index, slot: Index, value: Numbers, length: int) -> Numbers:
    """Return the largest value of each owner's last `length` slots, that of the sample included."""
    out = np.empty(owner.size)
    # Candidates, oldest first, each larger than all after it: a sample enters and leaves once.
    kept = np.empty(owner.size, np.int64)
    first = 0
    last = 0
    for i in range(owner.size):
        if i == 0 or owner[i] != owner[i - 1]:
            first = last
        while last > first and value[kept[last - 1]] <= value[i]:
            last -= 1
        kept[last] = i
        last += 1
        while slot[kept[first]] <= slot[i] - length:
            first += 1
        out[i] = value[kept[first]]
    return out


@compiled()
def percentile_of(values: Numbers, share: float) -> float:
    """Return the percentile of some values, linear between them as NumPy's; they are sorted if it is not near 100."""
    if (values.size - 1) * share < values.size - 2:
        values.sort()
        return _read(values, values.size, share)
    first = -np.inf
    second = -np.inf
    for value in values:
        first, second = max(first, value), max(second, min(first, value))
    return (
        second + (first - second) * ((values.size - 1) * share - (values.size - 2))
        if values.size > 1
        else first
    )


@compiled(inline=True)
def _read(values: Numbers, n: int, share: float) -> float:
    position = (n - 1) * share
    below = int(position)
    above = min(below + 1, n - 1)
    return values[below] + (values[above] - values[below]) * (position - below)


@compiled(makes_arrays=False)
def rolling_percentile(
    low: Index,
    values: Numbers,
    share: float,
    kept: Numbers,
    out: Numbers,
) -> None:
    """Write the percentile of each sample's history, from ``low[i]`` to i.

    Parameters
    ----------
    low
        First sample of each history; ascending.
    values
        Shape (n,).
    share
        Percentile ÷ 100.
    kept, out
        Room, and written to: (n,).

    Notes
    -----
    The history is kept sorted: a sample costs two searches and shifts of at most its length.  A percentile between
    the two largest values is found by looking at all.
    """
    n = 0
    first = 0
    for i in range(low.size):
        if (i - low[i]) * share >= i - low[i] - 1:
            out[i] = percentile_of(values[low[i] : i + 1], share)
            continue
        if first + n <= low[i]:
            n = 0
            first = low[i]
        while first < low[i]:
            # The oldest leaves.
            _shift_down(kept[np.searchsorted(kept[:n], values[first]) : n])
            n = n - 1
            first = first + 1
        while first + n <= i:
            at = np.searchsorted(kept[:n], values[first + n])
            _shift_up(kept[at : n + 1])
            kept[at] = values[first + n]
            n += 1
        out[i] = _read(kept, n, share)


@compiled(makes_arrays=False)
def _shift_down(values: Numbers) -> None:
    """Move all values one place down, over the first; over a slice, which the compiler makes vectors of."""
    for k in range(values.size - 1):
        values[k] = values[k + 1]


@compiled(makes_arrays=False)
def _shift_up(values: Numbers) -> None:
    """Move all values one place up, over the last."""
    for k in range(values.size - 1, 0, -1):
        values[k] = values[k - 1]


@dataclass(frozen=True)
class Reservation(Ever):
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

    warmup: int = 1
    margin: float = 0.2
    half_life: int = 12

    name = "reservation"
    about = "the sum of reservations as in Borg: the limit, decaying toward usage plus a margin, up at once"

    def of_tasks(self, samples: Samples) -> Numbers:
        """Return each task's reservation after each sample."""
        return reservations(
            samples.task, samples.slot, samples.usage, samples.limit, self.margin, self.half_life
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
    kept = 0.5 ** (1.0 / half_life)
    for i in range(task.size):
        goes_on = i > 0 and task[i] == task[i - 1] and slot[i] == slot[i - 1] + 1
        before = out[i - 1] if goes_on else limit[i]
        target = usage[i] * (1.0 + margin)
        out[i] = min(limit[i], max(target, target + (before - target) * kept))
    return out
