"""The machines of a cell while tasks come and go: room as whole numbers, indexed so that few are looked at.

Machines of one capacity form a class, and within a class a grid of what is free (CPU × memory) holds the machines with
tasks.  Empty ones are all alike, so that only the lowest of a class is ever a candidate.  The grid is finer where
little is free: that is where most machines of a full cell are.
"""

import math
from dataclasses import dataclass, field
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
BLOCK = 64
"""Machines in a row whose empty ones are counted together, so that full stretches are passed over."""
CPU, MEMORY, EXTENDED = range(3)
"""Columns of what tasks take: from the third on resources that no score looks at."""


class Cell(NamedTuple):
    """Machines, sorted by class and rank, and the tasks on them; all integers are int64.

    Attributes
    ----------
    capacity, free
        Shape (machines, 2 + extended): CPU and memory in parts of `UNIT`, then extended resources, each in its own.
    rank
        Shape (machines,): among equal scores the lowest rank wins.
    is_up
        Shape (machines,): whether tasks may be placed.
    n_tasks
        Shape (machines,).
    first
        Shape (classes + 1,): where each class begins.
    idle
        Shape (blocks,): how many of `BLOCK` machines in a row are there and empty.
    heads
        Shape (classes, SIDE, SIDE): first machine in a square, −1 where there is none.
    filled
        Shape (classes, SIDE): of each row of squares, a bit for every one that holds machines.
    places
        Shape (machines, 4): class, square, and the next and the previous machine of the square; −1: none.
    tops
        Shape (machines,): the latest task of a machine.
    tasks
        Shape (tasks, 3): machine, and the next and the previous task there; −1: none.
    sizes, sets
        Shapes (tasks, 2 + extended) and (tasks,): what each takes, and its line of `allowed`.
    allowed
        bool (1 + sets, machines): which machines meet each set of constraints; the first is none.
    groups
        Shape (tasks,): tasks of one group share no machine (−1: no group).
    variances, spread
        Shapes (tasks, 2) and (machines, 2): variance of what a task takes, and their sums, in squared units.
    safety
        Square of how many standard deviations of its tasks stay free on a machine; 0: nothing is asked of variances.
    """

    capacity: Index
    free: Index
    rank: Index
    is_up: Flags
    n_tasks: Index
    first: Index
    idle: Index
    heads: Index
    filled: Index
    places: Index
    tops: Index
    tasks: Index
    sizes: Index
    sets: Index
    groups: Index
    variances: Index
    spread: Index
    allowed: Flags
    safety: float


CLASS, _SQUARE, NEXT, _PREVIOUS = range(4)
_IDLE = SIDE * SIDE
"""The square of a machine that is there and empty."""
MACHINE, NEXT_TASK, PREVIOUS_TASK = range(3)


NOTHING: Index = np.empty((0, 2), np.int64)
"""What stands for the variances of tasks that take what they are planned with, and for resources that none asks for."""
ANYWHERE: Flags = np.empty((0, 0), np.bool_)
"""What stands for machines where no task has constraints."""


@dataclass(frozen=True, eq=False)
class Demand:
    """Tasks to be packed.

    Attributes
    ----------
    sizes
        int64 (n, 2): CPU and memory, in parts of `UNIT`.
    groups
        int64 (n,): tasks of one group share no machine; −1: no group.
    sets
        int64 (n,): 0, or 1 + the line of `allowed` that says where the task may be.
    allowed
        bool (sets, machines): which machines meet each set of constraints.
    variances, safety
        As of :class:`Cell`.
    extended
        int64 (n, extended): what else they take, in units of their own: GPUs, or room that is promised to them.
    """

    sizes: Index
    groups: Index
    sets: Index
    allowed: Flags = field(default_factory=lambda: ANYWHERE)
    variances: Index = field(default_factory=lambda: NOTHING)
    safety: float = 0.0
    extended: Index = field(default_factory=lambda: NOTHING)

    def of(self, chosen: Flags) -> "Demand":
        """Return some of the tasks."""
        varied, extended = (
            part[chosen] if len(part) else NOTHING for part in (self.variances, self.extended)
        )
        parts = self.sizes[chosen], self.groups[chosen], self.sets[chosen], self.allowed
        return Demand(*parts, varied, self.safety, extended)

    @property
    def taken(self) -> Index:
        """All that each takes: a new int64 (n, 2 + extended)."""
        return np.hstack([self.sizes, self.extended] if len(self.extended) else [self.sizes])


def make_cell(capacity: Index, rank: Index, demand: Demand) -> tuple[Cell, Index]:
    """Return an empty cell, and the line of `capacity` behind each of its machines.

    Parameters
    ----------
    capacity
        Shape (machines, 2 + extended); CPU and memory are above 0.
    rank
        Shape (machines,): the order of ties, each number once.
    demand
        The tasks.
    """
    order = np.lexsort((rank, *capacity.T[::-1]))
    shape = capacity[order]
    n = len(order)
    is_first = (
        np.append(True, (np.diff(shape, axis=0) != 0).any(axis=1)) if n else np.empty(0, np.bool_)
    )
    first = np.append(np.flatnonzero(is_first), n).astype(np.int64)
    kinds = len(first) - 1
    places = np.full((n, 4), -1, np.int64)
    places[:, CLASS] = np.cumsum(is_first) - 1
    places[:, _SQUARE] = _IDLE
    idle = np.bincount(np.arange(n) // BLOCK).astype(np.int64)
    rows = demand.allowed[:, order] if len(demand.allowed) else np.empty((0, n), np.bool_)
    cell = Cell(
        *(
            np.ascontiguousarray(shape),
            shape.copy(),
            rank[order],
            np.ones(n, np.bool_),
            np.zeros(n, np.int64),
        ),
        *(
            first,
            idle,
            np.full((kinds, SIDE, SIDE), -1, np.int64),
            np.zeros((kinds, SIDE), np.int64),
        ),
        *(places, np.full(n, -1, np.int64), np.full((len(demand.sizes), 3), -1, np.int64)),
        *(demand.taken, demand.sets, demand.groups, demand.variances, np.zeros((n, 2), np.int64)),
        allowed=np.vstack([np.ones((1, n), np.bool_), rows]),
        safety=demand.safety,
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


@compiled(inline=True, makes_arrays=False)
def lowest(bits: int) -> int:
    """Return the place of the lowest bit of some."""
    return math.frexp(float(bits & -bits))[1] - 1


@compiled(inline=True, makes_arrays=False)
def highest(bits: int) -> int:
    """Return the place of the highest bit of some."""
    return math.frexp(float(bits))[1] - 1


@compiled(makes_arrays=False)
def settle(cell: Cell, machine: int) -> None:
    """Bring the place of a machine in the grid up to date."""
    places = cell.places
    kind = places[machine, CLASS]
    old = places[machine, _SQUARE]
    new = -1
    if cell.is_up[machine]:
        new = _IDLE
        if cell.n_tasks[machine]:
            row = level(cell.free[machine, CPU], cell.capacity[machine, CPU])
            new = row * SIDE + level(cell.free[machine, MEMORY], cell.capacity[machine, MEMORY])
    if new == old:
        return
    if old == _IDLE:
        cell.idle[machine // BLOCK] -= 1
    elif old >= 0:
        after = places[machine, NEXT]
        before = places[machine, _PREVIOUS]
        if before >= 0:
            places[before, NEXT] = after
        else:
            cell.heads[kind, old // SIDE, old % SIDE] = after
        if after >= 0:
            places[after, _PREVIOUS] = before
        if cell.heads[kind, old // SIDE, old % SIDE] < 0:
            cell.filled[kind, old // SIDE] ^= 1 << old % SIDE
    places[machine, _SQUARE] = new
    if new == _IDLE:
        cell.idle[machine // BLOCK] += 1
    elif new >= 0:
        after = cell.heads[kind, new // SIDE, new % SIDE]
        places[machine, NEXT] = after
        places[machine, _PREVIOUS] = -1
        if after >= 0:
            places[after, _PREVIOUS] = machine
        cell.heads[kind, new // SIDE, new % SIDE] = machine
        cell.filled[kind, new // SIDE] |= 1 << new % SIDE


@compiled(inline=True, makes_arrays=False)
def _take(
    cell: Cell,
    task: int,
    machine: int,
    sign: int,
) -> None:
    """Let a task take of a machine what it is planned with, or give it back (−1)."""
    # Line by line: a loop over the two takes longer than what it does.
    cell.free[machine, CPU] -= sign * cell.sizes[task, CPU]
    cell.free[machine, MEMORY] -= sign * cell.sizes[task, MEMORY]
    if cell.safety > 0:
        cell.spread[machine, CPU] += sign * cell.variances[task, CPU]
        cell.spread[machine, MEMORY] += sign * cell.variances[task, MEMORY]
    for which in range(EXTENDED, cell.sizes.shape[1]):
        cell.free[machine, which] -= sign * cell.sizes[task, which]
    cell.n_tasks[machine] += sign


@compiled(makes_arrays=False)
def place(cell: Cell, task: int, machine: int) -> None:
    """Put a task on a machine."""
    _take(cell, task, machine, 1)
    after = cell.tops[machine]
    cell.tasks[task, MACHINE] = machine
    cell.tasks[task, NEXT_TASK] = after
    cell.tasks[task, PREVIOUS_TASK] = -1
    if after >= 0:
        cell.tasks[after, PREVIOUS_TASK] = task
    cell.tops[machine] = task
    settle(cell, machine)


@compiled(makes_arrays=False)
def release(cell: Cell, task: int) -> int:
    """Take a task off its machine, and return the machine."""
    machine, after, before = cell.tasks[task]
    _take(cell, task, machine, -1)
    if before >= 0:
        cell.tasks[before, NEXT_TASK] = after
    else:
        cell.tops[machine] = after
    if after >= 0:
        cell.tasks[after, PREVIOUS_TASK] = before
    cell.tasks[task, MACHINE] = -1
    settle(cell, machine)
    return machine
