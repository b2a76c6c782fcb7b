"""The machines of a cell while tasks come and go: room as whole numbers, indexed so that few machines are looked at.

Machines of one capacity form a class, and within a class a grid of free room (CPU × memory) holds the machines with
tasks.  Empty ones are all alike, so that only the lowest of a class is ever a candidate.  The grid is finer where
little is free: that is where most machines of a full cell are.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.kernels.compiled import compiled

UNIT = 2**20
"""Parts of the largest machine that resources are counted in: the smallest step of the traces.

Whole numbers, because sums of fractions depend on the order of their terms, and with them what fits.
"""
SIDE = 32
"""Rows and columns of the grid of a class."""
BLOCK = 64
"""Machines in a row whose empty ones are counted together, so that full stretches are skipped."""
CHANGES = 2**14
"""Changes of machines that are remembered for a scheduler of one's own: a power of two."""
CPU, MEMORY, EXTENDED = range(3)
"""Columns of resources: from the third on those that no score looks at."""


class CellState(NamedTuple):
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
    changes
        Shape (1 + a power of two,): how often machines have changed; in a circle, the machines of the last changes.
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
    changes: Index


CLASS, SQUARE, NEXT, PREVIOUS = range(4)
"""Columns of `places`."""
IDLE = SIDE * SIDE
"""The square of a machine that is there and empty."""
MACHINE, NEXT_TASK, PREVIOUS_TASK = range(3)
"""Columns of `tasks`."""

NOTHING: Index = np.empty((0, 2), np.int64)
"""No variances, of tasks that take what they are planned with; no extended resources."""
UNKNOWN: Index = np.empty(0, np.int64)
"""No priorities: no scheduler asks for them."""
NO_ATTRIBUTES: Numbers = np.empty((0, 0))
"""No scheduler asks for attributes of machines."""
ANYWHERE: Flags = np.empty((0, 0), np.bool_)
"""No line of `allowed`: no task has constraints."""


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
        As of :class:`CellState`.
    extended
        int64 (n, extended): what else they take, in units of their own: GPUs, or room that is promised to them.
    priority
        int64 (n,), for schedulers of one's own; none where it is not known.
    attributes
        float64 (machines, attributes): of machines, those that a scheduler of one's own names.
    """

    sizes: Index
    groups: Index
    sets: Index
    allowed: Flags = field(default_factory=lambda: ANYWHERE)
    variances: Index = field(default_factory=lambda: NOTHING)
    safety: float = 0.0
    extended: Index = field(default_factory=lambda: NOTHING)
    priority: Index = field(default_factory=lambda: UNKNOWN)
    attributes: Numbers = field(default_factory=lambda: NO_ATTRIBUTES)

    def of(self, chosen: Flags) -> "Demand":
        """Return some of the tasks."""
        return Demand(
            sizes=self.sizes[chosen],
            groups=self.groups[chosen],
            sets=self.sets[chosen],
            allowed=self.allowed,
            variances=self.variances[chosen] if len(self.variances) else NOTHING,
            safety=self.safety,
            extended=self.extended[chosen] if len(self.extended) else NOTHING,
            priority=self.priority[chosen] if len(self.priority) else UNKNOWN,
            attributes=self.attributes,
        )

    @property
    def taken(self) -> Index:
        """All that each takes: a new int64 (n, 2 + extended)."""
        if len(self.extended):
            return np.hstack([self.sizes, self.extended])
        return self.sizes.copy()


def make_cell(
    capacity: Index,
    rank: Index,
    demand: Demand,
    *,
    keeps_changes: bool = False,
) -> tuple[CellState, Index]:
    """Return an empty cell, and the line of `capacity` behind each of its machines.

    Parameters
    ----------
    capacity
        Shape (machines, 2 + extended); CPU and memory are above 0.
    rank
        Shape (machines,): the order of ties, each number once.
    demand
        The tasks.
    keeps_changes
        Whether the last `CHANGES` are remembered, and not only the last.
    """
    order = np.lexsort((rank, *capacity.T[::-1]))
    sorted_capacity = capacity[order]
    n = len(order)
    is_first = begins_class(sorted_capacity)
    first = np.append(np.flatnonzero(is_first), n).astype(np.int64)
    n_classes = len(first) - 1
    places = np.full((n, 4), -1, np.int64)
    places[:, CLASS] = np.cumsum(is_first) - 1
    places[:, SQUARE] = IDLE
    allowed = np.ones((1 + len(demand.allowed), n), np.bool_)
    if len(demand.allowed):
        allowed[1:] = demand.allowed[:, order]
    cell = CellState(
        capacity=np.ascontiguousarray(sorted_capacity),
        free=sorted_capacity.copy(),
        rank=rank[order],
        is_up=np.ones(n, np.bool_),
        n_tasks=np.zeros(n, np.int64),
        first=first,
        idle=np.bincount(np.arange(n) // BLOCK).astype(np.int64),
        heads=np.full((n_classes, SIDE, SIDE), -1, np.int64),
        filled=np.zeros((n_classes, SIDE), np.int64),
        places=places,
        tops=np.full(n, -1, np.int64),
        tasks=np.full((len(demand.sizes), 3), -1, np.int64),
        sizes=demand.taken,
        sets=demand.sets,
        groups=demand.groups,
        variances=demand.variances,
        spread=np.zeros((n, 2), np.int64),
        allowed=allowed,
        safety=demand.safety,
        changes=np.zeros(1 + (CHANGES if keeps_changes else 1), np.int64),
    )
    return cell, order


def begins_class(sorted_capacity: Index) -> Flags:
    """Whether each machine is the first of its class: machines of one capacity, which follow each other."""
    if not len(sorted_capacity):
        return np.empty(0, np.bool_)
    differs = np.diff(sorted_capacity, axis=0) != 0
    return np.append(True, differs.any(axis=1))


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


@compiled(inline=True, makes_arrays=False)
def square_of(cell: CellState, machine: int) -> int:
    """Return the square where a machine belongs: `IDLE` where it is empty, −1 where it is away."""
    if not cell.is_up[machine]:
        return -1
    if cell.n_tasks[machine] == 0:
        return IDLE
    row = level(cell.free[machine, CPU], cell.capacity[machine, CPU])
    column = level(cell.free[machine, MEMORY], cell.capacity[machine, MEMORY])
    return row * SIDE + column


@compiled(inline=True, makes_arrays=False)
def leave_square(cell: CellState, machine: int, square: int) -> None:
    """Take a machine out of the list of its square."""
    places = cell.places
    kind = places[machine, CLASS]
    row = square // SIDE
    column = square % SIDE
    after = places[machine, NEXT]
    before = places[machine, PREVIOUS]
    if before >= 0:
        places[before, NEXT] = after
    else:
        cell.heads[kind, row, column] = after
    if after >= 0:
        places[after, PREVIOUS] = before
    if cell.heads[kind, row, column] < 0:
        cell.filled[kind, row] ^= 1 << column


@compiled(inline=True, makes_arrays=False)
def enter_square(cell: CellState, machine: int, square: int) -> None:
    """Put a machine first in the list of a square."""
    places = cell.places
    kind = places[machine, CLASS]
    row = square // SIDE
    column = square % SIDE
    after = cell.heads[kind, row, column]
    places[machine, NEXT] = after
    places[machine, PREVIOUS] = -1
    if after >= 0:
        places[after, PREVIOUS] = machine
    cell.heads[kind, row, column] = machine
    cell.filled[kind, row] |= 1 << column


@compiled(inline=True, makes_arrays=False)
def note_change(cell: CellState, machine: int) -> None:
    """Remember that a machine is not what it was."""
    # The size is a power of two; a division takes longer than all of this.
    place = cell.changes[0] & (cell.changes.size - 2)
    cell.changes[1 + place] = machine
    cell.changes[0] += 1


@compiled(makes_arrays=False)
def settle(cell: CellState, machine: int) -> None:
    """Bring the place of a machine that has changed in the grid up to date."""
    note_change(cell, machine)
    old = cell.places[machine, SQUARE]
    new = square_of(cell, machine)
    if new == old:
        return
    if old == IDLE:
        cell.idle[machine // BLOCK] -= 1
    elif old >= 0:
        leave_square(cell, machine, old)
    cell.places[machine, SQUARE] = new
    if new == IDLE:
        cell.idle[machine // BLOCK] += 1
    elif new >= 0:
        enter_square(cell, machine, new)


@compiled(inline=True, makes_arrays=False)
def take(
    cell: CellState,
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
def place(cell: CellState, task: int, machine: int) -> None:
    """Put a task on a machine."""
    take(cell, task, machine, 1)
    after = cell.tops[machine]
    cell.tasks[task, MACHINE] = machine
    cell.tasks[task, NEXT_TASK] = after
    cell.tasks[task, PREVIOUS_TASK] = -1
    if after >= 0:
        cell.tasks[after, PREVIOUS_TASK] = task
    cell.tops[machine] = task
    settle(cell, machine)


@compiled(makes_arrays=False)
def release(cell: CellState, task: int) -> int:
    """Take a task off its machine, and return the machine."""
    machine = cell.tasks[task, MACHINE]
    after = cell.tasks[task, NEXT_TASK]
    before = cell.tasks[task, PREVIOUS_TASK]
    take(cell, task, machine, -1)
    if before >= 0:
        cell.tasks[before, NEXT_TASK] = after
    else:
        cell.tops[machine] = after
    if after >= 0:
        cell.tasks[after, PREVIOUS_TASK] = before
    cell.tasks[task, MACHINE] = -1
    settle(cell, machine)
    return machine
