"""What estimators derive from a task's observed values: moments, histograms, cumulant-generating functions."""

import math

import numpy as np

from borgtrace.kernels.arrays import Numbers, Values
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.convolution import position_on_grid

MEAN, VARIANCE, THIRD, FOURTH, MINIMUM, MAXIMUM = range(6)
N_MOMENTS = 6
"""Columns of :func:`moments`: the mean, central moments, and the extremes."""
FIRST_CELL, LAST_CELL, CELL_ZERO = range(3)
"""Columns of :func:`histograms`: first and last occupied cell, then the probability of each cell."""
N_ANGLES = 26
"""θ = 0 and 25 steps of a third up to 512 ÷ capacity: a deviation of 1 % of the capacity has its saddle inside."""
_SAME_CELL = 1e-3
"""A float32 usage misses its cell by rounding: constant tasks would get two cells, and a variance."""
_NO_MASS = 1e-9
"""Mass below this is rounding of a sum, not usage beyond the grid."""


def angles(capacity: float) -> Numbers:
    """Return θ = 0 and a geometric grid from 0.5 to 512 over the capacity, for generating functions: (N_ANGLES,)."""
    # Geometric, because the saddle of a Gaussian sum is z/σ: 310 for σ = 1 % of the capacity at ρ = .001.
    steps = np.geomspace(0.5, 512.0, N_ANGLES - 1)
    return np.concatenate([[0.0], steps]) / capacity


@compiled()
def moments(values: Values, out: Numbers) -> None:
    """Write mean, second to fourth central moment (ddof 0), minimum and maximum of each row.

    Parameters
    ----------
    values
        float32 (n, k), k ≥ 1; sums are taken in float64, in two passes.
    out
        float64 (n, `N_MOMENTS`).
    """
    n, k = values.shape
    for i in range(n):
        total = 0.0
        low = values[i, 0]
        high = values[i, 0]
        for t in range(k):
            value = values[i, t]
            total += value
            low = min(low, value)
            high = max(high, value)
        mean = total / k
        # A second pass over deviations: E[x²] − μ² would cancel for tasks that hardly vary.
        second = 0.0
        third = 0.0
        fourth = 0.0
        for t in range(k):
            deviation = values[i, t] - mean
            square = deviation * deviation
            second += square
            third += square * deviation
            fourth += square * square
        out[i, MEAN] = mean
        out[i, VARIANCE] = second / k
        out[i, THIRD] = third / k
        out[i, FOURTH] = fourth / k
        out[i, MINIMUM] = low
        out[i, MAXIMUM] = high


@compiled()
def histograms(
    values: Values,
    step: float,
    out: Numbers,
) -> None:
    """Spread each row over a grid: columns are first cell, last cell, then the probability of each cell.

    A value between two cells is shared between them so that the mean is kept (the variance grows by less
    than step²/4); a value within a thousandth of a step is put on the cell.  What lies beyond the last cell
    is left out: the row then sums to less than 1.

    Parameters
    ----------
    values
        float32 (n, k), non-negative.
    step
        Width of a cell; cell j stands for the value j · step.
    out
        float64 (n, 2 + cells), overwritten.
    """
    n, k = values.shape
    n_cells = out.shape[1] - CELL_ZERO
    for i in range(n):
        out[i] = 0.0
        mass = out[i, CELL_ZERO:]
        for t in range(k):
            cell, share = position_on_grid(values[i, t], step, _SAME_CELL)
            if cell < n_cells:
                mass[cell] += 1 - share
            if share > 0 and cell + 1 < n_cells:
                mass[cell + 1] += share
        # Convolutions run from the first to the last occupied cell, often a few of two thousand.
        low = 0
        while low < n_cells - 1 and mass[low] == 0:
            low += 1
        high = n_cells - 1
        while high > low and mass[high] == 0:
            high -= 1
        out[i, FIRST_CELL] = low
        out[i, LAST_CELL] = high
        for cell in range(low, high + 1):
            mass[cell] /= k


@compiled()
def cumulant_functions(
    histogram: Numbers,
    step: float,
    angles: Numbers,
    out: Numbers,
) -> None:
    """Write K(θ), K′(θ), K″(θ) of each row at every θ: columns 3a, 3a + 1, 3a + 2 for θ number a.

    K(θ) = log E exp(θX) is the cumulant-generating function; it adds up over independent tasks.

    Parameters
    ----------
    histogram
        As written by :func:`histograms` with the same `step`; the mass beyond the grid counts as one cell
        past its end.
    angles
        float64 (a,), θ ≥ 0.
    out
        float64 (n, ≥ 3a).
    """
    n = histogram.shape[0]
    n_cells = histogram.shape[1] - CELL_ZERO
    # Weights hang on the distance to the highest cell alone: one table serves all tasks, which have 50 times as many
    # cells in use as there are distances.
    weights = np.empty((angles.size, n_cells + 1))
    for a in range(angles.size):
        for distance in range(n_cells + 1):
            # Relative to the highest cell, so that no exponential exceeds 1, whatever θ.
            weights[a, distance] = math.exp(angles[a] * -distance * step)
    used_cells = np.empty(n_cells, np.int64)
    for i in range(n):
        mass_of_cell = histogram[i, CELL_ZERO:]
        high = int(histogram[i, LAST_CELL])
        beyond = 1.0
        n_used = 0
        for cell in range(int(histogram[i, FIRST_CELL]), high + 1):
            beyond -= mass_of_cell[cell]
            if mass_of_cell[cell] > 0:
                used_cells[n_used] = cell
                n_used += 1
        top = n_cells if beyond > _NO_MASS else high
        for a in range(angles.size):
            zeroth = 0.0
            first = 0.0
            second = 0.0
            for k in range(n_used):
                cell = used_cells[k]
                weight = mass_of_cell[cell] * weights[a, top - cell]
                zeroth += weight
                first += weight * cell * step
                second += weight * (cell * step) ** 2
            if top == n_cells:
                zeroth += beyond
                first += beyond * n_cells * step
                second += beyond * (n_cells * step) ** 2
            mean = first / zeroth
            # A variance, but as a difference it may round below 0 where one cell has nearly all the weight.
            variance = max(second / zeroth - mean * mean, 0.0)
            out[i, 3 * a] = angles[a] * top * step + math.log(zeroth)
            out[i, 3 * a + 1] = mean
            out[i, 3 * a + 2] = variance
