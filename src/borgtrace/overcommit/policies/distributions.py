"""Peaks from the whole distributions of the present tasks: their exact sum on a grid, and its saddlepoint.

Both take the samples of each history as equally likely, and tasks as independent.  They cost hundreds of operations
for each sample where GPA costs a few: for a sample of machines (``--machines``).
"""

import math
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.convolution import convolved, position_on_grid
from borgtrace.kernels.normal import normal_score
from borgtrace.kernels.saddlepoint import modified_root, saddle_root
from borgtrace.overcommit.block import Histories, Samples
from borgtrace.overcommit.grid_frequencies import CELLS, UNDECIDED
from borgtrace.overcommit.grid_sums import (
    LEAST_DEVIATION,
    GridSums,
    SlotSum,
    decided_cell,
    deviation_in_cells,
    make_sums,
)
from borgtrace.overcommit.moments import window_moments
from borgtrace.overcommit.policies.gaussian import QuantilePolicy
from borgtrace.overcommit.rolling import moving_maximum
from borgtrace.overcommit.tilted_sums import (
    BLOCK,
    LEAST_SPREAD,
    BlockTasks,
    PowerSeries,
    Tilt,
    choose_tilt,
    cumulants_of_series,
    cumulants_of_slot,
    fill_series,
    find_tasks,
    make_series,
    make_tasks,
)
from borgtrace.schema.bounds import Bounds

_ROUNDING = 1e-12
_NEAR_ONE = 1.3
"""r* at 1/σ is about 1: a target not above this may lie below it."""
_LEAST_SHARE = 0.4
"""Of 1/σ: at a smaller θ, w and u are differences of nearly equal numbers."""
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
        low = known.low(self.history)
        _, variance = window_moments(low, known.usage)
        highest = moving_maximum(known.task, known.slot, known.usage, self.history)
        n_tasks = int(known.task.max(initial=-1)) + 1
        return _convolution_quantiles(
            Histories(known.columns, low, warm),
            variance,
            highest,
            self.rho,
            make_sums(n_tasks),
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
        z = -float(normal_score(self.rho))
        low = known.low(self.history)
        _, variance = window_moments(low, known.usage)
        n_present = np.diff(known.columns.offsets)
        # A block costs what its histories hold, so they should have much in common.
        n_slots = min(max(self.history // 8, 1), BLOCK)
        return _saddlepoint_quantiles(
            Histories(known.columns, low, warm),
            known.sums(np.where(warm, variance, 0.0)),
            z,
            make_series(n_slots, int(n_present.max(initial=0))),
            make_tasks(int(known.task.max(initial=-1)) + 1),
        )


@compiled()
def _convolution_quantiles(
    histories: Histories,
    variance: Numbers,
    highest: Numbers,
    rho: float,
    grids: GridSums,
) -> Numbers:
    """Return the quantile of each slot's sum, in steps of a grid over the limits of its warm tasks.

    The low frequencies of the sum decide its cell where the high ones are bounded closely enough; where they do not,
    the histories are convolved.
    """
    known = histories.known
    peaks = np.zeros(known.offsets.size - 1)
    probability = 1 - rho - _ROUNDING
    previous = 0.0
    for j in range(peaks.size):
        present = known.order[known.offsets[j] : known.offsets[j + 1]]
        limits = 0.0
        for i in present:
            limits += known.limit[i] * histories.warm[i]
        if limits == 0:
            continue
        step = limits / CELLS
        deviation = deviation_in_cells(present, histories.warm, highest, variance, step)
        cell = UNDECIDED
        if deviation > LEAST_DEVIATION:
            slot = SlotSum(j, step, deviation, probability, int(previous / step))
            cell = decided_cell(slot, present, histories, variance, grids)
        if cell == UNDECIDED:
            cell = _convolved_cell(present, histories, step, probability)
        peaks[j] = cell * step
        previous = peaks[j]
    return peaks


@compiled()
def _convolved_cell(
    present: Index,
    histories: Histories,
    step: float,
    probability: float,
) -> int:
    """Return the first cell whose cumulative probability reaches a bound, else the last one, task by task."""
    # The distribution of an empty sum: surely 0.
    mass = np.zeros(CELLS + 1)
    mass[0] = 1.0
    highest = 0
    for i in present:
        if histories.warm[i]:
            history = histories.known.usage[histories.low[i] : i + 1]
            own = _spread_over_grid(history, step)
            # What lies beyond the grid is in no cell: it stays on the side of the overflow.
            mass = convolved(mass, highest + 1, own, 0, CELLS)
            highest = min(_last_occupied(own) + highest, CELLS)
    return _least_cell_above(mass, probability)


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


class _SlotOfBlock(NamedTuple):
    """A slot, its place in its block, and whether the series of the block serve it."""

    j: int
    place: int
    has_series: bool


@compiled()
def _saddlepoint_quantiles(
    histories: Histories,
    variance: Numbers,
    target: float,
    series: PowerSeries,
    tasks: BlockTasks,
) -> Numbers:
    peaks = np.zeros(variance.size)
    # θ doubles from 1/σ on, until r*, which of a Gaussian sum is θσ, reaches the target.
    lowest = 1.0 if target > _NEAR_ONE else 0.0
    highest = 2.0
    while highest < target:
        highest *= 2
    for begin in range(0, peaks.size, series.squares.size):
        end = min(begin + series.squares.size, peaks.size)
        n_tasks = find_tasks(histories, begin, end, tasks)
        tilt = choose_tilt(variance[begin:end], lowest, highest, tasks, n_tasks)
        fill_series(histories, begin, end, tasks, tilt, series)
        for j in range(begin, end):
            place = j - begin
            peaks[j] = math.nan
            if variance[j] > LEAST_SPREAD * series.squares[place]:
                slot = _SlotOfBlock(j, place, True)
                theta = 1 / math.sqrt(variance[j])
                peaks[j] = _find_quantile(theta, target, slot, tilt, series, histories)
            if math.isnan(peaks[j]):
                at_zero = cumulants_of_slot(0.0, j, histories)
                peaks[j] = at_zero.mean
                if at_zero.variance > 0:
                    slot = _SlotOfBlock(j, place, False)
                    theta = 1 / math.sqrt(at_zero.variance)
                    peaks[j] = _find_quantile(theta, target, slot, tilt, series, histories)
    return peaks


@compiled()
def _find_quantile(
    theta: float,
    target: float,
    slot: _SlotOfBlock,
    tilt: Tilt,
    series: PowerSeries,
    histories: Histories,
) -> float:
    """Return K′ where r* is the target, from a first θ on: r* of a Gaussian sum is θσ, so it is near.

    NaN where that is so near the mean that series and exponentials would find different digits.
    """
    least_theta = theta * _LEAST_SHARE if slot.has_series else 0.0
    low_theta = 0.0
    below = -target
    root = -math.inf
    quantile = 0.0
    # θ doubles until r* is large enough, or falls because K″ vanishes.
    while root < target:
        previous = root
        root, quantile = _root(theta, slot, tilt, series, histories)
        if root <= previous:
            return _sum_highest(slot.j, histories)
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
        if theta < least_theta:
            return math.nan
        root, quantile = _root(theta, slot, tilt, series, histories)
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
def _root(
    theta: float,
    slot: _SlotOfBlock,
    tilt: Tilt,
    series: PowerSeries,
    histories: Histories,
) -> tuple[float, float]:
    """Return r* and K′ at some θ > 0; r* is −∞ where the sum hardly varies any more."""
    if slot.has_series and abs(theta - tilt.theta) <= tilt.reach * (1 + _ROUNDING):
        cumulants = cumulants_of_series(theta, slot.place, tilt, series, histories)
    else:
        cumulants = cumulants_of_slot(theta, slot.j, histories)
    w = saddle_root(theta, cumulants.mean, cumulants.k)
    return modified_root(w, theta, cumulants.variance), cumulants.mean


@compiled()
def _sum_highest(j: int, histories: Histories) -> float:
    """Return the sum of the highest samples of the warm tasks of a slot."""
    known = histories.known
    total = 0.0
    for i in known.order[known.offsets[j] : known.offsets[j + 1]]:
        if histories.warm[i]:
            total += known.usage[histories.low[i] : i + 1].max()
    return total
