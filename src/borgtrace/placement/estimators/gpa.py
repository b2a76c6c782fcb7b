"""Gaussian Percentile Approximation: the sum of the tasks on a machine is taken as Gaussian."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from borgtrace.kernels.arrays import Numbers
from borgtrace.kernels.gaussian import fit_bin
from borgtrace.placement.estimators.estimator import TargetEstimator
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.types import Row, room_above, slack_kernel, sum_with

_MEAN, _VARIANCE = range(2)


@slack_kernel
def gaussian_slack(
    state: Row,
    item: Row,
    capacity: Row,
    parameters: Row,
) -> float:
    """Return the paper's FitBin, ρ − (1 − Φ((c − μ) / σ)), of the machine with the item; rows are μ, σ²."""
    # The order of subtractions is that of the fast kernels, which must agree to the last bit.
    room = room_above(
        state,
        item,
        _MEAN,
        capacity[0],
    )
    variance = sum_with(state, item, _VARIANCE)
    return fit_bin(room, variance, parameters[0])


class Gpa(TargetEstimator):
    """Gaussian Percentile Approximation (Janus & Rzadca, SoCC'17, Algorithm 1).

    Tasks fit a machine of capacity c if a Gaussian with the sum of their means and the sum of their variances
    exceeds c with a probability of at most ρ.  Not for machines with fewer than about ten tasks, nor for
    targets below .01 where skew matters: there the true overflow is higher than ρ.

    Where it is wrong
    -----------------
    Sums are skewed: at ρ = .001 q is 1.19 ρ on the pool and 20.5 ρ on the heavier tail. On Pareto tails of index 3,
    2.5, 2 and 1.5 q is 11, 13, 17 and 25 ρ at ρ = .001, and 2.2 to 3.9 ρ at .01. Two tasks that take .6 in a tenth of
    the draws and .1 else exceed a machine in 1 % of them; it says 0.05 %. Tasks that all peak at the same moments
    overflow in 19 %.

    Examples
    --------
    >>> fits = Gpa(0.05).slack
    >>> fits(np.array([0.5, 0.04]), np.array([0.1, 0.0]), np.ones(1), np.array([0.05])) > 0  # Φ(2) = .977
    True
    """

    name = "gpa"
    about = (
        "Gaussian tail of the summed means and variances is at most ρ; "
        "on Pareto tails q is 11 to 25 ρ at .001"
    )
    paper: ClassVar[tuple[float, ...]] = (0.1, 0.05, 0.01, 0.001)
    predicts = True
    slack = staticmethod(gaussian_slack)

    def items(self, observed: Observation, capacity: float) -> Numbers:
        """Return mean and variance of each task."""
        return np.column_stack([observed.mean, observed.variance])
