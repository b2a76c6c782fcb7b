"""Distributions with mean one, as quantile tables over the normal score.

A usage value is ``level × shape(z)`` with z standard normal: z carries the correlation in time and
between tasks, the table the form of the distribution (a Gaussian copula).  Three families suffice
for the forms of Janus & Rzadca (SoCC'17, Fig. 4): gamma (near-zero and exponential-like), beta
(unimodal without a tail) and a mixture of two gammas (mixed).
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.incomplete import beta_quantile, gamma_probability, gamma_quantile
from borgtrace.kernels.normal import normal_probability, normal_score

Z_LIMIT = 4.5
"""Normal scores are clipped here (1 in 150,000)."""
STEPS_PER_UNIT = 32
_STEPS = int(2 * Z_LIMIT * STEPS_PER_UNIT)
GRID = np.linspace(-Z_LIMIT, Z_LIMIT, _STEPS + 1)


@dataclass(frozen=True, slots=True)
class Gamma:
    """A gamma distribution with a coefficient of variation."""

    cv: float

    def at(self, quantile: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values at cumulative probabilities, up to a factor."""
        k = self.cv**-2
        return gamma_quantile(k, quantile) / k


@dataclass(frozen=True, slots=True)
class Beta:
    """A beta distribution on [0, `top`], in units of its mean: 2 is symmetric, less leans to the left."""

    cv: float
    top: float = 2.0

    def at(self, quantile: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values at cumulative probabilities, up to a factor."""
        total = (self.top - 1.0) / self.cv**2 - 1.0
        alpha = total / self.top
        beta = total * (1.0 - 1.0 / self.top)
        share_of_top = beta_quantile(alpha, beta, quantile)
        return np.asarray(self.top * share_of_top)


@dataclass(frozen=True, slots=True)
class Mixed:
    """A low and a high mode, both gamma.

    Parameters
    ----------
    cv
        Coefficient of variation within a mode.
    low_share, low_level
        Probability of the low mode, and its level as a fraction of the high one.
    """

    cv: float
    low_share: float
    low_level: float

    def at(self, quantile: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values at cumulative probabilities, up to a factor."""
        # The quantiles of a mixture have no closed form: tabulate the distribution, finely near 0, and invert it.
        k = self.cv**-2
        x = np.concatenate([[0.0], np.geomspace(1e-6, 8.0, 6000)])
        low_level = max(self.low_level, 1e-6)
        low = gamma_probability(k, x * k / low_level)
        high = gamma_probability(k, x * k)
        probability = self.low_share * low + (1.0 - self.low_share) * high
        return np.interp(quantile, probability, x)


@dataclass(frozen=True, slots=True)
class Tabulated:
    """A distribution given by its quantiles at the normal scores :data:`GRID`."""

    values: tuple[float, ...]

    def at(self, quantile: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values at the cumulative probabilities of the grid, up to a factor."""
        return np.array(self.values)


Shape = Gamma | Beta | Mixed | Tabulated
"""The form of a distribution on [0, ∞)."""


@cache
def quantiles(shape: Shape) -> NDArray[np.float32]:
    """Return the quantiles of `shape` at the normal scores :data:`GRID`, scaled to mean one.

    Returns
    -------
    float32 array of shape (289,)

    Examples
    --------
    >>> table = quantiles(Gamma(1.0))
    >>> round(float(table[len(table) // 2]), 2)          # the median of an exponential is ln 2
    0.69
    """
    # Gamma and beta have infinite or undefined quantiles at exactly 0 and 1.
    quantile = np.clip(normal_probability(GRID), 1e-12, 1.0 - 1e-12)
    values = shape.at(quantile)
    # The mean over z, not over the grid, is scaled to 1, because a task's level is its mean CPU.
    weight = np.exp(-(GRID**2) / 2.0)
    mean = np.average(values, weights=weight)
    return (values / mean).astype(np.float32)


def normal_scores(bits: int = 12) -> NDArray[np.float32]:
    """Return 2^`bits` equally likely standard-normal values, scaled to unit variance."""
    midpoints = (np.arange(2**bits) + 0.5) / 2**bits
    z = normal_score(midpoints)
    # 4,096 midpoints lack the extreme tails and have a little less variance than 1.
    return (z / z.std()).astype(np.float32)


def maximum_scores(
    levels: int = 9,
    size: int = 256,
) -> NDArray[np.float32]:
    """Return normal scores of the largest of 1, 2, 4 … 256 seconds: shape (levels, size)."""
    u = (np.arange(size) + 0.5) / size
    # The largest of n independent values lies below z with probability Φ(z)ⁿ.
    rows = []
    for level in range(levels):
        seconds = 2**level
        rows.append(normal_score(u ** (1.0 / seconds)))
    return np.stack(rows).astype(np.float32)
