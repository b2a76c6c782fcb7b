"""When tasks and machines are expected to end: what NILAS and LAVA keep while a replay goes on."""

from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.heap import Heap, make_heap
from borgtrace.scheduling.lifetimes import AGES_PER_DOUBLING, N_AGES, Predictions
from borgtrace.scheduling.machines import SIDE, CellState
from borgtrace.schema.time import SECOND

SEEN, NOW = range(2)
"""Elements of `marks`: how many changes of machines were looked at, and the time."""
ENTRIES_PER_MACHINE = 4
"""Of the agenda, which is made anew when it is full."""


class Exits(NamedTuple):
    """What is expected of tasks and machines; times are float64, in µs, all else is int64.

    Attributes
    ----------
    predictions
        Of all attempts.
    due
        Shape (machines,): when each has to be looked at, even if it does not change; infinity: never.
    agenda
        Machines by `due`; an entry with another time than that counts for nothing.
    exits
        Shape (machines,): NILAS: when each is expected to become empty; −infinity where it is.
    seen_top, seen_tasks
        Shape (machines,): NILAS: the latest task of each when it was last looked at, and how many there were.
    latest
        Shape (classes, squares): no machine of a square of the grid has a later exit.
    lives
        Shape (machines,): LAVA: the class of a machine's life, −1 where it is empty.
    is_recycled
        Shape (machines,): 1 once a machine has been filled.
    first_row
        Shape (tasks,): the submission with which LAVA has seen a task; −1: none.
    is_residual
        Shape (tasks,): 1 for who has to end before the machine's class falls.
    states
        Shape (classes, squares): a bit for every state in which machines of a square may be.
    marks
        See `SEEN` and `NOW`.
    """

    predictions: Predictions
    due: Numbers
    agenda: Heap
    exits: Numbers
    seen_top: Index
    seen_tasks: Index
    latest: Numbers
    lives: Index
    is_recycled: Index
    first_row: Index
    is_residual: Index
    states: Index
    marks: Index


def make_exits(predictions: Predictions, cell: CellState) -> Exits:
    """Return what is expected of an empty cell whose changes have not been looked at.

    Parameters
    ----------
    predictions
        Of the tasks.
    cell
        The machines, which keep their changes.
    """
    n_machines = len(cell.rank)
    n_tasks = len(cell.sizes)
    squares = (len(cell.first) - 1, SIDE * SIDE)
    return Exits(
        predictions=predictions,
        due=np.full(n_machines, np.inf),
        agenda=make_heap(ENTRIES_PER_MACHINE * n_machines + 1),
        exits=np.full(n_machines, -np.inf),
        seen_top=np.full(n_machines, -1),
        seen_tasks=np.zeros(n_machines, np.int64),
        latest=np.full(squares, -np.inf),
        lives=np.full(n_machines, -1),
        is_recycled=np.zeros(n_machines, np.int64),
        first_row=np.full(n_tasks, -1),
        is_residual=np.zeros(n_tasks, np.int64),
        states=np.zeros(squares, np.int64),
        marks=np.zeros(2, np.int64),
    )


@compiled(inline=True, makes_arrays=False)
def place_of_age(age: float) -> int:
    """Return the place of the last of :data:`borgtrace.scheduling.lifetimes.AGES` that is not above an age."""
    if age < SECOND:
        return 0
    return min(1 + int(AGES_PER_DOUBLING * np.log2(age / SECOND)), N_AGES - 1)


@compiled(inline=True, makes_arrays=False)
def is_predicted(predictions: Predictions, task: int) -> bool:
    """Whether anything is known of how long a task lasts."""
    return predictions.lasts.size > 0 or predictions.lines[task] >= 0


@compiled(makes_arrays=False)
def exit_of(predictions: Predictions, task: int, started: int, time: int) -> float:
    """Return when a task is expected to end; now, where nothing is known.

    Parameters
    ----------
    predictions, task
        What is known, and of whom.
    started, time
        When the task started, and now, µs.
    """
    if predictions.lasts.size > 0:
        return min(started + predictions.lasts[task], max(predictions.leaves[task], float(time)))
    line = predictions.lines[task]
    if line < 0:
        return float(time)
    if predictions.is_repeated:
        return time + predictions.expected[line, place_of_age(float(time - started))]
    return started + predictions.expected[line, 0]
