"""Candidates for many tasks that are alike: a heap of the machines that may take one, the best on top.

Entries are score, rank and machine.  A row of the grid stands for its squares, and a square for its machines, by a
bound of their scores, until it comes to the top: few machines are looked at.  Entries may be out of date as long as
none is worse than the machine is now: a machine that has become worse is seen when it comes to the top, one that may
have become better is added again (:func:`update_candidates`).  Of the empty machines of a class the lowest is enough.
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
    CellState,
    highest,
    level,
    lowest,
)

PLACES = SIDE + 1
"""Squares of a row, and the row as a whole."""
MACHINE = 1
"""Column of the heap's values with the machine, or the complement of a row or square; the first column is the rank."""


def make_candidates(cell: CellState) -> Heap:
    """Return a heap with room for every square, for every machine several times, and for some that are added later."""
    return make_heap(cell.filled.size * PLACES + 8 * len(cell.rank) + 1024)


@compiled(makes_arrays=False)
def is_crowded(heap: Heap, cell: CellState) -> bool:
    """Whether there may be no room for all machines once more."""
    return heap.size[0] + 2 * cell.rank.size + 16 > heap.keys.size


@compiled(makes_arrays=False)
def add_machine(
    heap: Heap,
    cell: CellState,
    kind: int,
    machine: int,
    task: int,
) -> None:
    """Add a machine that takes a task."""
    push(heap, score_on(cell, kind, machine, task), cell.rank[machine], machine)


@compiled(makes_arrays=False)
def find_candidates(
    heap: Heap,
    cell: CellState,
    kind: int,
    task: int,
) -> None:
    """Begin with the machines that may take a task.

    Parameters
    ----------
    heap
        As :func:`make_candidates` returns it; its entries are dropped.
    cell, task
        The machines, and who comes.
    kind
        The scorer.
    """
    heap.size[0] = 0
    cpu = cell.sizes[task, CPU]
    memory = cell.sizes[task, MEMORY]
    for k in range(cell.first.size - 1):
        capacity = cell.capacity[cell.first[k]]
        if cpu > capacity[CPU] or memory > capacity[MEMORY]:
            continue
        machine = first_empty(cell, k, task)
        if machine >= 0 and is_open(cell, machine, task):
            add_machine(heap, cell, kind, machine, task)
        x = cpu / capacity[CPU]
        y = memory / capacity[MEMORY]
        column = level(memory, capacity[MEMORY])
        for row in range(level(cpu, capacity[CPU]), SIDE):
            squares = cell.filled[k, row] >> column << column
            if squares:
                left = lowest(squares)
                width = highest(squares) - left + 1
                bound = bound_of_squares(kind, row, left, width, x, y)
                # Before a machine with the same score, which may be in it.
                push(heap, bound, -1, ~((k * SIDE + row) * PLACES + SIDE))


@compiled(makes_arrays=False)
def open_square(
    heap: Heap,
    cell: CellState,
    kind: int,
    machine: int,
    task: int,
) -> None:
    """Add the machines of a square, whose first is given, that take a task."""
    cpu = cell.sizes[task, CPU]
    memory = cell.sizes[task, MEMORY]
    while machine >= 0:
        has_room = cell.free[machine, CPU] >= cpu and cell.free[machine, MEMORY] >= memory
        # One that is closed is not worth an entry: it is added when it opens.
        if has_room and is_open(cell, machine, task):
            add_machine(heap, cell, kind, machine, task)
        machine = cell.places[machine, NEXT]


@compiled(makes_arrays=False)
def open_place(
    heap: Heap,
    cell: CellState,
    kind: int,
    place: int,
    task: int,
) -> None:
    """Replace a row by its squares, or a square by its machines."""
    k = place // PLACES // SIDE
    row = place // PLACES % SIDE
    column = place % PLACES
    if column < SIDE:
        open_square(heap, cell, kind, cell.heads[k, row, column], task)
        return
    capacity = cell.capacity[cell.first[k]]
    x = cell.sizes[task, CPU] / capacity[CPU]
    y = cell.sizes[task, MEMORY] / capacity[MEMORY]
    leftmost = level(cell.sizes[task, MEMORY], capacity[MEMORY])
    squares = cell.filled[k, row] >> leftmost << leftmost
    while squares:
        square = lowest(squares)
        squares ^= 1 << square
        bound = bound_of_squares(kind, row, square, 1, x, y)
        push(heap, bound, -1, ~(place - SIDE + square))


@compiled(makes_arrays=False)
def best_candidate(
    heap: Heap,
    cell: CellState,
    kind: int,
    task: int,
) -> int:
    """Return the machine with the smallest score among those that take a task, or −1; the same as of a plain scan.

    Parameters
    ----------
    heap
        Of this task, or of one that is alike: see :func:`find_candidates`.
    cell, kind, task
        As there.
    """
    while heap.size[0]:
        machine = heap.values[0, MACHINE]
        if machine < 0:
            pop(heap)
            open_place(heap, cell, kind, ~machine, task)
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
def update_candidates(
    heap: Heap,
    cell: CellState,
    kind: int,
    machine: int,
    task: int,
) -> None:
    """Add a machine that has changed, and the next empty one where it may have been the lowest."""
    takes = is_open(cell, machine, task)
    if takes and heap.size[0] and heap.values[0, MACHINE] == machine:
        replace_top(heap, score_on(cell, kind, machine, task), cell.rank[machine], machine)
    elif takes:
        add_machine(heap, cell, kind, machine, task)
    n_tasks = cell.n_tasks[machine]
    if n_tasks == 1 or (n_tasks == 0 and not takes):
        empty = first_empty(cell, cell.places[machine, CLASS], task)
        if empty >= 0 and is_open(cell, empty, task):
            add_machine(heap, cell, kind, empty, task)
