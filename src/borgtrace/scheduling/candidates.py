"""Which machine each of many tasks that are alike goes to: those that may take one, the best on top.

A heap of score, rank and machine.  A row of the grid stands for its squares, and a square for its machines, by a bound
of their scores, until it comes to the top: few machines are looked at.  Entries may be out of date as long as none is
worse than what the machine is now: what has become worse is seen when it comes to the top, what may have become better
is noted (:func:`note`).  Of the empty machines of a class the lowest is enough.
"""

from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.choice import bound_of_squares, first_empty, is_open, score_on
from borgtrace.scheduling.heap import Heap, make_heap, pop, push, replace_top
from borgtrace.scheduling.machines import (
    CLASS,
    CPU,
    MEMORY,
    NEXT,
    SIDE,
    Cell,
    highest,
    level,
    lowest,
)

_PLACES = SIDE + 1
"""Squares of a row, and the row as a whole."""


def make_candidates(cell: Cell) -> Heap:
    """Return a heap with room for every square, for every machine several times, and for some that are noted."""
    return make_heap(cell.filled.size * _PLACES + 8 * len(cell.rank) + 1024)


@compiled(makes_arrays=False)
def is_crowded(heap: Heap, cell: Cell) -> bool:
    """Whether there may be no room for all machines once more."""
    return heap.size[0] + 2 * cell.rank.size + 16 > heap.keys.size


@compiled(makes_arrays=False)
def _add(
    heap: Heap,
    cell: Cell,
    kind: int,
    machine: int,
    task: int,
) -> None:
    push(heap, score_on(cell, kind, machine, task), cell.rank[machine], machine)


@compiled(makes_arrays=False)
def look(
    heap: Heap,
    cell: Cell,
    kind: int,
    task: int,
) -> None:
    """Begin with what may take a task.

    Parameters
    ----------
    heap
        As :func:`make_candidates` returns it; what it held is forgotten.
    cell, task
        The machines, and who comes.
    kind
        The scorer.
    """
    heap.size[0] = 0
    cpu = cell.sizes[task, CPU]
    memory = cell.sizes[task, MEMORY]
    for k in range(cell.first.size - 1):
        wide = cell.capacity[cell.first[k], CPU]
        high = cell.capacity[cell.first[k], MEMORY]
        if cpu > wide or memory > high:
            continue
        machine = first_empty(cell, k, task)
        if machine >= 0 and is_open(cell, machine, task):
            _add(heap, cell, kind, machine, task)
        column = level(memory, high)
        for row in range(level(cpu, wide), SIDE):
            squares = cell.filled[k, row] >> column << column
            if squares:
                left = lowest(squares)
                bound = bound_of_squares(
                    kind,
                    row,
                    left,
                    highest(squares) - left + 1,
                    cpu / wide,
                    memory / high,
                )
                # Before a machine with the same score, which may be in it.
                push(heap, bound, -1, ~((k * SIDE + row) * _PLACES + SIDE))


@compiled(makes_arrays=False)
def _open(
    heap: Heap,
    cell: Cell,
    kind: int,
    place: int,
    task: int,
) -> None:
    """Put what is in a row or a square in its stead."""
    k = place // _PLACES // SIDE
    row = place // _PLACES % SIDE
    column = place % _PLACES
    cpu = cell.sizes[task, CPU]
    memory = cell.sizes[task, MEMORY]
    if column < SIDE:
        at = cell.heads[k, row, column]
        while at >= 0:
            # One that is closed is not worth an entry: it comes back by a note when it opens.
            if (
                cell.free[at, CPU] >= cpu
                and cell.free[at, MEMORY] >= memory
                and is_open(cell, at, task)
            ):
                _add(heap, cell, kind, at, task)
            at = cell.places[at, NEXT]
        return
    wide = cell.capacity[cell.first[k], CPU]
    high = cell.capacity[cell.first[k], MEMORY]
    column = level(memory, high)
    squares = cell.filled[k, row] >> column << column
    while squares:
        each = lowest(squares)
        squares ^= 1 << each
        bound = bound_of_squares(kind, row, each, 1, cpu / wide, memory / high)
        push(heap, bound, -1, ~(place - SIDE + each))


@compiled(makes_arrays=False)
def best(
    heap: Heap,
    cell: Cell,
    kind: int,
    task: int,
) -> int:
    """Return the machine with the smallest score among those that take a task, or −1; the same as of a plain scan.

    Parameters
    ----------
    heap
        Of this task, or of one that is alike: see :func:`look`.
    cell, kind, task
        As there.
    """
    while heap.size[0]:
        machine = heap.values[0, 1]
        if machine < 0:
            pop(heap)
            _open(
                heap,
                cell,
                kind,
                ~machine,
                task,
            )
        elif not is_open(cell, machine, task):
            pop(heap)
        else:
            now = score_on(cell, kind, machine, task)
            if now == heap.keys[0]:
                return machine
            # Most often it is the best again, and nothing moves.
            replace_top(heap, now, cell.rank[machine], machine)
    return -1


@compiled(makes_arrays=False)
def note(
    heap: Heap,
    cell: Cell,
    kind: int,
    machine: int,
    task: int,
) -> None:
    """Take up what has become of a machine, and the next empty one where it may have been the lowest."""
    takes = is_open(cell, machine, task)
    if takes and heap.size[0] and heap.values[0, 1] == machine:
        replace_top(heap, score_on(cell, kind, machine, task), cell.rank[machine], machine)
    elif takes:
        _add(heap, cell, kind, machine, task)
    if cell.n_tasks[machine] == 1 or (cell.n_tasks[machine] == 0 and not takes):
        other = first_empty(cell, cell.places[machine, CLASS], task)
        if other >= 0 and is_open(cell, other, task):
            _add(heap, cell, kind, other, task)
