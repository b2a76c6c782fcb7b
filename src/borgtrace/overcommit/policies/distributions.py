"""Peaks from the whole distributions of the present tasks: their exact sum on a grid, and its saddlepoint.

Both take the samples of each history as equally likely, and tasks as independent.  They cost thousands of operations
per slot where GPA costs a few: for a sample of machines (``--machines``).
"""

import math
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from scipy.special import ndtri

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.convolution import convolved, position_on_grid
from borgtrace.kernels.saddlepoint import modified_root, saddle_root
from borgtrace.overcommit.block import SampleColumns, Samples
from borgtrace.overcommit.policies.gaussian import QuantilePolicy
from borgtrace.schema.bounds import Bounds

CELLS = 1000
"""Steps of the grid, up to the sum of the warm tasks' limits."""
_ROUNDING = 1e-12
_ROUNDS = 60
"""Of the search for a saddle; it ends after about eight."""


@dataclass(frozen=True)
class ConvolutionPolicy(QuantilePolicy):
    """The least step of a grid that the sum of independent tasks exceeds with a probability of at most ρ.

    A usage between two steps is shared between them, which keeps the mean, as
    :class:`borgtrace.placement.estimators.convolution.Convolution` does.
    """

    name = "convolution"
    about = "quantile of the exact sum of independent tasks; ρ is per slot, not per horizon"

    def quantiles(self, known: Samples, warm: Flags) -> Numbers:
        """Return the quantile of each slot, a multiple of a thousandth of the limits."""
        return _convolution_quantiles(
            known.columns,
            known.low(self.history),
            warm,
            self.rho,
        )


@dataclass(frozen=True)
class SaddlepointPolicy(QuantilePolicy):
    """The quantile by a saddlepoint: K′(θ) where r* = w + ln(u/w)/w is Φ⁻¹(1 − ρ) (Barndorff-Nielsen, 1986).

    K(θ) = Σ ln of the mean of exp(θx) over a task's history, w = √(2(θK′ − K)), u = θ√K″; to the order of the formula
    of Lugannani & Rice that :class:`borgtrace.placement.estimators.saddlepoint.Saddlepoint` has. Where r* never gets
    there, for sums of few values, it is the sum of the tasks' highest samples. Sums of tasks with Pareto tails exceed
    it up to three times as often as ρ = .001 says (:class:`borgtrace.placement.estimators.saddlepoint.Saddlepoint`).
    """

    rho: Annotated[float, Bounds(0, 0.5, excludes_least=True, excludes_most=True)] = 0.01

    name = "saddlepoint"
    about = "saddlepoint quantile of the sum of independent tasks; ρ is per slot, not per horizon"

    def quantiles(self, known: Samples, warm: Flags) -> Numbers:
        """Return the quantile of each slot."""
        z = -float(ndtri(self.rho))
        return _saddlepoint_quantiles(
            known.columns,
            known.low(self.history),
            warm,
            z,
        )


@compiled()
def _convolution_quantiles(
    known: SampleColumns,
    low: Index,
    warm: Flags,
    rho: float,
) -> Numbers:
    peaks = np.zeros(known.offsets.size - 1)
    for j in range(peaks.size):
        present = known.order[known.offsets[j] : known.offsets[j + 1]]
        limits = 0.0
        for i in present:
            limits += known.limit[i] * warm[i]
        if limits == 0:
            continue
        step = limits / CELLS
        # The distribution of an empty sum: surely 0.
        mass = np.zeros(CELLS + 1)
        mass[0] = 1.0
        highest = 0
        for i in present:
            if warm[i]:
                own = _spread_over_grid(known.usage[low[i] : i + 1], step)
                # What lies beyond the grid is in no cell: it stays on the side of the overflow.
                mass = convolved(
                    mass,
                    highest + 1,
                    own,
                    0,
                    CELLS,
                )
                highest = min(_last_occupied(own) + highest, CELLS)
        peaks[j] = _least_cell_above(mass, 1 - rho - _ROUNDING) * step
    return peaks


@compiled()
def _spread_over_grid(values: Numbers, step: float) -> Numbers:
    """Return how equally likely values spread over a grid: (CELLS + 1,)."""
    mass = np.zeros(CELLS + 1)
    for value in values:
        cell, share = position_on_grid(value, step, 0.0)
        if cell <= CELLS:
            mass[cell] += (1 - share) / values.size
        if cell < CELLS:
            mass[cell + 1] += share / values.size
    return mass


@compiled(inline=True)
def _last_occupied(mass: Numbers) -> int:
    """Return the last cell with a probability above 0; 0 where all of it lies beyond the grid."""
    last = CELLS
    while last > 0 and mass[last] <= 0:
        last -= 1
    return last


@compiled(inline=True)
def _least_cell_above(mass: Numbers, probability: float) -> int:
    """Return the first cell whose cumulative probability reaches a bound, else the last one."""
    cell = 0
    cumulative = mass[0]
    while cumulative < probability and cell < CELLS:
        cell += 1
        cumulative += mass[cell]
    return cell


class _PresentTasks(NamedTuple):
    """Samples of a machine, the warm ones of a slot, where their histories begin, and the highest sample of each."""

    usage: Numbers
    now: Index
    low: Index
    highest: Numbers


class _SumCumulants(NamedTuple):
    """K, K′ and K″ of the sum of the present tasks at some θ."""

    k: float
    mean: float
    variance: float


@compiled()
def _saddlepoint_quantiles(
    known: SampleColumns,
    low: Index,
    warm: Flags,
    target: float,
) -> Numbers:
    peaks = np.zeros(known.offsets.size - 1)
    for j in range(peaks.size):
        now = known.order[known.offsets[j] : known.offsets[j + 1]]
        now = now[warm[now]]
        highest = np.array([known.usage[low[i] : i + 1].max() for i in now])
        present = _PresentTasks(
            known.usage,
            now,
            low[now],
            highest,
        )
        at_zero = _cumulants(0.0, present)
        peaks[j] = at_zero.mean
        if at_zero.variance > 0:
            peaks[j] = _find_quantile(
                1 / math.sqrt(at_zero.variance),
                target,
                present,
            )
    return peaks


@compiled()
def _find_quantile(
    theta: float,
    target: float,
    present: _PresentTasks,
) -> float:
    """Return K′ where r* is the target, from a first θ on: r* of a Gaussian sum is θσ, so it is near."""
    low_theta = 0.0
    below = -target
    root = -math.inf
    quantile = 0.0
    # θ doubles until r* is large enough, or falls because K″ vanishes.
    while root < target:
        previous = root
        root, quantile = _root(theta, present)
        if root <= previous:
            return float(present.highest.sum())
        if root < target:
            low_theta = theta
            below = root - target
            theta = 2 * theta
    high_theta = theta
    above = root - target
    side = 0
    # False position, whose stale end counts half (Illinois).
    for _ in range(_ROUNDS):
        if abs(root - target) < _ROUNDING:
            break
        theta = (low_theta * above - high_theta * below) / (above - below)
        root, quantile = _root(theta, present)
        if root < target:
            low_theta = theta
            below = root - target
            above = above * (0.5 if side < 0 else 1.0)
            side = -1
        else:
            high_theta = theta
            above = root - target
            below = below * (0.5 if side > 0 else 1.0)
            side = 1
    return quantile


@compiled()
def _root(theta: float, present: _PresentTasks) -> tuple[float, float]:
    """Return r* and K′ at some θ > 0; r* is −∞ where the sum hardly varies any more."""
    cumulants = _cumulants(theta, present)
    w = saddle_root(theta, cumulants.mean, cumulants.k)
    return modified_root(w, theta, cumulants.variance), cumulants.mean


@compiled()
def _cumulants(theta: float, present: _PresentTasks) -> _SumCumulants:
    """Return K, K′ and K″ of the sum of the present tasks at some θ ≥ 0."""
    k = 0.0
    mean = 0.0
    variance = 0.0
    for p in range(present.now.size):
        # Relative to the highest sample, so that no exponential exceeds 1, whatever θ.
        top = present.highest[p]
        total = 0.0
        first = 0.0
        second = 0.0
        history = present.usage[present.low[p] : present.now[p] + 1]
        for value in history:
            distance = value - top
            weight = math.exp(theta * distance)
            total += weight
            first += weight * distance
            second += weight * distance**2
        k += theta * top + math.log(total / history.size)
        mean += top + first / total
        variance += max(second / total - (first / total) ** 2, 0.0)
    return _SumCumulants(k, mean, variance)
