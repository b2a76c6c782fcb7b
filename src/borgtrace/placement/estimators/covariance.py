"""GPA that knows which tasks peak together."""

from __future__ import annotations

import math

import numpy as np

from borgtrace.kernels.arrays import Numbers
from borgtrace.placement.estimators.estimator import TargetEstimator
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.types import Row, add_kernel, slack_kernel


@slack_kernel
def covariance_slack(state: Row, item: Row, capacity: Row, parameters: Row) -> float:
    """ρ less the Gaussian tail with the covariance of the machine and the item; rows are μ, Σσ², Σ cov, series.

    Covariances that add up to less than nothing are not believed: among many machines the packer would pick those whose
    tasks only seemed to take turns.
    """
    room = capacity[0] - state[0] - item[0]
    # One dot product whatever the number of tasks: the machine's series is the sum of theirs, and so are covariances.
    together = 0.0
    for t in range(3, state.size):
        together += state[t] * item[t]
    independent = state[1] + item[1]
    # Without series a row ends at three numbers, and the covariance is 0 ÷ 1.
    variance = independent + max(state[2] + 2 * together / max(state.size - 3, 1), 0.0)
    if variance <= 0:
        return parameters[0] if room >= 0 else parameters[0] - 1
    return parameters[0] - 0.5 * math.erfc(room / math.sqrt(2 * variance))


@add_kernel
def add_with_covariance(state: Row, item: Row) -> None:
    """Add means, variances and series; the covariances between the machine and the item join the third number."""
    # Before the series are added: a task has no covariance with itself, its variance is in column 1 already.
    together = 0.0
    for t in range(3, state.size):
        together += state[t] * item[t]
    state[2] += 2 * together / max(state.size - 3, 1)
    state[0] += item[0]
    state[1] += item[1]
    for t in range(3, state.size):
        state[t] += item[t]


class CovarianceGpa(TargetEstimator):
    """Gaussian approximation with Var Σ = Σσ² + 2 Σ cov, the covariances from simultaneous series.

    σ² is that of the instantaneous usage, the covariance that of the tasks' series (window averages: what
    tasks share is slow).  Without series it is GPA, and it is never laxer than GPA.  With T moments a covariance is
    known to about σσ′/√T.

    Where it is wrong
    -----------------
    Its tail is Gaussian: where nothing is shared it is gpa, whose q is 20.5 ρ on the heavier tail at ρ = .001. Where
    all tasks peak at the same moments, known to it, q is .78 ρ, for 99 machines instead of 50.
    """

    name = "gpa-covariance"
    about = "GPA with the covariances of simultaneous series"
    needs_more = True
    predicts = True
    slack = staticmethod(covariance_slack)
    add = staticmethod(add_with_covariance)

    def items(self, observed: Observation, capacity: float) -> Numbers:
        """Mean, variance, 0, and the series less its mean."""
        nothing = np.zeros((len(observed), 1))
        if observed.series is None:
            return np.column_stack([observed.mean, observed.variance, nothing])
        series = observed.series.astype(np.float64)
        # Centred here, once, so that products of series are covariances.
        return np.column_stack(
            [
                observed.mean,
                observed.variance,
                nothing,
                series - series.mean(axis=1, keepdims=True),
            ]
        )
