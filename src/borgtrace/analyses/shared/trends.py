"""Does a series rise, and do two series go together: slopes and correlations with honest intervals."""

from dataclasses import dataclass

import numpy as np

from borgtrace.kernels.arrays import Numbers
from borgtrace.question import Criterion

STANDARD_ERRORS = 1.959963984540054
"""So many standard errors to either side hold 95 % of a normal law."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"


def interval_above(limit: float, published: str) -> Criterion:
    """Accept an estimate whose interval lies above `limit`."""
    return Criterion(
        published,
        f"the 95 % interval lies above {limit:g}",
        lambda interval: interval.low > limit,
    )


def interval_includes(value: float, published: str) -> Criterion:
    """Accept an estimate whose interval includes `value`."""
    return Criterion(
        published,
        f"the 95 % interval includes {value:g}",
        lambda interval: interval.low <= value <= interval.high,
    )


def slope(y: Numbers, x: Numbers, lags: int) -> Interval:
    """Return the least-squares slope of `y` on `x` with a Newey–West 95 % interval.

    Neighboring values of a load series are correlated, so the textbook interval would be far too
    narrow; Newey and West (Econometrica 55, 1987) sum the autocovariances up to `lags` with Bartlett weights.

    Parameters
    ----------
    y, x
        Series of equal length n ≥ 3, shape (n,); `x` in the unit that the slope is per.
    lags
        How many steps apart two values may still be correlated.

    Examples
    --------
    >>> x = np.arange(100.0)
    >>> round(slope(2 * x + np.sin(x), x, 5).value, 2)
    2.0
    """
    centered = x - x.mean()
    sum_of_squares = float(centered @ centered)
    estimate = float(centered @ y) / sum_of_squares
    scores = centered * (y - y.mean() - estimate * centered)
    variance = float(scores @ scores)
    for lag in range(1, min(lags, len(y) - 1) + 1):
        # Bartlett's weights keep the sum from falling below 0, except for rounding.
        weight = 1.0 - lag / (lags + 1.0)
        variance += 2.0 * weight * float(scores[lag:] @ scores[:-lag])
    half_width = STANDARD_ERRORS * np.sqrt(max(variance, 0.0)) / sum_of_squares
    return Interval(estimate, estimate - half_width, estimate + half_width)


def rank_correlation(
    x: Numbers, y: Numbers, *, block: int = 3, repetitions: int = 2000, seed: int = 0
) -> Interval:
    """Return Spearman's correlation of two series with a block-bootstrap 95 % interval.

    Blocks of `block` neighboring values are drawn together (circular block bootstrap), so that the
    dependence within a block stays.

    Parameters
    ----------
    x, y
        Series of equal length n, shape (n,), in order of time.
    block
        Values of a block: how far apart two values may still be correlated.
    repetitions
        Number of resamples.
    seed
        Seed of the random numbers.

    Examples
    --------
    >>> x = np.arange(20.0)
    >>> round(rank_correlation(x, x**2).value, 9)
    1.0
    """
    value = spearman(x, y)
    # Every resample of a constant series is constant too.
    if np.isnan(value):
        return Interval(value, value, value)
    generator = np.random.Generator(np.random.PCG64(seed))
    n = len(x)
    n_blocks = -(-n // block)
    # Blocks start anywhere and wrap round: the ends of a series are drawn as often as its middle.
    starts = generator.integers(0, n, size=(repetitions, n_blocks))
    positions = (starts[:, :, None] + np.arange(block)) % n
    resamples = positions.reshape(repetitions, -1)[:, :n]
    correlations = np.array([spearman(x[resample], y[resample]) for resample in resamples])
    # A resample may be constant: it has no correlation.
    low, high = np.nanpercentile(correlations, [2.5, 97.5])
    return Interval(value, float(low), float(high))


def ranks(values: Numbers) -> Numbers:
    """Return the ranks from 1; ties share their mean rank, as Spearman's correlation requires."""
    _, positions, n = np.unique(values, return_inverse=True, return_counts=True)
    mean_ranks = np.cumsum(n) - (n - 1) / 2
    # Importing scipy.stats for this would cost each command a second.
    return np.asarray(mean_ranks[positions])


def spearman(x: Numbers, y: Numbers) -> float:
    """Return Spearman's correlation; NaN where a series is constant."""
    ranks_x = ranks(x)
    ranks_y = ranks(y)
    spread = ranks_x.std() * ranks_y.std()
    if spread == 0:
        return float("nan")
    covariance = ((ranks_x - ranks_x.mean()) * (ranks_y - ranks_y.mean())).mean()
    return float(covariance / spread)
