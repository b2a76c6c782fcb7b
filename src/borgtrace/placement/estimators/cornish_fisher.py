"""Gaussian quantile corrected for skewness and kurtosis of the sum (Cornish & Fisher)."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from borgtrace.kernels.arrays import Numbers
from borgtrace.placement.estimators.estimator import TargetEstimator
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.types import Row, slack_kernel


@slack_kernel
def cornish_fisher_slack(state: Row, item: Row, capacity: Row, parameters: Row) -> float:
    """Capacity less the corrected quantile of the sum; rows are four cumulants, `parameters` holds z of the target."""
    room = capacity[0] - state[0] - item[0]
    variance = state[1] + item[1]
    if variance <= 0:
        return room
    z, deviation = parameters[0], math.sqrt(variance)
    # Cumulants add up, shapes do not: division by σ³ and σ⁴ comes last.
    skewness = (state[2] + item[2]) / (variance * deviation)
    excess = (state[3] + item[3]) / (variance * variance)
    quantile = (
        z + (z * z - 1) * skewness / 6 + (z**3 - 3 * z) * excess / 24 - (2 * z**3 - 5 * z) * skewness * skewness / 36
    )
    return room - deviation * quantile


class CornishFisher(TargetEstimator):
    """Quantile of the sum from its first four cumulants, which add up over independent tasks.

    Reference: Cornish & Fisher, Revue de l'Institut International de Statistique 5 (1938).  Not for heavy tails:
    the expansion is no distribution once skewness passes about 1, and may then even *fall* as the target gets
    stricter.

    Examples
    --------
    >>> CornishFisher(0.001).items(Observation(np.float32([[0, 1]])), 1.0).tolist()
    [[0.5, 0.25, 0.0, -0.125]]
    """

    name = "cornish-fisher"
    about = "Gaussian quantile corrected by the third and fourth cumulant"
    slack = staticmethod(cornish_fisher_slack)

    def items(self, observed: Observation, capacity: float) -> Numbers:
        """First four cumulants of each task."""
        mean, variance, third, fourth = observed.moments[:, :4].T
        # The fourth central moment does not add up over tasks; less 3σ⁴ it does.
        return np.column_stack([mean, variance, third, fourth - 3 * variance**2])

    def parameters(self, capacity: float) -> Numbers:
        """The Gaussian quantile of the target."""
        return np.array([-ndtri(self.parameter)])
