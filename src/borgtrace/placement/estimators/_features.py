"""What estimators read off a task's observed values: moments, quantiles, histograms, generating functions."""

import math

import numpy as np

from borgtrace.kernels.arrays import Numbers, Values
from borgtrace.kernels.compiled import compiled

ANGLES = 26
"""θ = 0 and 25 steps of a third up to 512 ÷ capacity: a deviation of 1 % of the capacity has its saddle inside."""


def angles(capacity: float) -> Numbers:
    """θ = 0 and a geometric grid from 0.5 to 512 over the capacity, where generating functions are kept: (ANGLES,)."""
    # Geometric, because the saddle of a Gaussian sum is z/σ: 310 for σ = 1 % of the capacity at ρ = .001.
    return np.concatenate([[0.0], np.geomspace(0.5, 512.0, ANGLES - 1)]) / capacity


@compiled()
def moments(values: Values, out: Numbers) -> None:
    """Write mean, second to fourth central moment (ddof 0), minimum and maximum of each row.

    Parameters
    ----------
    values
        float32 (n, k), k ≥ 1; sums are taken in float64, in two passes.
    out
        float64 (n, 6).
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
        out[i, 0] = mean
        out[i, 1] = second / k
        out[i, 2] = third / k
        out[i, 3] = fourth / k
        out[i, 4] = low
        out[i, 5] = high


@compiled()
def histograms(values: Values, step: float, out: Numbers) -> None:
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
    cells = out.shape[1] - 2
    for i in range(n):
        out[i] = 0.0
        for t in range(k):
            position = values[i, t] / step
            cell = int(position)
            share = position - cell
            # A float32 usage misses its cell by rounding: constant tasks would get two cells, and a variance.
            if share < 1e-3:
                share = 0.0
            elif share > 1 - 1e-3:
                share = 0.0
                cell = cell + 1
            if cell < cells:
                out[i, 2 + cell] += 1 - share
            if share > 0 and cell + 1 < cells:
                out[i, 3 + cell] += share
        # Convolutions run from the first to the last occupied cell, often a few of two thousand.
        low = 0
        high = cells - 1
        while low < cells - 1 and out[i, 2 + low] == 0:
            low += 1
        while high > low and out[i, 2 + high] == 0:
            high -= 1
        out[i, 0] = low
        out[i, 1] = high
        for cell in range(low, high + 1):
            out[i, 2 + cell] /= k


@compiled()
def cumulant_functions(histogram: Numbers, step: float, angles: Numbers, out: Numbers) -> None:
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
    cells = histogram.shape[1] - 2
    for i in range(n):
        low = int(histogram[i, 0])
        high = int(histogram[i, 1])
        beyond = 1.0
        for cell in range(low, high + 1):
            beyond -= histogram[i, 2 + cell]
        # Below 1e-9 it is rounding of the sum, not usage beyond the grid.
        top = cells if beyond > 1e-9 else high
        for a in range(angles.size):
            zeroth = 0.0
            first = 0.0
            second = 0.0
            for cell in range(low, high + 1):
                mass = histogram[i, 2 + cell]
                if mass > 0:
                    # Relative to the highest cell, so that no exponential exceeds 1, whatever θ.
                    weight = mass * math.exp(angles[a] * (cell - top) * step)
                    zeroth += weight
                    first += weight * cell * step
                    second += weight * (cell * step) ** 2
            if top == cells:
                zeroth += beyond
                first += beyond * cells * step
                second += beyond * (cells * step) ** 2
            mean = first / zeroth
            out[i, 3 * a] = angles[a] * top * step + math.log(zeroth)
            out[i, 3 * a + 1] = mean
            # A variance, but as a difference it may round below 0 where one cell has nearly all the weight.
            out[i, 3 * a + 2] = max(second / zeroth - mean * mean, 0.0)
