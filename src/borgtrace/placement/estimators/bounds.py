"""Fit tests that can only err on the safe side (for independent tasks): Hoeffding, Bernstein, Chernoff."""

import math

import numpy as np

from borgtrace.kernels.arrays import Numbers
from borgtrace.placement.estimators.estimator import TargetEstimator
from borgtrace.placement.estimators.features import angles
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.types import Row, add_kernel, room_above, slack_kernel, sum_with

# Columns of a row; Hoeffding's has the squared range where Bernstein's has the variance and the peak.
_MEAN = 0
_SQUARED_RANGE = 1
_VARIANCE = 1
_PEAK_ABOVE_MEAN = 2


def log_of_inverse(target: float) -> Numbers:
    """Return ln(1/ρ) as parameters of a test: the logarithm once per packing, not once per test of a machine."""
    return np.array([-np.log(target)])


@slack_kernel
def hoeffding_slack(
    state: Row,
    item: Row,
    capacity: Row,
    parameters: Row,
) -> float:
    """Return the capacity less mean less √(½ ln(1/ρ) Σ range²); rows are μ, Σ range², `parameters` holds ln(1/ρ)."""
    squared_range = sum_with(state, item, _SQUARED_RANGE)
    # The t at which exp(−2t² / Σ range²) equals ρ.
    margin = math.sqrt(0.5 * parameters[0] * squared_range)
    return (
        room_above(
            state,
            item,
            _MEAN,
            capacity[0],
        )
        - margin
    )


class Hoeffding(TargetEstimator):
    """Hoeffding's inequality: only means and ranges of the tasks matter.

    P(S ≥ μ + t) ≤ exp(−2t² / Σ(max − min)²) (Hoeffding, JASA 58, 1963).  Safe if the observed range is the whole
    range; wasteful for bursty tasks, whose range is far wider than their deviation.

    Where it is wrong
    -----------------
    At ρ = .001 it takes 1.6 times the machines of the exact sum (81.2 against 49.4; heavier tail 232.8 against 111.0),
    and never overflowed in 4 million draws.
    """

    name = "hoeffding"
    about = "Hoeffding's bound from the means and ranges"
    slack = staticmethod(hoeffding_slack)

    def items(self, observed: Observation, capacity: float) -> Numbers:
        """Return mean and squared range of each task."""
        squared_range = (observed.peak - observed.minimum) ** 2
        return np.column_stack([observed.mean, squared_range])

    def parameters(self, capacity: float) -> Numbers:
        """Return ln(1/ρ)."""
        return log_of_inverse(self.parameter)


@slack_kernel
def bernstein_slack(
    state: Row,
    item: Row,
    capacity: Row,
    parameters: Row,
) -> float:
    """Return the capacity less mean less the t at which Bernstein's bound is ρ; rows are μ, σ², M."""
    log = parameters[0]
    variance = sum_with(state, item, _VARIANCE)
    peak = max(state[_PEAK_ABOVE_MEAN], item[_PEAK_ABOVE_MEAN])
    # The root t of t² = 2L(σ² + Mt/3), L = ln(1/ρ): LM/3 + √((LM/3)² + 2Lσ²).
    third = log * peak / 3
    margin = third + math.sqrt(third * third + 2 * log * variance)
    return (
        room_above(
            state,
            item,
            _MEAN,
            capacity[0],
        )
        - margin
    )


@add_kernel
def add_with_peak(state: Row, item: Row) -> None:
    """Add means and variances; keep the highest peak."""
    state[_MEAN] += item[_MEAN]
    state[_VARIANCE] += item[_VARIANCE]
    # M bounds every task of the machine, so it does not add up.
    state[_PEAK_ABOVE_MEAN] = max(state[_PEAK_ABOVE_MEAN], item[_PEAK_ABOVE_MEAN])


class Bernstein(TargetEstimator):
    """Bernstein's inequality: means, variances, and the highest peak above a mean.

    P(S ≥ μ + t) ≤ exp(−t² / 2(σ² + Mt/3)), where no task exceeds its mean by more than M (Bernstein, 1946).

    Where it is wrong
    -----------------
    At ρ = .001 it takes 2.2 times the machines of the exact sum (106.6 against 49.4; heavier tail 288.6 against 111.0),
    and never overflowed in 5 million draws.
    """

    name = "bernstein"
    about = "Bernstein's bound from means, variances and the highest peak"
    slack = staticmethod(bernstein_slack)
    add = staticmethod(add_with_peak)

    def items(self, observed: Observation, capacity: float) -> Numbers:
        """Return mean, variance and peak above the mean of each task."""
        peak_above_mean = observed.peak - observed.mean
        return np.column_stack([observed.mean, observed.variance, peak_above_mean])

    def parameters(self, capacity: float) -> Numbers:
        """Return ln(1/ρ)."""
        return log_of_inverse(self.parameter)


@slack_kernel
def chernoff_slack(
    state: Row,
    item: Row,
    capacity: Row,
    parameters: Row,
) -> float:
    """Return ρ less the lowest of exp(K(θ) − θc).

    Rows are μ, K at every θ and the peak; `parameters` holds ρ and every θ.
    """
    target = parameters[0]
    # At θ = 0 the bound is exp(0) = 1, whatever the tasks.  Column a of a row is K at `parameters[a]`: column 0 holds
    # the mean there and ρ here.
    lowest = 0.0
    for a in range(1, parameters.size):
        exponent = sum_with(state, item, a) - parameters[a] * capacity[0]
        lowest = min(lowest, exponent)
    slack = target - math.exp(lowest)
    # On a grid that ends, the bound never gets far below 1 for tasks that hardly vary: they cannot exceed their peaks.
    peaks_fit = state[-1] + item[-1] <= capacity[0]
    return target if slack < 0 and peaks_fit else slack


class Chernoff(TargetEstimator):
    """Chernoff's bound from the tasks' whole distributions: the tightest of the exponential ones.

    P(S ≥ c) ≤ min exp(K(θ) − θc) over θ > 0, K the sum of the tasks' cumulant-generating functions, here on a grid
    of θ, which keeps it a bound.  Its excess over the truth is a factor of about √2π·z.

    Where it is wrong
    -----------------
    It is ten times too careful: at ρ = .001 q is .10 ρ, for 54.8 machines where the exact sum needs 49.4.
    """

    name = "chernoff"
    about = "Chernoff's bound from the generating functions of the tasks"
    predicts = True
    slack = staticmethod(chernoff_slack)

    def items(self, observed: Observation, capacity: float) -> Numbers:
        """Return mean, K(θ) at every θ of the grid, and the highest usage seen."""
        # K alone of K, K′, K″: the bound needs no derivative.
        k = observed.cumulant_functions(capacity)[:, ::3]
        return np.column_stack([observed.mean, k, observed.peak])

    def parameters(self, capacity: float) -> Numbers:
        """Return ρ and the grid of θ."""
        return np.concatenate([[self.parameter], angles(capacity)])
