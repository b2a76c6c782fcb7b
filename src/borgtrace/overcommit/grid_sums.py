"""Quantiles of sums of tasks on a grid, from their characteristic functions; slots that follow share most of the work.

A slot's warm tasks lie on a grid of `CELLS` steps up to the sum of their limits.  The characteristic function of their
sum is a product over tasks, each of which changes by a sample from slot to slot.
"""

import math
from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.overcommit.block import Histories
from borgtrace.overcommit.grid_frequencies import (
    CELLS,
    FEW_LOW,
    FEW_NODES,
    MORE_LOW,
    MORE_NODES,
    PERIOD,
    UNDECIDED,
    SumFunction,
    add_to_sum,
    begin_sum,
    make_sum_function,
    quantile_cell,
)
from borgtrace.overcommit.grid_histories import add_value, make_histogram, write_history

LEAST_DEVIATION = 16
"""Of a sum, in cells: with less, its frequencies above the low ones count."""
_ENOUGH_DEVIATION = 30
"""Of a sum, in cells: with more, few frequencies decide it."""
GRIDS = 6
"""Grids that are kept: a task that misses a slot changes the grid, and returns to the one before."""
_MOST_UPDATES = 16
"""Samples that are added or removed one by one; for more, the task is added up anew."""


class TaskSums(NamedTuple):
    """Sums over histories of exp(iθx) on some grids, as far as they were needed.

    Attributes
    ----------
    step, used, stamp, has_more
        Of each grid: its step, when it was last used, a number that changes when it becomes another one, and whether
        its sums are of more than a few frequencies.
    sums
        Of the columns of the table of frequencies: (grids, tasks, width).
    first, end, task_stamp
        Which samples a sum holds, and the stamp of its grid then: (grids, tasks).
    """

    step: Numbers
    used: Index
    stamp: Index
    has_more: Flags
    sums: Numbers
    first: Index
    end: Index
    task_stamp: Index


class GridSums(NamedTuple):
    """Sums of the tasks of a machine, the sum at few and at more frequencies, and room.

    `histogram` is from :func:`borgtrace.overcommit.grid_histories.make_histogram`.
    """

    tasks: TaskSums
    few: SumFunction
    more: SumFunction
    histogram: Numbers


class SlotSum(NamedTuple):
    """What is asked of a slot: its number, the step of its grid, the deviation of the sum in cells, and the quantile.

    `guess` is a cell near the quantile.
    """

    j: int
    step: float
    deviation: float
    probability: float
    guess: int


def make_sums(n_tasks: int) -> GridSums:
    """Return room for the sums of the tasks of a machine."""
    shape = (GRIDS, n_tasks)
    more = make_sum_function(MORE_LOW, MORE_NODES)
    tasks = TaskSums(
        step=np.zeros(GRIDS),
        used=np.zeros(GRIDS, np.int64),
        stamp=np.zeros(GRIDS, np.int64),
        has_more=np.zeros(GRIDS, np.bool_),
        sums=np.zeros((*shape, more.table.shape[1])),
        first=np.zeros(shape, np.int64),
        end=np.zeros(shape, np.int64),
        task_stamp=np.zeros(shape, np.int64),
    )
    return GridSums(
        tasks=tasks,
        few=make_sum_function(FEW_LOW, FEW_NODES),
        more=more,
        histogram=make_histogram(),
    )


@compiled(makes_arrays=False)
def deviation_in_cells(
    present: Index,
    warm: Flags,
    highest: Numbers,
    variance: Numbers,
    step: float,
) -> float:
    """Return the deviation of the sum of the warm tasks; 0 where it, or a task, may leave the period of the grid.

    Parameters
    ----------
    present
        Samples of a slot.
    warm, highest, variance
        Of each sample: whether its task is warm, and the highest sample and the variance of its history.
    step
        Of the grid.
    """
    most = 0.0
    sum_of_highest = 0.0
    n_warm = 0
    variance_of_sum = 0.0
    for i in present:
        if warm[i]:
            n_warm += 1
            most = max(most, highest[i])
            sum_of_highest += highest[i]
            variance_of_sum += variance[i]
    if most / step >= CELLS or sum_of_highest / step + 2 * n_warm >= PERIOD:
        return 0.0
    return math.sqrt(variance_of_sum) / step


@compiled(makes_arrays=False)
def decided_cell(
    slot: SlotSum,
    present: Index,
    histories: Histories,
    variance: Numbers,
    grids: GridSums,
) -> int:
    """Return the cell of a quantile of the sum of the warm tasks of a slot, or `UNDECIDED`.

    Parameters
    ----------
    slot
        What is asked.
    present
        Samples of the slot.
    histories, variance
        Of all samples.
    grids
        Changed in place.
    """
    tasks = grids.tasks
    g = _grid_of(slot, tasks)
    cell = UNDECIDED
    while cell == UNDECIDED:
        function = grids.more if tasks.has_more[g] else grids.few
        cell = _cell_of(slot, present, histories, variance, g, function, tasks, grids.histogram)
        if tasks.has_more[g]:
            break
        if cell == UNDECIDED:
            tasks.has_more[g] = True
            tasks.stamp[g] += 1
    return cell


@compiled(makes_arrays=False)
def _grid_of(slot: SlotSum, tasks: TaskSums) -> int:
    """Return the place of the grid with a step, instead of the one that was not used for longest where it is new."""
    oldest = 0
    for g in range(tasks.step.size):
        if tasks.step[g] == slot.step:
            tasks.used[g] = slot.j
            return g
        if tasks.used[g] < tasks.used[oldest]:
            oldest = g
    tasks.step[oldest] = slot.step
    tasks.used[oldest] = slot.j
    tasks.stamp[oldest] += 1
    tasks.has_more[oldest] = slot.deviation < _ENOUGH_DEVIATION
    return oldest


@compiled(makes_arrays=False)
def _cell_of(
    slot: SlotSum,
    present: Index,
    histories: Histories,
    variance: Numbers,
    g: int,
    function: SumFunction,
    tasks: TaskSums,
    histogram: Numbers,
) -> int:
    """Return the cell of a quantile as some frequencies tell it, or `UNDECIDED`."""
    known = histories.known
    cells_per_unit = 1.0 / slot.step
    begin_sum(function)
    for i in present:
        if histories.warm[i]:
            task = known.task[i]
            low = histories.low[i]
            own = tasks.sums[g, task, : function.table.shape[1]]
            _update_task(known.usage, low, i + 1, g, task, function.table, tasks, histogram)
            # A value between two cells adds a quarter of a squared step at most.
            variance_in_cells = variance[i] * cells_per_unit**2 + 0.25
            add_to_sum(own, i + 1 - low, variance_in_cells, function)
    return quantile_cell(function, slot.probability, slot.guess)


@compiled(makes_arrays=False)
def _update_task(
    usage: Numbers,
    first: int,
    end: int,
    g: int,
    task: int,
    table: Numbers,
    tasks: TaskSums,
    histogram: Numbers,
) -> None:
    """Let the sums of a task on a grid hold its samples from `first` to before `end`."""
    own = tasks.sums[g, task, : table.shape[1]]
    cells_per_unit = 1.0 / tasks.step[g]
    old_first = tasks.first[g, task]
    old_end = tasks.end[g, task]
    is_known = tasks.task_stamp[g, task] == tasks.stamp[g]
    tasks.first[g, task] = first
    tasks.end[g, task] = end
    tasks.task_stamp[g, task] = tasks.stamp[g]
    if is_known and first - old_first + end - old_end <= _MOST_UPDATES and first < old_end:
        for k in range(old_first, first):
            add_value(usage[k] * cells_per_unit, -1.0, table, own)
        for k in range(old_end, end):
            add_value(usage[k] * cells_per_unit, 1.0, table, own)
    else:
        write_history(usage[first:end], cells_per_unit, table, histogram, own)
