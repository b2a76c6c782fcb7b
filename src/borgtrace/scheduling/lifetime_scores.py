"""Choose a machine by NILAS or LAVA: the lowest level first, the best fit among equal ones.

As in :mod:`borgtrace.scheduling.choice` the squares of the grid of free room are passed from the tightest fit on.  A
square is skipped where no machine in it can be better than the best so far: by its level, of which a bound is kept, or
by how much would be left.
"""

from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Index
from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.choice import (
    BEST_FIT,
    LAVA,
    NILAS,
    bound_of_squares,
    first_empty,
    is_better,
    is_open,
    score_on,
)
from borgtrace.scheduling.exits import NOW, SEEN, Exits, exit_of, is_predicted
from borgtrace.scheduling.heap import pop, push
from borgtrace.scheduling.lava import (
    EMPTY,
    LOWER,
    class_of_life,
    lava_bound,
    level_of_state,
    look_at_class,
)
from borgtrace.scheduling.machines import (
    CHANGES,
    CPU,
    MEMORY,
    NEXT,
    SIDE,
    CellState,
    level,
    lowest,
)
from borgtrace.scheduling.nilas import CLASSES, cost_of, look_at_exit, nilas_bound, nilas_level
from borgtrace.scheduling.state import ReplayState

WORST = max(CLASSES, LOWER) + 1
"""No level is so bad."""


@compiled(makes_arrays=False)
def book_look(exits: Exits, machine: int) -> None:
    """Note in the agenda when a machine has to be looked at."""
    agenda = exits.agenda
    if exits.due[machine] == np.inf:
        return
    if agenda.size[0] == agenda.keys.size:
        # Most entries count for nothing: one for each machine is enough.
        agenda.size[0] = 0
        for other in range(exits.due.size):
            if other != machine and exits.due[other] < np.inf:
                push(agenda, exits.due[other], other, 0)
    push(agenda, exits.due[machine], machine, 0)


@compiled(makes_arrays=False)
def look(
    exits: Exits, replay: ReplayState, rows: Index, kind: int, machine: int, time: int
) -> None:
    """Bring what is expected of a machine up to date."""
    if kind == LAVA:
        look_at_class(exits, replay, rows, machine, time)
    else:
        look_at_exit(exits, replay, rows, machine, time)
    book_look(exits, machine)


@compiled(makes_arrays=False)
def watch(exits: Exits | None, replay: ReplayState, rows: Index, kind: int, time: int) -> None:
    """Look at machines that have changed, and at those of which more is known by now.

    Parameters
    ----------
    exits
        What is expected; None: no policy asks.
    replay, rows
        As of :func:`borgtrace.scheduling.events.run`.
    kind
        The policy.
    time
        Now, in µs.
    """
    # As in own_scores: a replay without such a policy compiles nothing of this.
    if exits is None:
        return
    changes = replay.cell.changes
    if changes[0] - exits.marks[SEEN] > CHANGES:
        for machine in range(exits.due.size):
            look(exits, replay, rows, kind, machine, time)
    else:
        for change in range(exits.marks[SEEN], changes[0]):
            look(exits, replay, rows, kind, changes[1 + (change & (CHANGES - 1))], time)
    exits.marks[SEEN] = changes[0]
    exits.marks[NOW] = time
    agenda = exits.agenda
    while agenda.size[0] and agenda.keys[0] <= time:
        machine = agenda.values[0, 0]
        is_due = agenda.keys[0] == exits.due[machine]
        pop(agenda)
        if is_due:
            look(exits, replay, rows, kind, machine, time)


class Newcomer(NamedTuple):
    """Who comes: the policy, the task, when it is expected to end (µs), and the class of its life.

    The class is −1 where nothing is known; the best fit is chosen then.
    """

    kind: int
    task: int
    end: float
    life: int


class BestSoFar(NamedTuple):
    """The best machine so far (−1: none), its level, and its score among those of the level."""

    machine: int
    level: int
    score: float


@compiled(inline=True, makes_arrays=False)
def level_on(exits: Exits, who: Newcomer, machine: int) -> int:
    """Return the level of a machine with tasks."""
    if who.life < 0:
        return 0
    if who.kind == NILAS:
        return nilas_level(exits, machine, who.end)
    return level_of_state(exits.lives[machine], exits.is_recycled[machine], who.life)


@compiled(inline=True, makes_arrays=False)
def bound_on(exits: Exits, who: Newcomer, group: int, square: int) -> int:
    """Return a level that no machine of a square is below."""
    if who.life < 0:
        return 0
    if who.kind == NILAS:
        return nilas_bound(exits, group, square, who.end)
    return lava_bound(exits, group, square, who.life)


@compiled(inline=True, makes_arrays=False)
def level_of_empty(exits: Exits, who: Newcomer) -> int:
    """Return the level of an empty machine."""
    if who.life < 0:
        return 0
    if who.kind == NILAS:
        return cost_of(who.end, float(exits.marks[NOW]))
    return EMPTY


@compiled(makes_arrays=False)
def best_in_square(
    exits: Exits, cell: CellState, who: Newcomer, group: int, square: int, best: BestSoFar
) -> BestSoFar:
    """Return the best machine so far after a look at a square; bring the bounds of that down."""
    cpu = cell.sizes[who.task, CPU]
    memory = cell.sizes[who.task, MEMORY]
    latest = -np.inf
    states = 0
    machine = cell.heads[group, square // SIDE, square % SIDE]
    while machine >= 0:
        latest = max(latest, exits.exits[machine])
        states |= 1 << max(2 * exits.lives[machine] + exits.is_recycled[machine], 0)
        if cell.free[machine, CPU] >= cpu and cell.free[machine, MEMORY] >= memory:
            machine_level = level_on(exits, who, machine)
            if machine_level <= best.level:
                best = better_of(cell, who.task, best, machine, machine_level)
        machine = cell.places[machine, NEXT]
    exits.latest[group, square] = latest
    exits.states[group, square] = states
    return best


@compiled(inline=True, makes_arrays=False)
def better_of(
    cell: CellState, task: int, best: BestSoFar, machine: int, machine_level: int
) -> BestSoFar:
    """Return a machine of a level if it takes a task and is better than the best so far, which is of no lower level."""
    value = score_on(cell, BEST_FIT, machine, task)
    is_chosen = machine_level < best.level or is_better(
        cell, value, machine, best.score, best.machine
    )
    if is_chosen and is_open(cell, machine, task):
        best = BestSoFar(machine, machine_level, value)
    return best


@compiled(inline=True, makes_arrays=False)
def best_in_class(
    exits: Exits, cell: CellState, who: Newcomer, group: int, best: BestSoFar
) -> BestSoFar:
    """Return the best machine so far after a look at the machines with tasks of a class."""
    capacity = cell.capacity[cell.first[group]]
    cpu = cell.sizes[who.task, CPU]
    memory = cell.sizes[who.task, MEMORY]
    x = cpu / capacity[CPU]
    y = memory / capacity[MEMORY]
    left = level(memory, capacity[MEMORY])
    for row in range(level(cpu, capacity[CPU]), SIDE):
        if cell.filled[group, row] == 0:
            continue
        bound_of_row = bound_of_squares(BEST_FIT, row, left, SIDE - left, x, y)
        if best.level == 0 and bound_of_row > best.score:
            break
        squares = cell.filled[group, row] >> left << left
        while squares:
            column = lowest(squares)
            squares ^= 1 << column
            square = row * SIDE + column
            bound = bound_on(exits, who, group, square)
            is_tight = bound_of_squares(BEST_FIT, row, column, 1, x, y) <= best.score
            if bound < best.level or (bound == best.level and is_tight):
                best = best_in_square(exits, cell, who, group, square, best)
    return best


@compiled(makes_arrays=False)
def choose_by_lifetime(exits: Exits | None, cell: CellState, kind: int, task: int) -> int:
    """Return the machine of the lowest level, of these the best fit, among those that take a task; −1: none does.

    Parameters
    ----------
    exits, cell
        What is expected, and the machines.
    kind, task
        The policy, and who comes.
    """
    if exits is None:
        return -1
    time = exits.marks[NOW]
    end = exit_of(exits.predictions, task, time, time)
    life = class_of_life(end - time) if is_predicted(exits.predictions, task) else -1
    who = Newcomer(kind, task, end, life)
    level_when_empty = level_of_empty(exits, who)
    best = BestSoFar(-1, WORST, np.inf)
    for group in range(cell.first.size - 1):
        capacity = cell.capacity[cell.first[group]]
        if cell.sizes[task, CPU] > capacity[CPU] or cell.sizes[task, MEMORY] > capacity[MEMORY]:
            continue
        best = best_in_class(exits, cell, who, group, best)
        if level_when_empty <= best.level:
            machine = first_empty(cell, group, task)
            if machine >= 0:
                best = better_of(cell, task, best, machine, level_when_empty)
    return best.machine
