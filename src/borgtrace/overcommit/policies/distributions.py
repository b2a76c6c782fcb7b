"""Peaks from the whole distributions of the present tasks: their exact sum on a grid, and its saddlepoint.

Both take the samples of each history as equally likely, and tasks as independent.  They cost thousands of operations
per slot where GPA costs a few: for a sample of machines (``--machines``).
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.overcommit.block import Columns, Samples, add_run
from borgtrace.overcommit.policies.gaussian import QuantilePolicy
from borgtrace.overcommit.rule import RANGES

CELLS = 1000
"""Steps of the grid, up to the sum of the warm tasks' limits."""
_ROUNDING = 1e-12
_ROUNDS = 60
"""Of the search for a saddle; it ends after about eight."""


@dataclass(frozen=True)
class Convolution(QuantilePolicy):
    """The least step of a grid that the sum of independent tasks exceeds with a probability of at most ρ.

    A usage between two steps is shared between them, which keeps the mean, as
    :class:`borgtrace.placement.estimators.convolution.Convolution` does.
    """

    name = "convolution"
    about = "quantile of the exact sum of independent tasks; ρ is per slot, not per horizon"

    def quantiles(self, known: Samples, warm: Flags) -> Numbers:
        """Return the quantile of each slot, a multiple of a thousandth of the limits."""
        return _convolved(known.columns, known.low(self.history), warm, self.rho)


@dataclass(frozen=True)
class Saddlepoint(QuantilePolicy):
    """The quantile by a saddlepoint: K′(θ) where r* = w + ln(u/w)/w is Φ⁻¹(1 − ρ) (Barndorff-Nielsen, 1986).

    K(θ) = Σ ln of the mean of exp(θx) over a task's history, w = √(2(θK′ − K)), u = θ√K″; to the order of the formula
    of Lugannani & Rice that :class:`borgtrace.placement.estimators.saddlepoint.Saddlepoint` has.  Where r* never gets
    there, for sums of few values, it is the sum of the tasks' highest samples.
    """

    name = "saddlepoint"
    about = "saddlepoint quantile of the sum of independent tasks; ρ is per slot, not per horizon"
    ranges = RANGES | {"rho": (lambda x: 0 < x < 0.5, "above 0 and below 0.5")}

    def quantiles(self, known: Samples, warm: Flags) -> Numbers:
        """Return the quantile of each slot."""
        return _saddles(known.columns, known.low(self.history), warm, -float(ndtri(self.rho)))


@compiled()
def _convolved(known: Columns, low: Index, warm: Flags, rho: float) -> Numbers:
    peaks = np.zeros(known.offsets.size - 1)
    for j in range(peaks.size):
        present = known.order[known.offsets[j] : known.offsets[j + 1]]
        most = 0.0
        for i in present:
            most += known.limit[i] * warm[i]
        if most == 0:
            continue
        mass = np.zeros(CELLS + 1)
        top = 0
        mass[0] = 1.0
        for i in present:
            if warm[i]:
                own = _shared(known.usage[low[i] : i + 1], most / CELLS)
                joined = np.zeros(CELLS + 1)
                last = 0
                for cell in range(CELLS + 1):
                    if own[cell] > 0:
                        # What lies beyond the grid is in no cell: it stays on the side of the overflow.
                        last = min(cell + top, CELLS)
                        add_run(mass[: last + 1 - cell], 1.0, own[cell], joined[cell:])
                mass = joined
                top = last
        step = 0
        below = mass[0]
        while below < 1 - rho - _ROUNDING and step < CELLS:
            step += 1
            below += mass[step]
        peaks[j] = step * (most / CELLS)
    return peaks


@compiled()
def _shared(values: Numbers, step: float) -> Numbers:
    """Return how equally likely values spread over a grid: (CELLS + 1,)."""
    own = np.zeros(CELLS + 1)
    for value in values:
        cell = int(value / step)
        share = value / step - cell
        if cell <= CELLS:
            own[cell] += (1 - share) / values.size
        if cell < CELLS:
            own[cell + 1] += share / values.size
    return own


class _Present(NamedTuple):
    """Samples of a machine, the warm ones of a slot, where their histories begin, and the highest sample of each."""

    usage: Numbers
    now: Index
    low: Index
    highest: Numbers


@compiled()
def _saddles(known: Columns, low: Index, warm: Flags, target: float) -> Numbers:
    peaks = np.zeros(known.offsets.size - 1)
    for j in range(peaks.size):
        now = known.order[known.offsets[j] : known.offsets[j + 1]]
        now = now[warm[now]]
        highest = np.array([known.usage[low[i] : i + 1].max() for i in now])
        present = _Present(known.usage, now, low[now], highest)
        _, peaks[j], variance = _at(0.0, present)
        if variance > 0:
            peaks[j] = _searched(1 / math.sqrt(variance), target, present)
    return peaks


@compiled()
def _searched(theta: float, target: float, present: _Present) -> float:
    """Return K′ where r* is the target, from a first θ on: r* of a Gaussian sum is θσ, so it is near."""
    a = 0.0
    below = -target
    r = -math.inf
    peak = 0.0
    # θ doubles until r* is large enough, or falls, for K″ vanishes.
    while r < target:
        before = r
        r, peak = _root(theta, present)
        if r <= before:
            return float(present.highest.sum())
        if r < target:
            a = theta
            below = r - target
            theta = 2 * theta
    b = theta
    above = r - target
    side = 0
    # False position, whose stale end counts half (Illinois).
    for _ in range(_ROUNDS):
        if abs(r - target) < _ROUNDING:
            break
        theta = (a * above - b * below) / (above - below)
        r, peak = _root(theta, present)
        if r < target:
            a = theta
            below = r - target
            above = above * (0.5 if side < 0 else 1.0)
            side = -1
        else:
            b = theta
            above = r - target
            below = below * (0.5 if side > 0 else 1.0)
            side = 1
    return peak


@compiled()
def _root(theta: float, present: _Present) -> tuple[float, float]:
    """Return r* and K′ at some θ > 0; r* is −∞ where the sum hardly varies any more."""
    k, mean, variance = _at(theta, present)
    w = math.sqrt(max(2 * (theta * mean - k), 0.0))
    u = theta * math.sqrt(variance)
    return (w + math.log(u / w) / w if w > 0 and u > 0 else -math.inf), mean


@compiled()
def _at(theta: float, present: _Present) -> tuple[float, float, float]:
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
            weight = math.exp(theta * (value - top))
            total += weight
            first += weight * (value - top)
            second += weight * (value - top) ** 2
        k += theta * top + math.log(total / history.size)
        mean += top + first / total
        variance += max(second / total - (first / total) ** 2, 0.0)
    return k, mean, variance
