"""NILAS (non-invasive lifetime-aware scoring, Ling et al., MLSys 2025): a task goes where it keeps no machine longer.

A machine is expected to become empty when the last of its tasks is expected to end.  A task that is expected to end
later keeps it by the difference: its cost in time.  This counts by classes, so that among machines of about one cost
the best fit decides.  With repeated predictions a task that outlives what was expected of it is predicted again, given
how long it has lived, and so is its machine.

Published are the principle (a cost in time, from repeated predictions, above the score of packing) and what it gained.
Our reading: the classes, that an empty machine counts as one whose exit is now, and when a machine is looked at again:
when a task has left it, and when one of its tasks has outlived what was expected of it.
"""

import numpy as np

from borgtrace.kernels.arrays import Index
from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.exits import NOW, Exits, exit_of
from borgtrace.scheduling.machines import CLASS, IDLE, NEXT_TASK, SQUARE
from borgtrace.scheduling.state import STARTED, ReplayState
from borgtrace.schema.time import MINUTE

FIRST_CLASS = 15.0 * MINUTE
"""Costs up to this are of the first class, the next ones up to four times as much, and so on."""
WIDTH = 4.0
CLASSES = 6


@compiled(inline=True, makes_arrays=False)
def cost_of(end: float, exit: float) -> int:
    """Return the class of how much longer than to `exit` a task keeps a machine that ends at `end`; 0: not at all."""
    if end <= exit:
        return 0
    bound = FIRST_CLASS
    cost = 1
    while cost < CLASSES and end - exit > bound:
        bound *= WIDTH
        cost += 1
    return cost


@compiled(makes_arrays=False)
def look_at_exit(exits: Exits, replay: ReplayState, rows: Index, machine: int, time: int) -> None:
    """Bring the exit of a machine up to date, and note when a task there will have outlived what was expected of it."""
    cell = replay.cell
    top = cell.tops[machine]
    n_tasks = cell.n_tasks[machine]
    is_due = exits.due[machine] <= time
    n_more = n_tasks - exits.seen_tasks[machine]
    is_added = n_more == 1 and cell.tasks[top, NEXT_TASK] == exits.seen_top[machine]
    if is_due or not is_added:
        if is_due or n_more != 0 or top != exits.seen_top[machine]:
            exits.exits[machine] = -np.inf
            exits.due[machine] = np.inf
            task = top
            while task >= 0:
                predict(exits, replay, rows, machine, task, time)
                task = cell.tasks[task, NEXT_TASK]
    else:
        # Most changes are tasks that start, and the others there are as they were.
        predict(exits, replay, rows, machine, top, time)
    exits.seen_top[machine] = top
    exits.seen_tasks[machine] = n_tasks
    square = cell.places[machine, SQUARE]
    if 0 <= square < IDLE:
        kind = cell.places[machine, CLASS]
        exits.latest[kind, square] = max(exits.latest[kind, square], exits.exits[machine])


@compiled(inline=True, makes_arrays=False)
def predict(
    exits: Exits, replay: ReplayState, rows: Index, machine: int, task: int, time: int
) -> None:
    """Let the exit of a machine, and when it is due, follow from one of its tasks, too."""
    started = rows[replay.row_of[task], STARTED]
    end = exit_of(exits.predictions, task, started, time)
    exits.exits[machine] = max(exits.exits[machine], end)
    if exits.predictions.is_repeated and end > time:
        exits.due[machine] = min(exits.due[machine], end)


@compiled(inline=True, makes_arrays=False)
def nilas_level(exits: Exits, machine: int, end: float) -> int:
    """Return how bad a machine is for a task that is expected to end at a time."""
    return cost_of(end, max(exits.exits[machine], float(exits.marks[NOW])))


@compiled(inline=True, makes_arrays=False)
def nilas_bound(exits: Exits, kind: int, square: int, end: float) -> int:
    """Return what no machine of a square is below."""
    return cost_of(end, max(exits.latest[kind, square], float(exits.marks[NOW])))
