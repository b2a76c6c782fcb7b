"""The machines of a cell while tasks come and go: room as whole numbers, indexed so that few are looked at.

Machines of one capacity form a class, and within a class a grid of what is free (CPU × memory) holds the machines with
tasks.  Empty ones are all alike, so that only the lowest of a class is ever a candidate.  The grid is finer where
little is free: that is where most machines of a full cell are.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from borgtrace.kernels.arrays import Flags, Index
from borgtrace.kernels.compiled import compiled

UNIT = 2**20
"""Parts of the largest machine that resources are counted in: the smallest step of the traces.

Whole numbers, because sums of fractions depend on the order of their terms, and with them what fits.
"""
SIDE = 32
"""Rows and columns of the grid of a class."""
CPU, MEMORY = 0, 1


class Cell(NamedTuple):
    """Machines, sorted by class and rank, and the tasks on them; all integers are int64.

    Attributes
    ----------
    capacity, free
        Shape (machines, 2): CPU and memory in parts of `UNIT`.
    rank
        Shape (machines,): among equal scores the lowest rank wins.
    is_up
        Shape (machines,): whether tasks may be placed.
    n_tasks
        Shape (machines,).
    first
        Shape (classes + 1,): where each class begins.
    empty
        Shape (classes,): no machine of the class before this one is empty.
    heads
        Shape (classes, SIDE, SIDE): first machine in a square, −1 where there is none.
    filled
        Shape (classes, SIDE): machines in a row of squares.
    places
        Shape (machines, 4): class, square, and the next and the previous machine of the square; −1: none.
    tops
        Shape (machines,): the latest task of a machine.
    tasks
        Shape (tasks, 3): machine, and the next and the previous task there; −1: none.
    """

    capacity: Index
    free: Index
    rank: Index
    is_up: Flags
    n_tasks: Index
    first: Index
    empty: Index
    heads: Index
    filled: Index
    places: Index
    tops: Index
    tasks: Index


CLASS, _SQUARE, NEXT, _PREVIOUS = range(4)
MACHINE, NEXT_TASK, PREVIOUS_TASK = range(3)


def make_cell(capacity: Index, rank: Index, n_tasks: int) -> tuple[Cell, Index]:
    """Return an empty cell, and the line of `capacity` behind each of its machines.

    Parameters
    ----------
    capacity
        Shape (machines, 2), above 0.
    rank
        Shape (machines,): the order of ties, each number once.
    n_tasks
        How many tasks there will be.
    """
    order = np.lexsort((rank, capacity[:, MEMORY], capacity[:, CPU]))
    shape, n = capacity[order], len(order)
    is_first = np.append(True, (np.diff(shape, axis=0) != 0).any(axis=1)) if n else np.empty(0, np.bool_)
    first = np.append(np.flatnonzero(is_first), n).astype(np.int64)
    kinds, places = len(first) - 1, np.full((n, 4), -1, np.int64)
    places[:, CLASS] = np.cumsum(is_first) - 1
    cell = Cell(
        *(np.ascontiguousarray(shape), shape.copy(), rank[order], np.ones(n, np.bool_), np.zeros(n, np.int64)),
        *(first, first[:-1].copy(), np.full((kinds, SIDE, SIDE), -1, np.int64), np.zeros((kinds, SIDE), np.int64)),
        *(places, np.full(n, -1, np.int64), np.full((n_tasks, 3), -1, np.int64)),
    )
    return cell, order


def to_units(values: npt.NDArray[np.floating]) -> Index:
    """Return fractions of the largest machine in parts of `UNIT`, rounded; 0 where nothing is known.

    Examples
    --------
    >>> to_units(np.array([0.5, np.nan])).tolist()
    [524288, 0]
    """
    return np.rint(np.nan_to_num(values.astype(np.float64)) * UNIT).astype(np.int64)


@compiled(inline=True, makes_arrays=False)
def level(free: int, capacity: int) -> int:
    """Row or column of the grid for what is free of a capacity: never lower for more."""
    if free <= 0:
        return 0
    return min(SIDE - 1, int(SIDE * np.sqrt(free / capacity)))


@compiled(makes_arrays=False)
def settle(cell: Cell, machine: int) -> None:
    """Bring the place of a machine in the grid up to date."""
    places = cell.places
    kind, old = places[machine, CLASS], places[machine, _SQUARE]
    new = -1
    if cell.is_up[machine]:
        if cell.n_tasks[machine] == 0:
            cell.empty[kind] = min(cell.empty[kind], machine)
        else:
            row = level(cell.free[machine, CPU], cell.capacity[machine, CPU])
            new = row * SIDE + level(cell.free[machine, MEMORY], cell.capacity[machine, MEMORY])
    if new == old:
        return
    if old >= 0:
        after, before = places[machine, NEXT], places[machine, _PREVIOUS]
        if before >= 0:
            places[before, NEXT] = after
        else:
            cell.heads[kind, old // SIDE, old % SIDE] = after
        if after >= 0:
            places[after, _PREVIOUS] = before
        cell.filled[kind, old // SIDE] -= 1
    places[machine, _SQUARE] = new
    if new >= 0:
        after = cell.heads[kind, new // SIDE, new % SIDE]
        places[machine, NEXT], places[machine, _PREVIOUS] = after, -1
        if after >= 0:
            places[after, _PREVIOUS] = machine
        cell.heads[kind, new // SIDE, new % SIDE] = machine
        cell.filled[kind, new // SIDE] += 1


@compiled(makes_arrays=False)
def place(cell: Cell, task: int, machine: int, cpu: int, memory: int) -> None:
    """Put a task on a machine, which takes so much of it."""
    cell.free[machine, CPU] -= cpu
    cell.free[machine, MEMORY] -= memory
    cell.n_tasks[machine] += 1
    after = cell.tops[machine]
    cell.tasks[task, MACHINE] = machine
    cell.tasks[task, NEXT_TASK], cell.tasks[task, PREVIOUS_TASK] = after, -1
    if after >= 0:
        cell.tasks[after, PREVIOUS_TASK] = task
    cell.tops[machine] = task
    settle(cell, machine)


@compiled(makes_arrays=False)
def release(cell: Cell, task: int, cpu: int, memory: int) -> int:
    """Take a task off its machine, and return the machine."""
    machine, after, before = cell.tasks[task]
    cell.free[machine, CPU] += cpu
    cell.free[machine, MEMORY] += memory
    cell.n_tasks[machine] -= 1
    if before >= 0:
        cell.tasks[before, NEXT_TASK] = after
    else:
        cell.tops[machine] = after
    if after >= 0:
        cell.tasks[after, PREVIOUS_TASK] = before
    cell.tasks[task, MACHINE] = -1
    settle(cell, machine)
    return machine
