"""Tail of the sum by the saddlepoint approximation of Lugannani & Rice."""

import math
from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.gaussian import gaussian_tail
from borgtrace.kernels.saddlepoint import lugannani_rice_tail, saddle_root
from borgtrace.placement.estimators.estimator import TargetEstimator
from borgtrace.placement.estimators.features import angles
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.types import Row, slack_kernel, sum_with

# A row is the mean, then K, K′, K″ for each θ, and last the peak.  Parameters are ρ, then every θ.
_TARGET = 0
_FIRST_ANGLE = 1
_ROUNDS = 40
"""Halvings that place the saddle within a cell of the grid to 1e-12, far within the error of the cubic."""


class _Cumulants(NamedTuple):
    """K, K′ and K″ of a sum of tasks at one θ."""

    k: float
    mean: float
    variance: float


class _Cubic(NamedTuple):
    """K′ in a cell of the grid: value + slope·t + c2·t² + c3·t³, for t from 0 to 1."""

    value: float
    slope: float
    c2: float
    c3: float


@compiled(inline=True)
def _cumulants(
    state: Row,
    item: Row,
    a: int,
) -> _Cumulants:
    """Return the cumulants of the machine with the item at θ number a."""
    k = 1 + 3 * a
    mean = k + 1
    variance = k + 2
    return _Cumulants(
        sum_with(state, item, k),
        sum_with(state, item, mean),
        sum_with(state, item, variance),
    )


@compiled()
def _tail(
    state: Row,
    item: Row,
    capacity: float,
    parameters: Row,
) -> float:
    """Return P(S > c) after Lugannani & Rice.

    K′ is kept on a grid of θ and interpolated by a cubic that also matches K″; the saddle K′(θ) = c is found by
    bisection, K by integrating the cubic.
    """
    theta_of = parameters[_FIRST_ANGLE:]
    last = theta_of.size - 1
    # K′(0) is the mean.  Above the capacity there is no positive saddle; the Gaussian tail is close there.
    at_zero = _cumulants(state, item, 0)
    excess = at_zero.mean - capacity
    if excess >= 0:
        return 1 - gaussian_tail(excess, at_zero.variance) if at_zero.variance > 0 else 1.0
    # Tasks that hardly vary do not reach the capacity within the grid: Chernoff's bound at its end stays safe.
    at_end = _cumulants(state, item, last)
    if at_end.mean <= capacity:
        return math.exp(min(0.0, at_end.k - theta_of[last] * capacity))
    left = _cell_of_saddle(state, item, capacity, last)
    right = left + 1
    width = theta_of[right] - theta_of[left]
    begin = _cumulants(state, item, left)
    end = _cumulants(state, item, right)
    f0, d0, c2, c3 = _interpolate(begin, end, width)
    t = _saddle_in_cell(
        f0,
        d0,
        c2,
        c3,
        capacity,
    )
    theta = theta_of[left] + t * width
    # K is the integral of the same cubic: interpolated on its own it would not match K′, and w² is a small difference.
    slope = d0 / 2 + t * (c2 / 3 + t * c3 / 4)
    area = t * (f0 + t * slope)
    k = begin.k + width * area
    curvature = (d0 + t * (2 * c2 + t * 3 * c3)) / width
    return lugannani_rice_tail(saddle_root(theta, capacity, k), theta, curvature)


@compiled(inline=True)
def _cell_of_saddle(
    state: Row,
    item: Row,
    capacity: float,
    last: int,
) -> int:
    """Return the last θ whose K′ is within the capacity: K is convex, so K′ grows with θ."""
    left = 0
    right = last
    while right - left > 1:
        middle = (left + right) // 2
        if _cumulants(state, item, middle).mean <= capacity:
            left = middle
        else:
            right = middle
    return left


@compiled(inline=True)
def _interpolate(
    begin: _Cumulants,
    end: _Cumulants,
    width: float,
) -> _Cubic:
    """Return Hermite's cubic through the values and slopes of K′ at both ends of a cell."""
    f0 = begin.mean
    f1 = end.mean
    d0 = width * begin.variance
    d1 = width * end.variance
    return _Cubic(
        value=f0,
        slope=d0,
        c2=3 * (f1 - f0) - 2 * d0 - d1,
        c3=2 * (f0 - f1) + d0 + d1,
    )


@compiled(inline=True)
def _saddle_in_cell(
    f0: float,
    d0: float,
    c2: float,
    c3: float,
    capacity: float,
) -> float:
    """Return where the cubic f0 + d0·t + c2·t² + c3·t³ meets the capacity; bisection cannot leave the cell."""
    low = 0.0
    high = 1.0
    for _ in range(_ROUNDS):
        t = 0.5 * (low + high)
        if f0 + t * (d0 + t * (c2 + t * c3)) <= capacity:
            low = t
        else:
            high = t
    return 0.5 * (low + high)


@slack_kernel
def saddlepoint_slack(
    state: Row,
    item: Row,
    capacity: Row,
    parameters: Row,
) -> float:
    """Return ρ less the Lugannani–Rice tail; ρ where even the tasks' peaks together stay within the capacity."""
    target = parameters[_TARGET]
    slack = target - _tail(
        state,
        item,
        capacity[0],
        parameters,
    )
    # Constant tasks vary on the grid, by less than half a cell, and their exact sum would be refused for it.
    peaks_fit = state[-1] + item[-1] <= capacity[0]
    return target if slack < 0 and peaks_fit else slack


class Saddlepoint(TargetEstimator):
    """Saddlepoint approximation of the overflow probability, from the tasks' whole distributions.

    P(S > c) ≈ 1 − Φ(w) + φ(w)(1/u − 1/w), w = √(2(θc − K(θ))), u = θ√K″(θ), K′(θ) = c (Lugannani & Rice, Adv. Appl.
    Prob. 12, 1980).  Relative error of a few percent far into the tail; costs a row of 80 numbers per task.  Not for
    two or three tasks on a machine, whose sum has steps.

    Where it is wrong
    -----------------
    On Pareto tails of index 2 and 1.5 q is 2.0 and 3.1 ρ at ρ = .001, for 35 and 71 machines where the exact sum needs
    60 and 159; of index 2.5 and 3 it is 1.1 and .6 ρ. At ρ = .01 only that of index 1.5 exceeds it: 1.3 ρ. On the
    heavier tail it takes 117.6 machines at ρ = .001 where the exact sum needs 111.0. Two tasks that take .6 in a tenth
    of the draws and .1 else exceed a machine in 1 % of them; it says 1.15 %.
    """

    name = "saddlepoint"
    about = (
        "Lugannani–Rice tail from the generating functions of the tasks; "
        "on Pareto tails q is up to 3.1 ρ at .001"
    )
    predicts = True
    slack = staticmethod(saddlepoint_slack)

    def items(self, observed: Observation, capacity: float) -> Numbers:
        """Return mean, K(θ), K′(θ), K″(θ) at every θ of the grid, and the highest usage seen."""
        functions = observed.cumulant_functions(capacity)
        return np.column_stack([observed.mean, functions, observed.peak])

    def parameters(self, capacity: float) -> Numbers:
        """Return ρ and the grid of θ."""
        return np.concatenate([[self.parameter], angles(capacity)])
