"""Distributions on a grid: values spread over its cells, and the distribution of a sum."""

import numpy as np

from borgtrace.kernels.arrays import Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.runs import add_run


@compiled(inline=True)
def position_on_grid(value: float, step: float, tolerance: float) -> tuple[int, float]:
    """Return the cell below a value, and the share that goes to the next one, which keeps the mean.

    Parameters
    ----------
    value
        Not negative.
    step
        Width of a cell; cell j stands for the value j · step.
    tolerance
        A value closer to a cell than this part of a step is put on it.

    Examples
    --------
    >>> position_on_grid(1.25, 0.5, 0.0), position_on_grid(1.4999, 0.5, 0.001)
    ((2, 0.5), (3, 0.0))
    """
    position = value / step
    cell = int(position)
    share = position - cell
    if share < tolerance:
        return cell, 0.0
    if share > 1 - tolerance:
        return cell + 1, 0.0
    return cell, share


@compiled()
def convolved(
    mass: Numbers,
    n_used: int,
    own: Numbers,
    low: int,
    high: int,
) -> Numbers:
    """Return Σ own[x] · mass[s − x] for every cell s; what lies beyond the grid is dropped.

    Done directly: at the few hundred cells that a task occupies this beats an FFT, and no probability is negative.

    Parameters
    ----------
    mass
        float64 (cells,): distribution, or cumulative distribution, of the sum so far.
    n_used
        Cells of `mass` to read: the others are 0.
    own
        float64 (cells,): distribution of the task that joins.
    low, high
        First and last cell of `own` to read.
    """
    joined = np.zeros(mass.size)
    for x in range(low, high + 1):
        if own[x] > 0:
            add_run(
                mass[: min(n_used, mass.size - x)],
                np.inf,
                own[x],
                joined[x:],
            )
    return joined
