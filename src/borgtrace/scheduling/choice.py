"""Choose the machine of a task: filters (room, constraints, anti-affinity) and scorers, compiled.

A scorer knows four shares of a machine's capacity: what would be left of CPU and memory (`a`, `b`), and what the task
takes of each (`x`, `y`).  The smallest score wins, ties go to the lowest rank.
"""

import numpy as np

from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.machines import (
    BLOCK,
    CPU,
    MEMORY,
    NEXT,
    NEXT_TASK,
    SIDE,
    CellState,
    highest,
    level,
    lowest,
)

LEAST_STRANDED, BEST_FIT, WORST_FIT, FIRST_FIT, DOT_PRODUCT, OWN, NILAS, LAVA = range(8)
"""Scorers; from the sixth on not those of this module: of a scheduler of one's own, which
:mod:`borgtrace.scheduling.own_scores` asks, and by lifetimes (:mod:`borgtrace.scheduling.lifetime_scores`)."""
STRIDE = 1_000_003
"""A prime above any number of machines: steps of it visit all of them, each once."""
ROUNDING = 1e-9
"""By how much a bound may be too high: edges of squares are rounded."""


@compiled(inline=True, makes_arrays=False)
def score(
    kind: int,
    a: float,
    b: float,
    x: float,
    y: float,
) -> float:
    """Return how bad a machine is that is left with shares `a` and `b` by a task that takes `x` and `y`."""
    if kind == LEAST_STRANDED:
        return a + b + 2 * abs(a - b)
    if kind == BEST_FIT:
        return a + b
    if kind == WORST_FIT:
        return -(a + b)
    if kind == DOT_PRODUCT:
        return -(x * (a + x) + y * (b + y))
    return 0.0


@compiled(inline=True, makes_arrays=False)
def is_better(
    cell: CellState,
    value: float,
    machine: int,
    least: float,
    best: int,
) -> bool:
    """Whether a machine is chosen rather than the `best` so far: the smaller score, among equal ones the lower rank."""
    return value < least or (value == least and cell.rank[machine] < cell.rank[best])


@compiled(inline=True, makes_arrays=False)
def lower_bound(
    kind: int,
    a: float,
    b: float,
    a_end: float,
    b_end: float,
    x: float,
    y: float,
) -> float:
    """Return a score that no machine with shares in [a, a_end] × [b, b_end] is below."""
    if kind == LEAST_STRANDED:
        # 3a − b where CPU is what is left over, 3b − a where memory is; on the diagonal 2a.
        return max(2 * max(a, b), 3 * a - b_end, 3 * b - a_end) - ROUNDING
    if kind == BEST_FIT:
        return a + b - ROUNDING
    return score(kind, a_end, b_end, x, y) - ROUNDING


@compiled(inline=True, makes_arrays=False)
def bound_of_squares(
    kind: int,
    row: int,
    column: int,
    columns: int,
    x: float,
    y: float,
) -> float:
    """Return a score that no machine of some squares in a row of the grid is below once it takes `x` and `y` more."""
    a = max((row / SIDE) ** 2 - x, 0.0)
    a_end = ((row + 1) / SIDE) ** 2 - x
    b = max((column / SIDE) ** 2 - y, 0.0)
    b_end = ((column + columns) / SIDE) ** 2 - y
    return lower_bound(kind, a, b, a_end, b_end, x, y)


@compiled(makes_arrays=False)
def is_apart(cell: CellState, machine: int, group: int) -> bool:
    """Whether no task of a group (−1: none) is on a machine."""
    if group < 0:
        return True
    task = cell.tops[machine]
    while task >= 0:
        if cell.groups[task] == group:
            return False
        task = cell.tasks[task, NEXT_TASK]
    return True


@compiled(makes_arrays=False)
def is_safe(
    cell: CellState,
    task: int,
    left: int,
    spread: int,
    which: int,
) -> bool:
    """Whether enough of a resource is left beside a task for the variance of what is there, and its own.

    Parameters
    ----------
    cell, task
        The machines, and who comes.
    left, spread
        Capacity less all means, and the sum of the variances of the others.
    which
        CPU or memory.
    """
    if cell.safety == 0:
        return left >= 0
    return left >= 0 and float(left) * left >= cell.safety * (spread + cell.variances[task, which])


@compiled(makes_arrays=False)
def has_room(cell: CellState, machine: int, task: int) -> bool:
    """Whether a machine has room for a task."""
    cpu = cell.free[machine, CPU] - cell.sizes[task, CPU]
    memory = cell.free[machine, MEMORY] - cell.sizes[task, MEMORY]
    spread = cell.spread[machine]
    for which in range(MEMORY + 1, cell.sizes.shape[1]):
        if cell.sizes[task, which] > cell.free[machine, which]:
            return False
    if not is_safe(cell, task, cpu, spread[CPU], CPU):
        return False
    return is_safe(cell, task, memory, spread[MEMORY], MEMORY)


@compiled(makes_arrays=False)
def is_open(cell: CellState, machine: int, task: int) -> bool:
    """Whether a machine takes a task: it is there, has room, meets the constraints, and holds none of its group."""
    return (
        cell.is_up[machine]
        and has_room(cell, machine, task)
        and cell.allowed[cell.sets[task], machine]
        and is_apart(cell, machine, cell.groups[task])
    )


@compiled(makes_arrays=False)
def score_on(
    cell: CellState,
    kind: int,
    machine: int,
    task: int,
) -> float:
    """Return the score of a machine where a task has room."""
    cpu = cell.sizes[task, CPU]
    memory = cell.sizes[task, MEMORY]
    cpu_capacity = cell.capacity[machine, CPU]
    memory_capacity = cell.capacity[machine, MEMORY]
    a = (cell.free[machine, CPU] - cpu) / cpu_capacity
    b = (cell.free[machine, MEMORY] - memory) / memory_capacity
    return score(kind, a, b, cpu / cpu_capacity, memory / memory_capacity)


@compiled(makes_arrays=False)
def first_empty(cell: CellState, group: int, task: int) -> int:
    """Return the lowest empty machine of a class that meets a task's constraints, or −1."""
    machine = cell.first[group]
    end = cell.first[group + 1]
    constraint_set = cell.sets[task]
    while machine < end:
        if cell.idle[machine // BLOCK] == 0:
            machine = (machine // BLOCK + 1) * BLOCK
            continue
        is_empty = cell.n_tasks[machine] == 0 and cell.is_up[machine]
        if is_empty and cell.allowed[constraint_set, machine]:
            return machine
        machine += 1
    return -1


@compiled(makes_arrays=False)
def best_in_square(
    cell: CellState,
    kind: int,
    machine: int,
    task: int,
    best: int,
    least: float,
) -> tuple[int, float]:
    """Return the best machine so far and its score, after a look at a square that begins with `machine`."""
    cpu = cell.sizes[task, CPU]
    memory = cell.sizes[task, MEMORY]
    while machine >= 0:
        if cell.free[machine, CPU] >= cpu and cell.free[machine, MEMORY] >= memory:
            value = score_on(cell, kind, machine, task)
            # The rest costs more to ask, and few machines come so far.
            if is_better(cell, value, machine, least, best) and is_open(cell, machine, task):
                best = machine
                least = value
        machine = cell.places[machine, NEXT]
    return best, least


@compiled(inline=True, makes_arrays=False)
def best_in_class(
    cell: CellState,
    kind: int,
    k: int,
    task: int,
    best: int,
    least: float,
) -> tuple[int, float]:
    """Return the best machine so far and its score, after a look at the machines with tasks of a class."""
    capacity = cell.capacity[cell.first[k]]
    cpu = cell.sizes[task, CPU]
    memory = cell.sizes[task, MEMORY]
    x = cpu / capacity[CPU]
    y = memory / capacity[MEMORY]
    lowest_row = level(cpu, capacity[CPU])
    left = level(memory, capacity[MEMORY])
    # The best lie in the first rows and columns where little shall be left, and in the last where much shall.
    is_ascending = kind <= BEST_FIT
    for step in range(SIDE - lowest_row):
        row = lowest_row + step if is_ascending else SIDE - 1 - step
        if cell.filled[k, row] == 0:
            continue
        if bound_of_squares(kind, row, left, SIDE - left, x, y) > least:
            # Nor are later rows any better, except where stranding counts: there the best lie along the diagonal.
            if kind == LEAST_STRANDED:
                continue
            break
        squares = cell.filled[k, row] >> left << left
        while squares:
            column = lowest(squares) if is_ascending else highest(squares)
            squares ^= 1 << column
            if bound_of_squares(kind, row, column, 1, x, y) <= least:
                first = cell.heads[k, row, column]
                best, least = best_in_square(cell, kind, first, task, best, least)
            elif kind != LEAST_STRANDED:
                break
    return best, least


@compiled(makes_arrays=False)
def choose(cell: CellState, kind: int, task: int) -> int:
    """Return the machine with the smallest score among those that take a task, or −1; the same as of a plain scan.

    For a task that comes alone, of which nothing is worth keeping for the next one: with a heap of candidates for each
    of them a replay of the real parts took half as long again.

    Parameters
    ----------
    cell, task
        The machines, and who comes.
    kind
        The scorer.
    """
    best = -1
    least = np.inf
    cpu = cell.sizes[task, CPU]
    memory = cell.sizes[task, MEMORY]
    for k in range(cell.first.size - 1):
        cpu_capacity = cell.capacity[cell.first[k], CPU]
        memory_capacity = cell.capacity[cell.first[k], MEMORY]
        if cpu > cpu_capacity or memory > memory_capacity:
            continue
        value = score(
            kind,
            (cpu_capacity - cpu) / cpu_capacity,
            (memory_capacity - memory) / memory_capacity,
            cpu / cpu_capacity,
            memory / memory_capacity,
        )
        empty = first_empty(cell, k, task) if value <= least else -1
        if empty >= 0 and is_open(cell, empty, task) and is_better(cell, value, empty, least, best):
            best = empty
            least = value
        best, least = best_in_class(cell, kind, k, task, best, least)
    return best


@compiled(makes_arrays=False)
def choose_of_k(
    cell: CellState,
    kind: int,
    k: int,
    start: int,
    task: int,
) -> int:
    """Return the best of the first `k` machines that take a task, in a random order that `start` decides; or −1.

    Borg's relaxed randomization.

    Parameters
    ----------
    cell, task
        The machines, and who comes.
    kind
        The scorer.
    k, start
        How many are enough, and where the order begins.
    """
    best = -1
    least = np.inf
    n_open = 0
    n = cell.rank.size
    for step in range(n):
        machine = (start + step * STRIDE) % n
        if not is_open(cell, machine, task):
            continue
        value = score_on(cell, kind, machine, task)
        if is_better(cell, value, machine, least, best):
            best = machine
            least = value
        n_open += 1
        if n_open == k:
            break
    return best
