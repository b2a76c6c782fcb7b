"""Draws of blocks of jobs: how uncertain the ratio of two means over jobs is.

Jobs are heavy-tailed: a few hold most of the load, and a sample without one of them has a mean that is too low and
looks too certain.  Percentiles of drawn ratios then cover the ratio in 81 to 94 of 100 cells.  Here each draw is
divided by its own standard error (a studentized bootstrap), on the logarithm, where a ratio and its inverse are alike.
"""

from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers

BLOCKS = 100
"""Blocks of jobs, by a hash of the id: a job that two stores have is in the same block of both."""
DRAWS = 400
LEAST_BLOCKS = 10
"""Blocks that a store's jobs must be in: of fewer, draws say nothing about jobs that were not seen."""
COVERAGE = 0.95


class JobValues(NamedTuple):
    """A measure of the jobs that have one, float64 (n,), and the block of each job."""

    values: Numbers
    blocks: Index


class IntervalEnds(NamedTuple):
    """The ends of an interval, both None where too little is known."""

    low: float | None
    high: float | None


NO_INTERVAL = IntervalEnds(None, None)


class RatioDraws(NamedTuple):
    """The logarithm of a ratio of means, its standard error, and how many errors each draw is off, shape (draws,).

    Draws that hold no job of a store are NaN.
    """

    log_ratio: float
    error: float
    deviations: Numbers


class _BlockTotals(NamedTuple):
    """Sum of the values and number of the jobs of each block, shape (BLOCKS,)."""

    sums: Numbers
    counts: Numbers


class _LogRatios(NamedTuple):
    """Logarithms of ratios of means and their standard errors, shape (n,)."""

    values: Numbers
    errors: Numbers


def drawn_blocks(seed: int) -> Numbers:
    """Return how often each block is drawn, shape (draws, blocks)."""
    equal_chances = np.full(BLOCKS, 1 / BLOCKS)
    drawn = np.random.default_rng(seed).multinomial(BLOCKS, equal_chances, DRAWS)
    return drawn.astype(float)


def fill_enough_blocks(*samples: JobValues) -> bool:
    """Return whether the jobs of each sample are in enough blocks for an interval."""
    return all(len(np.unique(sample.blocks)) >= LEAST_BLOCKS for sample in samples)


def ratio_draws(reference: JobValues, sample: JobValues, drawn: Numbers) -> RatioDraws:
    """Draw the mean of `sample` over that of `reference`.

    Parameters
    ----------
    reference, sample
        Values of the jobs of two stores.
    drawn
        How often each block is drawn.
    """
    totals = _block_totals(reference), _block_totals(sample)
    # A drawn set may hold no job of a small store, or none that used anything.
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = _log_ratios(*totals, np.ones((1, BLOCKS)))
        draws = _log_ratios(*totals, drawn)
        deviations = (draws.values - whole.values) / draws.errors
    deviations[~np.isfinite(deviations)] = np.nan
    return RatioDraws(float(whole.values[0]), float(whole.errors[0]), deviations)


def ratio_interval(draws: RatioDraws) -> IntervalEnds:
    """Return the 95 % interval of a ratio of means.

    Its ends are the outer ones of two studentized intervals, the equal-tailed and the symmetric one: the first covers
    better where one store is far more skewed than the other, the second where both are skewed.

    Parameters
    ----------
    draws
        What :func:`ratio_draws` returned.
    """
    if not np.isfinite(draws.log_ratio):
        return NO_INTERVAL
    deviations = draws.deviations[np.isfinite(draws.deviations)]
    if not len(deviations):
        # Every job of both stores is the same multiple of itself: nothing is uncertain.
        ratio = float(np.exp(draws.log_ratio))
        return IntervalEnds(ratio, ratio)
    left_out = (1 - COVERAGE) / 2
    least, most = np.quantile(deviations, (left_out, 1 - left_out))
    widest = np.quantile(np.abs(deviations), COVERAGE)
    # A draw that lies below its store's ratio stands for a store that lies below the cell's.
    low = draws.log_ratio - max(most, widest) * draws.error
    high = draws.log_ratio - min(least, -widest) * draws.error
    return IntervalEnds(float(np.exp(low)), float(np.exp(high)))


def _block_totals(sample: JobValues) -> _BlockTotals:
    sums = np.bincount(sample.blocks, sample.values, BLOCKS).astype(float)
    counts = np.bincount(sample.blocks, minlength=BLOCKS).astype(float)
    return _BlockTotals(sums, counts)


def _log_ratios(reference: _BlockTotals, sample: _BlockTotals, drawn: Numbers) -> _LogRatios:
    """Return the logarithm of the mean of `sample` over that of `reference` in each draw, and its standard error."""
    reference_sums = (drawn @ reference.sums)[:, np.newaxis]
    reference_counts = (drawn @ reference.counts)[:, np.newaxis]
    sample_sums = (drawn @ sample.sums)[:, np.newaxis]
    sample_counts = (drawn @ sample.counts)[:, np.newaxis]
    log_ratios = np.log(sample_sums / sample_counts) - np.log(reference_sums / reference_counts)
    # What each block adds to the logarithm, to first order (the delta method).  Sums are subtracted from sums first,
    # so that equal stores leave exactly nothing.
    from_sums = sample.sums / sample_sums - reference.sums / reference_sums
    from_counts = sample.counts / sample_counts - reference.counts / reference_counts
    variances = (drawn * (from_sums - from_counts) ** 2).sum(axis=1)
    errors = np.sqrt(variances * BLOCKS / (BLOCKS - 1))
    return _LogRatios(log_ratios[:, 0], errors)
