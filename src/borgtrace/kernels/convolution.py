"""Distributions on a grid: values spread over its cells, and the distribution of a sum."""

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
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
    used_cells = np.empty(4, np.int64)
    n_waiting = 0
    for x in range(low, high + 1):
        if own[x] > 0:
            used_cells[n_waiting] = x
            n_waiting += 1
        if n_waiting == 4:
            _add_four(mass, n_used, own, used_cells, joined)
            n_waiting = 0
    for k in range(n_waiting):
        x = used_cells[k]
        add_run(mass[: min(n_used, mass.size - x)], np.inf, own[x], joined[x:])
    return joined


@compiled(makes_arrays=False)
def _add_four(mass: Numbers, n_used: int, own: Numbers, cells: Index, joined: Numbers) -> None:
    """Add what four ascending cells contribute, in their order: the same bits as one after the other, in half the time.

    Sums are read and written once for all four where all of them contribute.
    """
    first = cells[3]
    end = min(cells[0] + n_used, mass.size)
    # Where the last one does not contribute yet, or the first one no more.
    is_apart = first >= end
    for k in range(4):
        x = cells[k]
        own_end = min(x + n_used, mass.size)
        head_end = own_end if is_apart else min(first, own_end)
        add_run(mass[: head_end - x], np.inf, own[x], joined[x:])
    if is_apart:
        return
    _add_runs(
        mass[first - cells[0] : end - cells[0]],
        mass[first - cells[1] : end - cells[1]],
        mass[first - cells[2] : end - cells[2]],
        mass[: end - first],
        own,
        cells,
        joined[first:end],
    )
    for k in range(1, 4):
        x = cells[k]
        own_end = min(x + n_used, mass.size)
        add_run(mass[end - x : own_end - x], np.inf, own[x], joined[end:])


@compiled(makes_arrays=False)
def _add_runs(
    a: Numbers, b: Numbers, c: Numbers, d: Numbers, own: Numbers, cells: Index, sums: Numbers
) -> None:
    of_a = own[cells[0]]
    of_b = own[cells[1]]
    of_c = own[cells[2]]
    of_d = own[cells[3]]
    for k in range(sums.size):
        # One after the other, in the order of the cells.
        total = sums[k] + of_a * a[k]
        total += of_b * b[k]
        total += of_c * c[k]
        total += of_d * d[k]
        sums[k] = total
