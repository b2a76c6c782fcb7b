"""Choose a machine by NILAS or LAVA: the lowest level first, the best fit among equal ones.

As in :mod:`borgtrace.scheduling.choice` the squares of the grid of free room are passed from the tightest fit on.  A
square is skipped where no machine in it can be better than the best so far: by its level, of which a bound is kept, or
by how much would be left.
"""

import numpy as np

from borgtrace.kernels.arrays import Index
from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.choice import (
    BEST_FIT,
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
    if kind == NILAS:
        look_at_exit(exits, replay, rows, machine, time)
    else:
        look_at_class(exits, replay, rows, machine, time)
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


@compiled(inline=True, makes_arrays=False)
def level_on(exits: Exits, kind: int, machine: int, end: float, life: int) -> int:
    """Return the level of a machine with tasks, for a task that is expected to end then, and its class."""
    if life < 0:
        return 0
    if kind == NILAS:
        return nilas_level(exits, machine, end)
    return level_of_state(exits.lives[machine], exits.is_recycled[machine], life)


@compiled(inline=True, makes_arrays=False)
def bound_on(exits: Exits, kind: int, group: int, square: int, end: float, life: int) -> int:
    """Return a level that no machine of a square is below."""
    if life < 0:
        return 0
    if kind == NILAS:
        return nilas_bound(exits, group, square, end)
    return lava_bound(exits, group, square, life)


@compiled(inline=True, makes_arrays=False)
def level_of_empty(exits: Exits, kind: int, end: float, life: int) -> int:
    """Return the level of an empty machine."""
    if life < 0:
        return 0
    if kind == NILAS:
        return cost_of(end, float(exits.marks[NOW]))
    return EMPTY


@compiled(makes_arrays=False)
def best_in_square(
    exits: Exits,
    cell: CellState,
    kind: int,
    group: int,
    square: int,
    task: int,
    end: float,
    life: int,
    best: int,
    best_level: int,
    least: float,
) -> tuple[int, int, float]:
    """Return the best machine so far, its level and score, after a look at a square; bring the bounds of that down."""
    cpu = cell.sizes[task, CPU]
    memory = cell.sizes[task, MEMORY]
    latest = -np.inf
    states = 0
    machine = cell.heads[group, square // SIDE, square % SIDE]
    while machine >= 0:
        latest = max(latest, exits.exits[machine])
        states |= 1 << max(2 * exits.lives[machine] + exits.is_recycled[machine], 0)
        if cell.free[machine, CPU] >= cpu and cell.free[machine, MEMORY] >= memory:
            machine_level = level_on(exits, kind, machine, end, life)
            if machine_level <= best_level:
                value = score_on(cell, BEST_FIT, machine, task)
                is_chosen = machine_level < best_level or is_better(
                    cell, value, machine, least, best
                )
                if is_chosen and is_open(cell, machine, task):
                    best = machine
                    best_level = machine_level
                    least = value
        machine = cell.places[machine, NEXT]
    exits.latest[group, square] = latest
    exits.states[group, square] = states
    return best, best_level, least


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
    cpu = cell.sizes[task, CPU]
    memory = cell.sizes[task, MEMORY]
    best = -1
    best_level = WORST
    least = np.inf
    for group in range(cell.first.size - 1):
        cpu_capacity = cell.capacity[cell.first[group], CPU]
        memory_capacity = cell.capacity[cell.first[group], MEMORY]
        if cpu > cpu_capacity or memory > memory_capacity:
            continue
        x = cpu / cpu_capacity
        y = memory / memory_capacity
        left = level(memory, memory_capacity)
        for row in range(level(cpu, cpu_capacity), SIDE):
            if cell.filled[group, row] == 0:
                continue
            if best_level == 0 and bound_of_squares(BEST_FIT, row, left, SIDE - left, x, y) > least:
                break
            squares = cell.filled[group, row] >> left << left
            while squares:
                column = lowest(squares)
                squares ^= 1 << column
                square = row * SIDE + column
                bound = bound_on(exits, kind, group, square, end, life)
                is_tight = bound_of_squares(BEST_FIT, row, column, 1, x, y) <= least
                if bound < best_level or (bound == best_level and is_tight):
                    best, best_level, least = best_in_square(
                        exits, cell, kind, group, square, task, end, life, best, best_level, least
                    )
        empty_level = level_of_empty(exits, kind, end, life)
        if empty_level <= best_level:
            machine = first_empty(cell, group, task)
            if machine >= 0 and is_open(cell, machine, task):
                value = score_on(cell, BEST_FIT, machine, task)
                if empty_level < best_level or is_better(cell, value, machine, least, best):
                    best = machine
                    best_level = empty_level
                    least = value
    return best
