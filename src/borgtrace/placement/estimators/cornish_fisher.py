"""Gaussian quantile corrected for the skewness and kurtosis of the sum (Cornish & Fisher)."""

import math

import numpy as np

from borgtrace.kernels.arrays import Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.normal import normal_score
from borgtrace.placement.estimators.estimator import TargetEstimator
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.types import Row, room_above, slack_kernel, sum_with

# Columns of a row: the first four cumulants, and the highest usage seen.
_MEAN, _VARIANCE, _THIRD, _FOURTH, _PEAK = range(5)


@compiled(inline=True)
def is_monotone(
    skewness: float,
    excess: float,
    z: float,
) -> bool:
    """Whether the Cornish–Fisher quantile rises everywhere between −z and z.

    Parameters
    ----------
    skewness, excess
        Of the sum: third cumulant ÷ σ³ and fourth ÷ σ⁴.
    z
        Gaussian quantile of the strictest level in use, not negative.

    Examples
    --------
    >>> is_monotone(0.5, 0.0, 3.0), is_monotone(2.0, 8.0, 3.0), is_monotone(2.0, 6.0, 3.0)
    (True, True, False)
    """
    # The derivative a·t² + b·t + c of the quantile in t; least at an end, or at its vertex where that is a minimum.
    a = excess / 8 - skewness * skewness / 6
    b = skewness / 3
    c = 1 - excess / 8 + 5 * skewness * skewness / 36
    least = a * z * z - abs(b) * z + c
    has_minimum_inside = a > 0 and abs(b) < 2 * a * z
    if has_minimum_inside:
        least = c - b * b / (4 * a)
    return least >= 0


@slack_kernel
def cornish_fisher_slack(
    state: Row,
    item: Row,
    capacity: Row,
    parameters: Row,
) -> float:
    """Return the capacity less the corrected quantile of the sum; `parameters` holds z.

    Tasks whose peaks fit always fit; where the expansion is no quantile function, only they do.
    """
    room = room_above(
        state,
        item,
        _MEAN,
        capacity[0],
    )
    variance = sum_with(state, item, _VARIANCE)
    if variance <= 0:
        return room
    z = parameters[0]
    deviation = math.sqrt(variance)
    third = sum_with(state, item, _THIRD)
    fourth = sum_with(state, item, _FOURTH)
    # Cumulants add up, shapes do not: division by σ³ and σ⁴ comes last.
    skewness = third / (variance * deviation)
    excess = fourth / (variance * variance)
    # What the peaks allow never overflows: it counts too where the quantile is laxer at a stricter target.
    room_above_peaks = room_above(
        state,
        item,
        _PEAK,
        capacity[0],
    )
    if not is_monotone(skewness, excess, abs(z)):
        return room_above_peaks
    quantile = (
        z
        + (z * z - 1) * skewness / 6
        + (z**3 - 3 * z) * excess / 24
        - (2 * z**3 - 5 * z) * skewness * skewness / 36
    )
    slack = room - deviation * quantile
    return max(slack, room_above_peaks) if slack < 0 else slack


class CornishFisher(TargetEstimator):
    """Quantile of the sum from its first four cumulants, which add up over independent tasks.

    Reference: Cornish & Fisher, Revue de l'Institut International de Statistique 5 (1938).  With skewness S and excess
    kurtosis K the expansion rises at t where t²(K/8 − S²/6) + tS/3 + 1 − K/8 + 5S²/36 ≥ 0.  Maillard ("A user's guide
    to the Cornish Fisher expansion", 2012) asks that of all t, Chernozhukov, Fernández-Val & Galichon ("Rearranging
    Edgeworth–Cornish–Fisher expansions", 2010) of the levels in use.  Here it must hold at every level from ρ to
    1 − ρ; where it does not, the estimator refuses the tasks, unless their highest usages seen fit together.

    Where it is wrong
    -----------------
    On the heavier tail it refuses most sums and goes by their peaks: q is .22 ρ at ρ = .001, for 148.4 machines where
    the exact sum needs 111.0. On the pool q is 1.05 ρ.

    Examples
    --------
    >>> CornishFisher(0.001).items(Observation(np.float32([[0, 1]])), 1.0).tolist()
    [[0.5, 0.25, 0.0, -0.125, 1.0]]
    """

    name = "cornish-fisher"
    about = "Gaussian quantile corrected by the third and fourth cumulant"
    slack = staticmethod(cornish_fisher_slack)

    def items(self, observed: Observation, capacity: float) -> Numbers:
        """Return the first four cumulants and the highest usage of each task."""
        mean, variance, third, fourth, _, peak = observed.moments.T
        # The fourth central moment does not add up over tasks; less 3σ⁴ it does.
        fourth_cumulant = fourth - 3 * variance**2
        return np.column_stack([mean, variance, third, fourth_cumulant, peak])

    def parameters(self, capacity: float) -> Numbers:
        """Return the Gaussian quantile of the target."""
        return np.array([-normal_score(self.parameter)])
