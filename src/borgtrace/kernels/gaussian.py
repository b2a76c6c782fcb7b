"""The Gaussian approximation of a sum of independent tasks: its tail above a capacity, and its quantile."""

import math

import numpy as np

from borgtrace.kernels.arrays import Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.normal import normal_score


@compiled(inline=True)
def gaussian_tail(room: float, variance: float) -> float:
    """Return P(sum > capacity) for a variance above 0; `room` is the capacity less the mean.

    Examples
    --------
    >>> gaussian_tail(0.0, 1.0)
    0.5
    """
    # erfc, not 1 − Φ: the calibrated GPA has targets down to 1e-16, where that difference keeps no digit.
    return 0.5 * math.erfc(room / math.sqrt(2 * variance))


@compiled(inline=True)
def fit_bin(room: float, variance: float, target: float) -> float:
    """Return the paper's FitBin, ρ − (1 − Φ((c − μ) / σ)); a sum without variance fits or does not.

    Parameters
    ----------
    room
        c − μ, in capacity units.
    variance
        σ² of the sum.
    target
        ρ: tolerated probability of overflow.

    Examples
    --------
    Constant tasks may fill a machine exactly:

    >>> fit_bin(0.0, 0.0, 0.25), fit_bin(-0.5, 0.0, 0.25)
    (0.25, -0.75)
    """
    # Constant tasks: Φ is a step, and the tail would divide 0 by 0 for a machine that is filled exactly.
    if variance <= 0:
        return target if room >= 0 else target - 1
    return target - gaussian_tail(room, variance)


def gaussian_quantile(mean: Numbers, variance: Numbers, rho: float) -> Numbers:
    """Return what sums with these moments exceed with probability `rho`: the capacity at which FitBin is 0.

    Parameters
    ----------
    mean, variance
        Moments of each sum, of one shape.
    rho
        Tolerated probability of overflow.

    Examples
    --------
    >>> gaussian_quantile(np.array([1.0]), np.array([4.0]), 0.5)
    array([1.])
    """
    return mean - normal_score(rho) * np.sqrt(variance)
