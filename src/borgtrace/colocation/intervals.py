"""How sure a measured share of overflows is: over instances, and over the days of one series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from borgtrace.colocation.pool import SLOT
from borgtrace.kernels.arrays import Index, Numbers

LEVEL = 0.975
"""Upper end of a two-sided interval of 95 %."""
RULE_OF_THREE = 3.0
"""None seen in n trials: with 95 % confidence the share is below 3 ÷ n (e⁻³ = .05)."""
RESAMPLES = 1_000
BLOCK_HOURS = (24, 12, 6, 3, 1)
"""Lengths of blocks; the first that leaves enough is taken: usage has a daily rhythm, what tasks share lasts hours."""
LEAST_BLOCKS = 5
"""With fewer, an interval covers the truth far less often than it says."""


@dataclass(frozen=True)
class Interval:
    """A number with its 95 % interval; without ends where there is too little to tell them."""

    value: float
    low: float | None = None
    high: float | None = None

    def keeps(self, target: float) -> bool:
        """Whether even its upper end is at most `target`; without one nothing is known to be kept."""
        # Not the value: of many ways that hover around the target, some seem to keep it by luck.
        return self.high is not None and self.high <= target


def over_instances(values: Sequence[float] | Numbers, least: float = -np.inf) -> Interval:
    """Mean of independent values, with Student's t; a single one has no interval.

    Parameters
    ----------
    values
        One value per instance.
    least
        Smallest value that is possible: a symmetric interval around a small share reaches below 0.

    Examples
    --------
    >>> found = over_instances([1.0, 3.0])  # the standard error is √2 ÷ √2, and t of one degree of freedom 12.7
    >>> round(found.low, 1), found.value, round(found.high, 1)
    (-10.7, 2.0, 14.7)
    """
    array = np.asarray(values, np.float64)
    mean = float(array.mean())
    n = len(array)
    if n < 2:
        return Interval(mean)
    half = float(special.stdtrit(n - 1, LEVEL)) * float(array.std(ddof=1)) / n**0.5
    return Interval(mean, max(mean - half, least), mean + half)


def share_over_instances(
    overflows: Sequence[int], trials: Sequence[int], target: float
) -> Interval:
    """Share of overflows on independent draws, instance by instance.

    Parameters
    ----------
    overflows, trials
        Pairs of machine and draw of each instance: those with an overflow, and all.
    target
        What the share is held against: too few trials to see it three times say nothing.

    Examples
    --------
    >>> share_over_instances([0, 0], [2000, 4000], 0.001)
    Interval(value=0.0, low=0.0, high=0.0005)
    >>> share_over_instances([0, 0], [1000, 1000], 0.001)
    Interval(value=0.0, low=None, high=None)
    """
    shares = [count / max(of, 1) for count, of in zip(overflows, trials, strict=True)]
    if sum(trials) < RULE_OF_THREE / target:
        return Interval(float(np.mean(shares)))
    if not any(overflows):
        return Interval(0.0, 0.0, RULE_OF_THREE / sum(trials))
    return over_instances(shares, least=0.0)


@dataclass(frozen=True, eq=False)
class Blocks:
    """Series that are cut into pieces, which are drawn anew with all their machines.

    All instances share one clock: when the whole cell is busy they all are, so that only other days are other evidence.
    An interval over fifty instances would cover the truth 13 % of the time.

    Attributes
    ----------
    hours
        Length of a block, at least; 0 where the series are too short for five blocks of an hour.
    lengths
        Per series, int64 (blocks,): slots of each block.
    seed
        Seed of the resampling.
    """

    hours: int
    lengths: tuple[Index, ...]
    seed: int = 0

    @classmethod
    def of(cls, slots: Sequence[int], seed: int = 0) -> Blocks:
        """Cut series of so many slots into the longest blocks of which there are five.

        Parameters
        ----------
        slots
            Length of each series.
        seed
            Seed of the resampling.

        Examples
        --------
        >>> found = Blocks.of([6 * 288 + 100])  # six days and a third
        >>> found.hours, found.lengths[0].tolist()
        (24, [305, 305, 305, 305, 304, 304])
        >>> Blocks.of([24, 24]).hours
        0
        """
        for hours in BLOCK_HOURS:
            numbers = [length // (hours * 3600 // SLOT) for length in slots]
            if sum(numbers) >= LEAST_BLOCKS and min(numbers) > 0:
                cut = [
                    _lengths(length, number) for length, number in zip(slots, numbers, strict=True)
                ]
                return cls(hours, tuple(cut), seed)
        return cls(0, tuple(_lengths(length, 1) for length in slots), seed)

    @property
    def n(self) -> int:
        """Number of blocks."""
        return sum(map(len, self.lengths))

    @cached_property
    def times(self) -> Numbers:
        """How often each block is drawn in each resample, float64 (RESAMPLES, n)."""
        rng = np.random.default_rng([self.seed, 8])
        return rng.multinomial(self.n, np.full(self.n, 1 / self.n), RESAMPLES).astype(np.float64)

    def interval(self, value: float, resampled: Numbers) -> Interval:
        """Percentiles of what the resamples say.

        Parameters
        ----------
        value
            What the blocks themselves say.
        resampled
            float64 (RESAMPLES,).
        """
        if not self.hours:
            return Interval(value)
        # Plain percentiles are too narrow for few blocks: by √(n ÷ (n − 1)), and by Gauss instead of Student
        # (Hesterberg, The American Statistician 69 (2015), §4: expanded percentile intervals).
        wide = (self.n / (self.n - 1)) ** 0.5 * float(special.stdtrit(self.n - 1, LEVEL))
        low, high = np.quantile(resampled, special.ndtr([-wide, wide]))
        return Interval(value, float(low), float(high))

    def share(
        self,
        overflows: Index,
        trials: Index,
        target: float,
        distinct: float = 1.0,
    ) -> Interval:
        """Share of overflows on simultaneous series.

        Parameters
        ----------
        overflows, trials
            int64 (n,): pairs of machine and slot in each block, of all instances together.
        target
            What the share is held against.
        distinct
            Share of the trials that are of tasks of their own: instances that share tasks see the same overflows.

        Examples
        --------
        >>> days = Blocks.of([5 * 288])
        >>> days.share(np.zeros(5, np.int64), np.full(5, 2400), 0.001, distinct=0.5)
        Interval(value=0.0, low=0.0, high=0.0005)
        """
        value = float(overflows.sum() / max(trials.sum(), 1))
        own = float(trials.sum()) * distinct
        if own < RULE_OF_THREE / target:
            return Interval(value)
        if self.hours and not overflows.any():
            return Interval(0.0, 0.0, RULE_OF_THREE / own)
        return self.interval(value, self.times @ overflows / np.maximum(self.times @ trials, 1))


def _lengths(slots: int, number: int) -> Index:
    """Lengths of `number` pieces of a series, which differ by at most one."""
    return np.array([len(piece) for piece in np.array_split(np.arange(slots), number)], np.int64)
