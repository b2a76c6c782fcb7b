"""Intervals of a measured share of overflows: over instances, and over the days of one series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from borgtrace.colocation.tasks.pool import SLOT
from borgtrace.colocation.tasks.streams import BLOCKS
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.incomplete import student_quantile
from borgtrace.kernels.normal import normal_probability
from borgtrace.question.promises import keeps

LEVEL = 0.975
"""Upper end of a two-sided interval of 95 %."""
RULE_OF_THREE = 3.0
"""None seen in n trials: with 95 % confidence the share is below 3 ÷ n (e⁻³ = .05)."""
RESAMPLES = 1_000
BLOCK_HOURS = (24, 12, 6, 3, 1)
"""Lengths of blocks; the first that leaves enough is taken: usage has a daily rhythm, what tasks share lasts hours."""
LEAST_BLOCKS = 5
"""With fewer, an interval covers the truth far less often than it claims."""


@dataclass(frozen=True)
class ConfidenceInterval:
    """A number with its 95 % interval; without ends where there is too little data for one."""

    value: float
    low: float | None = None
    high: float | None = None

    def keeps(self, target: float) -> bool:
        """Whether even its upper end is at most `target`; without one nothing is known to be kept."""
        return keeps(self.high, target)


def over_instances(values: Sequence[float] | Numbers, least: float = -np.inf) -> ConfidenceInterval:
    """Mean of independent values, with Student's t; a single one has no interval.

    Parameters
    ----------
    values
        One value per instance.
    least
        Smallest possible value: a symmetric interval around a small share would reach below 0.

    Examples
    --------
    >>> mean = over_instances([1.0, 3.0])  # the standard error is √2 ÷ √2, and t of one degree of freedom 12.7
    >>> round(mean.low, 1), mean.value, round(mean.high, 1)
    (-10.7, 2.0, 14.7)
    """
    array = np.asarray(values, np.float64)
    n = len(array)
    mean = float(array.mean())
    if n < 2:
        return ConfidenceInterval(mean)
    student = student_quantile(n - 1, LEVEL)
    half = student * float(array.std(ddof=1)) / n**0.5
    return ConfidenceInterval(mean, max(mean - half, least), mean + half)


def share_over_instances(
    overflows: Sequence[int],
    trials: Sequence[int],
    target: float,
) -> ConfidenceInterval:
    """Share of overflows on independent draws, instance by instance.

    Parameters
    ----------
    overflows, trials
        Pairs of machine and draw of each instance: those with an overflow, and all.
    target
        What the share is compared with: too few trials to see it three times say nothing.

    Examples
    --------
    >>> share_over_instances([0, 0], [2000, 4000], 0.001)
    ConfidenceInterval(value=0.0, low=0.0, high=0.0005)
    >>> share_over_instances([0, 0], [1000, 1000], 0.001)
    ConfidenceInterval(value=0.0, low=None, high=None)
    """
    shares = []
    for n_overflows, n_trials in zip(overflows, trials, strict=True):
        shares.append(n_overflows / max(n_trials, 1))
    if sum(trials) < RULE_OF_THREE / target:
        return ConfidenceInterval(float(np.mean(shares)))
    if not any(overflows):
        return ConfidenceInterval(0.0, 0.0, RULE_OF_THREE / sum(trials))
    return over_instances(shares, least=0.0)


@dataclass(frozen=True, eq=False)
class SeriesBlocks:
    """Series that are cut into blocks, which are resampled with all their machines.

    All instances share one clock: when the whole cell is busy they all are, so only other days are new evidence.  An
    interval over fifty instances would cover the truth 13 % of the time.

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
    def of(cls, slots: Sequence[int], seed: int = 0) -> SeriesBlocks:
        """Cut series into the longest blocks of which there are five.

        Parameters
        ----------
        slots
            Length of each series.
        seed
            Seed of the resampling.

        Examples
        --------
        >>> blocks = SeriesBlocks.of([6 * 288 + 100])  # six days and a third
        >>> blocks.hours, blocks.lengths[0].tolist()
        (24, [305, 305, 305, 305, 304, 304])
        >>> SeriesBlocks.of([24, 24]).hours
        0
        """
        for hours in BLOCK_HOURS:
            block_length = hours * 3600 // SLOT
            n_blocks = [length // block_length for length in slots]
            if sum(n_blocks) >= LEAST_BLOCKS and min(n_blocks) > 0:
                pairs = zip(slots, n_blocks, strict=True)
                return cls(hours, tuple(_lengths(length, n) for length, n in pairs), seed)
        return cls(0, tuple(_lengths(length, 1) for length in slots), seed)

    @property
    def n(self) -> int:
        """Number of blocks."""
        return sum(map(len, self.lengths))

    @cached_property
    def times(self) -> Numbers:
        """How often each block is drawn in each resample, float64 (RESAMPLES, n)."""
        rng = np.random.default_rng([self.seed, BLOCKS])
        equal_shares = np.full(self.n, 1 / self.n)
        return rng.multinomial(self.n, equal_shares, RESAMPLES).astype(np.float64)

    def interval(self, value: float, resampled: Numbers) -> ConfidenceInterval:
        """Give a value the interval between two percentiles of its resamples.

        Parameters
        ----------
        value
            Of the blocks themselves.
        resampled
            float64 (RESAMPLES,).
        """
        if not self.hours:
            return ConfidenceInterval(value)
        # Plain percentiles are too narrow for few blocks: by √(n ÷ (n − 1)), and by Gauss instead of Student
        # (Hesterberg, The American Statistician 69 (2015), §4: expanded percentile intervals).
        student = student_quantile(self.n - 1, LEVEL)
        wide = (self.n / (self.n - 1)) ** 0.5 * student
        levels = normal_probability([-wide, wide])
        low, high = np.quantile(resampled, levels)
        return ConfidenceInterval(value, float(low), float(high))

    def share(
        self,
        overflows: Index,
        trials: Index,
        target: float,
        distinct: float = 1.0,
    ) -> ConfidenceInterval:
        """Share of overflows on simultaneous series.

        Parameters
        ----------
        overflows, trials
            int64 (n,): pairs of machine and slot in each block, of all instances together.
        target
            What the share is compared with.
        distinct
            Share of the trials with tasks of their own: instances that share tasks see the same overflows.

        Examples
        --------
        >>> days = SeriesBlocks.of([5 * 288])
        >>> days.share(np.zeros(5, np.int64), np.full(5, 2400), 0.001, distinct=0.5)
        ConfidenceInterval(value=0.0, low=0.0, high=0.0005)
        """
        value = float(overflows.sum() / max(trials.sum(), 1))
        n_distinct = float(trials.sum()) * distinct
        if n_distinct < RULE_OF_THREE / target:
            return ConfidenceInterval(value)
        if self.hours and not overflows.any():
            return ConfidenceInterval(0.0, 0.0, RULE_OF_THREE / n_distinct)
        resampled_overflows = self.times @ overflows
        resampled_trials = np.maximum(self.times @ trials, 1)
        return self.interval(value, resampled_overflows / resampled_trials)


def _lengths(slots: int, number: int) -> Index:
    """Return the lengths of `number` pieces of a series, which differ by at most one."""
    pieces = np.array_split(np.arange(slots), number)
    return np.array([len(piece) for piece in pieces], np.int64)
