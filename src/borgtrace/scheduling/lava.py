"""LAVA (lifetime-aware VM allocation, Ling et al., MLSys 2025): short tasks fill the gaps between long ones.

Lives have classes, each ten times as long as the one before.  An empty machine gets the class of its first task, and
takes tasks of this class until it is filled.  From then on its gaps are filled by tasks of lower classes, which end
before it does.  Once the tasks that were there when it was filled have ended, its class falls by one, and the tasks
there now take their part.  When a machine outlives its class, something was predicted wrong: its class rises by one.

Published are this principle, with lives that differ by an order of magnitude, and what it gained in simulations.  Our
reading: the bounds of the classes; that a machine is filled when at most a tenth of its CPU or its memory is free; the
order of preference in :func:`level_of_state`, and best fit among equal ones; that a task of a higher class that has to
go to a machine raises the class of that; and that tasks of which nothing is known go to the best fit.
"""

import numpy as np

from borgtrace.kernels.arrays import Index
from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.exits import Exits, exit_of
from borgtrace.scheduling.machines import CLASS, CPU, IDLE, MEMORY, NEXT_TASK, SQUARE
from borgtrace.scheduling.state import STARTED, ReplayState
from borgtrace.schema.time import HOUR

SHORTEST = 1.0 * HOUR
"""Lives up to this are of the first class."""
WIDTH = 10.0
LAST_CLASS = 3
FILLED = 10
"""A machine is filled when at most one part in so many of a resource is free."""
OPEN_SAME, EMPTY, FILLED_SAME, OPEN_HIGHER, LOWER = range(LAST_CLASS, LAST_CLASS + 5)
"""Levels of machines behind filled ones of higher classes: open ones keep their room for their own class."""


@compiled(inline=True, makes_arrays=False)
def class_of_life(life: float) -> int:
    """Return the class of how long a task is expected to live."""
    bound = SHORTEST
    place = 0
    while place < LAST_CLASS and life > bound:
        bound *= WIDTH
        place += 1
    return place


@compiled(inline=True, makes_arrays=False)
def end_of_class(life: int) -> float:
    """Return how long a machine of a class may live; infinity: for ever."""
    if life == LAST_CLASS:
        return np.inf
    return SHORTEST * WIDTH**life


@compiled(inline=True, makes_arrays=False)
def level_of_state(life: int, is_recycled: int, wanted: int) -> int:
    """Return how bad a machine with tasks is for a task of a class."""
    if life < wanted:
        return LOWER
    if life == wanted:
        # What is filled with tasks of the last class is kept for ever anyway.
        return FILLED_SAME if is_recycled and life < LAST_CLASS else OPEN_SAME
    # The next class above first.
    return life - wanted - 1 if is_recycled else OPEN_HIGHER


@compiled(makes_arrays=False)
def look_at_class(exits: Exits, replay: ReplayState, rows: Index, machine: int, time: int) -> None:
    """Let the class of a machine fall or rise."""
    cell = replay.cell
    n_known = 0
    n_residual = 0
    longest = 0
    task = cell.tops[machine]
    while task >= 0:
        row = replay.row_of[task]
        if exits.first_row[task] == row:
            n_known += 1
            n_residual += exits.is_residual[task]
        else:
            started = rows[row, STARTED]
            life = exit_of(exits.predictions, task, started, time) - time
            longest = max(longest, class_of_life(life))
        task = cell.tasks[task, NEXT_TASK]
    before = exits.lives[machine]
    life = before
    is_recycled = exits.is_recycled[machine]
    if cell.n_tasks[machine] == 0:
        life = -1
    elif n_known == 0:
        life = longest
        is_recycled = 0
    elif longest > life:
        life = longest
    elif time >= exits.due[machine]:
        life = min(life + 1, LAST_CLASS)
    elif is_recycled and n_residual == 0:
        life = max(life - 1, 0)
    is_new = life != before or n_known == 0 or time >= exits.due[machine]
    if not is_recycled and is_filled(replay, machine):
        is_recycled = 1
        is_new = True
    if life < 0:
        is_recycled = 0
        exits.due[machine] = np.inf
    elif is_new:
        exits.due[machine] = time + end_of_class(life)
    exits.lives[machine] = life
    exits.is_recycled[machine] = is_recycled
    mark_tasks(exits, replay, machine, is_new)
    square = cell.places[machine, SQUARE]
    if 0 <= square < IDLE:
        exits.states[cell.places[machine, CLASS], square] |= 1 << (2 * life + is_recycled)


@compiled(inline=True, makes_arrays=False)
def is_filled(replay: ReplayState, machine: int) -> bool:
    """Whether little of a resource is free on a machine."""
    free = replay.cell.free
    capacity = replay.cell.capacity
    return (
        free[machine, CPU] * FILLED <= capacity[machine, CPU]
        or free[machine, MEMORY] * FILLED <= capacity[machine, MEMORY]
    )


@compiled(inline=True, makes_arrays=False)
def mark_tasks(exits: Exits, replay: ReplayState, machine: int, is_new: bool) -> None:
    """Note that the tasks of a machine have been seen; where its class is new, all of them have to end first."""
    task = replay.cell.tops[machine]
    while task >= 0:
        row = replay.row_of[task]
        if is_new:
            exits.is_residual[task] = 1
        elif exits.first_row[task] != row:
            exits.is_residual[task] = 0
        exits.first_row[task] = row
        task = replay.cell.tasks[task, NEXT_TASK]


@compiled(inline=True, makes_arrays=False)
def lava_bound(exits: Exits, kind: int, square: int, wanted: int) -> int:
    """Return a level that no machine of a square is below."""
    states = exits.states[kind, square]
    least = LOWER
    for state in range(2 * LAST_CLASS + 2):
        if states & (1 << state):
            least = min(least, level_of_state(state // 2, state % 2, wanted))
    return least
