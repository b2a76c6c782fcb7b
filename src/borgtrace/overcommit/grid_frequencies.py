"""The distribution of a sum on a grid, from its characteristic function φ at some frequencies.

The probability up to a cell follows from φ at all frequencies of a period.  φ of many tasks is almost 0 but at low
ones, and these are computed.  The higher ones are bounded from the values of φ at some of them, the nodes, and from the
variances of the tasks, and so is the error.  Where that leaves open on which side of the target a cell lies, the answer
is `UNDECIDED`.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Numbers
from borgtrace.kernels.compiled import compiled

CELLS = 1000
"""Steps of the grid, up to the sum of the warm tasks' limits."""
PERIOD = 1200
"""The distribution is taken as periodic: what reaches so many cells would count as low."""
UNDECIDED = -1
FEW_LOW = 32
FEW_NODES = (32, 40, 48, 64, 80, 96, 128, 160, 192, 224, 280, 344, 408, 472, 536, 600)
"""What serves a sum with a deviation of some thirty cells or more; the last node is half the period."""
MORE_LOW = 56
MORE_NODES = (*range(56, 80, 4), *range(80, 88, 8), *range(88, 601, 16))
_ROUNDING = 1e-8


class SumFunction(NamedTuple):
    """φ of a sum on a grid at some frequencies, θ = 2πf ÷ `PERIOD`, and what makes probabilities of it.

    The numbers of frequencies of both kinds are multiples of eight, which processors add at once.  Kernels read both
    halves of a row by unsigned numbers: such an index cannot count from the end, and their loops are vectorized
    without slices.

    Attributes
    ----------
    table
        Of each cell x: cos θx of the low frequencies and of the nodes, then sin θx of them: (CELLS + 2, width).
    inverse
        Real and imaginary part of 1 ÷ (1 − exp(−iθ)) of the low frequencies, 0 at 0: (2, low).
    margin
        What a unit of variance adds to |φ| between two nodes: (nodes − 1,).
    weight
        What |φ| between two nodes can add to the error of a probability: (nodes − 1,).
    product
        Real and imaginary part of φ at the low frequencies: (2, low).
    bounds
        Of |φ| between two nodes: (nodes − 1,).
    magnitude, parts
        Room for |φ| of a task at the nodes, and for φ ÷ (1 − exp(−iθ)): (nodes,), (2, low).
    """

    table: Numbers
    inverse: Numbers
    margin: Numbers
    weight: Numbers
    product: Numbers
    bounds: Numbers
    magnitude: Numbers
    parts: Numbers


@cache
def _make_table(n_low: int, nodes: tuple[int, ...]) -> Numbers:
    theta = np.append(np.arange(n_low), nodes) * (2 * math.pi / PERIOD)
    angles = np.outer(np.arange(CELLS + 2), theta)
    return np.hstack([np.cos(angles), np.sin(angles)])


def make_sum_function(n_low: int, nodes: tuple[int, ...]) -> SumFunction:
    """Return room for φ of a sum at the frequencies below `n_low`, and at the nodes from there on."""
    theta = np.arange(1, n_low) * (2 * math.pi / PERIOD)
    inverse = 1 / (1 - np.exp(-1j * theta))
    inverse_parts = np.zeros((2, n_low))
    inverse_parts[0, 1:] = inverse.real
    inverse_parts[1, 1:] = inverse.imag
    gaps = np.diff(nodes)
    return SumFunction(
        table=_make_table(n_low, nodes),
        inverse=inverse_parts,
        # Between two frequencies a function deviates from the line through its values by at most δ²/8 of its second
        # derivative, and that of φ, of a centered task, is at most the variance.
        margin=(gaps * (2 * math.pi / PERIOD)) ** 2 / 8,
        # A frequency f adds at most |φ| ÷ f.
        weight=gaps / np.array(nodes[:-1]),
        product=np.empty((2, n_low)),
        bounds=np.empty(len(gaps)),
        magnitude=np.empty(len(nodes)),
        parts=np.empty((2, n_low)),
    )


@compiled(makes_arrays=False)
def begin_sum(function: SumFunction) -> None:
    """Make φ that of an empty sum."""
    function.product[0] = 1.0
    function.product[1] = 0.0
    function.bounds[:] = 1.0


@compiled(makes_arrays=False)
def add_to_sum(own: Numbers, size: int, variance: float, function: SumFunction) -> None:
    """Add a task to a sum.

    Parameters
    ----------
    own
        Sums over the samples of its history, of the columns of the table.
    size, variance
        Number of samples, and their variance in squared cells.
    function
        Of the sum, changed in place.
    """
    factor = 1.0 / size
    _multiply(own, factor, function.product[0], function.product[1])
    _write_magnitudes(own, factor, function.magnitude)
    _multiply_bounds(function.magnitude, function.margin, variance, function.bounds)


@compiled(makes_arrays=False)
def _multiply(own: Numbers, factor: float, real: Numbers, imaginary: Numbers) -> None:
    """Multiply the real and imaginary parts of a product by those of a task."""
    half = np.uint64(own.size // 2)
    for f in range(np.uint64(real.size)):
        x = own[f] * factor
        y = own[half + f] * factor
        a = real[f]
        b = imaginary[f]
        real[f] = a * x - b * y
        imaginary[f] = b * x + a * y


@compiled(makes_arrays=False)
def _write_magnitudes(own: Numbers, factor: float, magnitude: Numbers) -> None:
    half = np.uint64(own.size // 2)
    n_low = half - np.uint64(magnitude.size)
    for f in range(np.uint64(magnitude.size)):
        x = own[n_low + f]
        y = own[half + n_low + f]
        magnitude[f] = math.sqrt(x * x + y * y) * factor


@compiled(makes_arrays=False)
def _multiply_bounds(magnitude: Numbers, margin: Numbers, variance: float, bounds: Numbers) -> None:
    for f in range(bounds.size):
        highest = max(magnitude[f], magnitude[f + 1])
        bounds[f] *= min(highest + margin[f] * variance, 1.0)


@compiled(makes_arrays=False)
def quantile_cell(function: SumFunction, probability: float, guess: int) -> int:
    """Return the first cell whose cumulative probability reaches a bound, else the last one; or `UNDECIDED`.

    `guess` is a cell near it.
    """
    error = _ROUNDING
    for f in range(function.bounds.size):
        error += function.bounds[f] * function.weight[f]
    whole = _write_parts(function)
    below = -1
    reached = CELLS
    cell = min(max(guess, 0), CELLS - 1)
    jump = 1
    while reached - below > 1:
        part = _dot_row(function.parts, function.table[cell + 1])
        cumulative = (cell + 1) / PERIOD + 2 / PERIOD * (whole - part)
        if abs(cumulative - probability) <= error:
            return UNDECIDED
        if cumulative >= probability:
            reached = cell
            cell -= jump
        else:
            below = cell
            cell += jump
        jump *= 2
        if cell <= below or cell >= reached:
            cell = (below + reached) // 2
            jump = 1
    return reached


@compiled(makes_arrays=False)
def _write_parts(function: SumFunction) -> float:
    """Write the real and imaginary parts of φ ÷ (1 − exp(−iθ)) at the low frequencies; return the sum of the real."""
    whole = 0.0
    for f in range(function.parts.shape[1]):
        x = function.inverse[0, f]
        y = function.inverse[1, f]
        function.parts[0, f] = function.product[0, f] * x - function.product[1, f] * y
        function.parts[1, f] = function.product[0, f] * y + function.product[1, f] * x
        whole += function.parts[0, f]
    return whole


@compiled(makes_arrays=False)
def _dot_row(parts: Numbers, row: Numbers) -> float:
    """Return the sum of the real parts times the cosines of a cell, and of the imaginary ones times the sines."""
    half = np.uint64(row.size // 2)
    # Two at a time, for one addition waits for the one before.
    of_even = 0.0
    of_odd = 0.0
    one = np.uint64(1)
    for even in range(np.uint64(0), np.uint64(parts.shape[1]), np.uint64(2)):
        odd = even + one
        of_even += parts[0, even] * row[even] + parts[1, even] * row[half + even]
        of_odd += parts[0, odd] * row[odd] + parts[1, odd] * row[half + odd]
    return of_even + of_odd
