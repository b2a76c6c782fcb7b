"""Quantiles of sums of tasks on a grid, from their characteristic functions; slots that follow share most of the work.

A slot's warm tasks lie on a grid of `CELLS` steps up to the sum of their limits.  The probability up to a cell follows
from the characteristic function φ of the sum, a product over tasks, each of which changes by a sample from slot to
slot.  φ of many tasks is almost 0 but at low frequencies: at the others it is bounded, from its values at some of them
and the variance, and so is the error.  Where that leaves open on which side of the target a cell lies, the caller
convolves.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled

CELLS = 1000
"""Steps of the grid, up to the sum of the warm tasks' limits."""
PERIOD = 1200
"""The distribution is taken as periodic: what reaches so many cells would count as low."""
LOW = 56
"""Frequencies 0 … LOW − 1 are computed; of the higher ones every `STRIDE`-th."""
STRIDE = 16
GRIDS = 6
"""Grids that are kept: a task that misses a slot changes the grid, and returns to the one before."""
LEAST_DEVIATION = 16
"""Of a sum, in cells: with less, its frequencies above `LOW` count."""
UNDECIDED = -1
_MOST_UPDATES = 16
"""Samples that are added or removed one by one; for more, the task is added up anew."""
_ROUNDING = 1e-9


class Frequencies(NamedTuple):
    """exp(iθx) of each cell x and frequency, real and imaginary: (CELLS + 2, frequencies); 1 ÷ (1 − exp(−iθ)): (LOW,).

    After the low frequencies those at which the others are bounded.
    """

    real: Numbers
    imaginary: Numbers
    inverse_real: Numbers
    inverse_imaginary: Numbers


@cache
def make_frequencies() -> Frequencies:
    """Return the exponentials of all frequencies."""
    nodes = np.arange(LOW, PERIOD // 2 + 1, STRIDE)
    theta = np.append(np.arange(LOW), nodes) * (2 * math.pi / PERIOD)
    exponentials = np.exp(1j * np.outer(np.arange(CELLS + 2), theta))
    inverse = np.zeros(LOW, np.complex128)
    inverse[1:] = 1 / (1 - np.exp(-1j * theta[1:LOW]))
    return Frequencies(
        real=np.ascontiguousarray(exponentials.real),
        imaginary=np.ascontiguousarray(exponentials.imag),
        inverse_real=np.ascontiguousarray(inverse.real),
        inverse_imaginary=np.ascontiguousarray(inverse.imag),
    )


class TaskSums(NamedTuple):
    """Σ exp(iθx) over histories on some grids, as far as they were needed.

    Attributes
    ----------
    step, used, stamp
        Of each grid: its step, when it was last used, and a number that is changed when it becomes another one.
    real, imaginary
        (grids, tasks, frequencies).
    first, end, task_stamp
        Which samples a sum holds, and the stamp of its grid then: (grids, tasks).
    """

    step: Numbers
    used: Index
    stamp: Index
    real: Numbers
    imaginary: Numbers
    first: Index
    end: Index
    task_stamp: Index


def make_sums(n_tasks: int, n_frequencies: int) -> TaskSums:
    """Return room for the sums of the tasks of a machine."""
    shape = (GRIDS, n_tasks)
    return TaskSums(
        step=np.zeros(GRIDS),
        used=np.zeros(GRIDS, np.int64),
        stamp=np.zeros(GRIDS, np.int64),
        real=np.zeros((*shape, n_frequencies)),
        imaginary=np.zeros((*shape, n_frequencies)),
        first=np.zeros(shape, np.int64),
        end=np.zeros(shape, np.int64),
        task_stamp=np.zeros(shape, np.int64),
    )


@compiled()
def grid_of(step: float, j: int, sums: TaskSums) -> int:
    """Return the place of the grid with a step, instead of the one that was not used for longest where it is new."""
    oldest = 0
    for g in range(sums.step.size):
        if sums.step[g] == step:
            sums.used[g] = j
            return g
        if sums.used[g] < sums.used[oldest]:
            oldest = g
    sums.step[oldest] = step
    sums.used[oldest] = j
    sums.stamp[oldest] = j + 1
    return oldest


@compiled()
def update_task(
    usage: Numbers,
    first: int,
    end: int,
    g: int,
    task: int,
    sums: TaskSums,
    frequencies: Frequencies,
    histogram: Numbers,
) -> None:
    """Let the sums of a task hold its samples from `first` to before `end`.

    `histogram` is zeros, and is left so: (CELLS + 2,).
    """
    real = sums.real[g, task]
    imaginary = sums.imaginary[g, task]
    step = sums.step[g]
    old_first = sums.first[g, task]
    old_end = sums.end[g, task]
    is_known = sums.task_stamp[g, task] == sums.stamp[g]
    sums.first[g, task] = first
    sums.end[g, task] = end
    sums.task_stamp[g, task] = sums.stamp[g]
    if is_known and first - old_first + end - old_end <= _MOST_UPDATES and first < old_end:
        for k in range(old_first, first):
            _add_value(usage[k] / step, -1.0, real, imaginary, frequencies)
        for k in range(old_end, end):
            _add_value(usage[k] / step, 1.0, real, imaginary, frequencies)
        return
    real[:] = 0.0
    imaginary[:] = 0.0
    least = CELLS
    most = 0
    for k in range(first, end):
        position = usage[k] / step
        cell = int(position)
        histogram[cell] += 1.0 - (position - cell)
        histogram[cell + 1] += position - cell
        least = min(least, cell)
        most = max(most, cell + 1)
    for cell in range(least, most + 1):
        if histogram[cell] > 0:
            _add_row(frequencies.real[cell], histogram[cell], real)
            _add_row(frequencies.imaginary[cell], histogram[cell], imaginary)
            histogram[cell] = 0.0


@compiled(makes_arrays=False)
def _add_value(
    position: float,
    weight: float,
    real: Numbers,
    imaginary: Numbers,
    frequencies: Frequencies,
) -> None:
    """Add a value in steps of the grid, shared between the two cells beside it."""
    cell = int(position)
    share = position - cell
    below = weight * (1.0 - share)
    above = weight * share
    _add_rows(frequencies.real[cell], frequencies.real[cell + 1], below, above, real)
    _add_rows(frequencies.imaginary[cell], frequencies.imaginary[cell + 1], below, above, imaginary)


@compiled(makes_arrays=False)
def _add_rows(first: Numbers, second: Numbers, a: float, b: float, sums: Numbers) -> None:
    for f in range(sums.size):
        sums[f] += a * first[f] + b * second[f]


@compiled(makes_arrays=False)
def _add_row(row: Numbers, weight: float, sums: Numbers) -> None:
    for f in range(sums.size):
        sums[f] += weight * row[f]


@compiled(makes_arrays=False)
def multiply(real: Numbers, imaginary: Numbers, size: float, product: Numbers) -> None:
    """Multiply the real and imaginary parts of a product, (2, frequencies), by those of a task, divided by its size."""
    a = product[0]
    b = product[1]
    for f in range(real.size):
        x = real[f] / size
        y = imaginary[f] / size
        old = a[f]
        a[f] = old * x - b[f] * y
        b[f] = old * y + b[f] * x


@compiled(makes_arrays=False)
def multiply_bounds(
    real: Numbers,
    imaginary: Numbers,
    size: float,
    variance: float,
    magnitude: Numbers,
    bounds: Numbers,
) -> None:
    """Multiply the bounds of |φ| between the frequencies of `real` and `imaginary` by those of a task.

    Between two frequencies a function deviates from the line through its values by at most δ²/8 of its second
    derivative, and that of φ, of a centered task, is at most the variance.
    """
    distance = STRIDE * 2 * math.pi / PERIOD
    margin = distance**2 * variance / 8
    for f in range(real.size):
        magnitude[f] = math.sqrt(real[f] ** 2 + imaginary[f] ** 2) / size + margin
    for f in range(bounds.size):
        bounds[f] *= min(max(magnitude[f], magnitude[f + 1]), 1.0)


@compiled()
def quantile_cell(
    product: Numbers,
    bounds: Numbers,
    probability: float,
    guess: int,
    frequencies: Frequencies,
) -> int:
    """Return the first cell whose cumulative probability reaches a bound, else the last one; or `UNDECIDED`."""
    error = _ROUNDING
    for f in range(bounds.size):
        error += bounds[f] * STRIDE / (LOW + f * STRIDE)
    real = np.empty(LOW)
    imaginary = np.empty(LOW)
    whole = 0.0
    for f in range(LOW):
        x = frequencies.inverse_real[f]
        y = frequencies.inverse_imaginary[f]
        real[f] = product[0, f] * x - product[1, f] * y
        imaginary[f] = product[0, f] * y + product[1, f] * x
        whole += real[f]
    below = -1
    reached = CELLS
    cell = min(max(guess, 0), CELLS - 1)
    jump = 1
    while reached - below > 1:
        part = 0.0
        for f in range(1, LOW):
            part += real[f] * frequencies.real[cell + 1, f]
            part += imaginary[f] * frequencies.imaginary[cell + 1, f]
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
