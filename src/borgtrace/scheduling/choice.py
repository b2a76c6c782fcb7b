"""Where a task goes: filters (room, constraints, anti-affinity) and scorers, compiled.

A scorer knows four shares of a machine's capacity: what would be left of CPU and memory, and what the task takes of
each.  The smallest score wins, ties go to the lowest rank.
"""

import numpy as np

from borgtrace.kernels.arrays import Flags, Index
from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.machines import CPU, MEMORY, NEXT, NEXT_TASK, SIDE, Cell, level

LEAST_STRANDED, BEST_FIT, WORST_FIT, FIRST_FIT, DOT_PRODUCT = range(5)
_STRIDE = 1_000_003
"""A prime above any number of machines: steps of it visit all of them, each once."""
_ROUNDING = 1e-9
"""By how much a bound may be too high: edges of squares are rounded."""


@compiled(inline=True, makes_arrays=False)
def score(kind: int, a: float, b: float, x: float, y: float) -> float:
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
def _bound(kind: int, a: float, b: float, a_end: float, b_end: float, x: float, y: float) -> float:
    """Return a score that no machine with shares in [a, a_end] × [b, b_end] is below."""
    if kind == LEAST_STRANDED:
        # 3a − b where CPU is what is left over, 3b − a where memory is; on the diagonal 2a.
        return max(2 * max(a, b), 3 * a - b_end, 3 * b - a_end) - _ROUNDING
    if kind == BEST_FIT:
        return a + b - _ROUNDING
    return score(kind, a_end, b_end, x, y) - _ROUNDING


@compiled(makes_arrays=False)
def is_apart(cell: Cell, machine: int, group: int, groups: Index) -> bool:
    """Whether no task of a group (−1: none) is on a machine."""
    if group < 0:
        return True
    task = cell.tops[machine]
    while task >= 0:
        if groups[task] == group:
            return False
        task = cell.tasks[task, NEXT_TASK]
    return True


@compiled(makes_arrays=False)
def is_open(cell: Cell, machine: int, cpu: int, memory: int, group: int, groups: Index, allowed: Flags) -> bool:
    """Whether a machine takes a task: it is there, has room, meets the constraints, and holds none of its group."""
    return (
        cell.is_up[machine]
        and cell.free[machine, CPU] >= cpu
        and cell.free[machine, MEMORY] >= memory
        and (allowed.size == 0 or allowed[machine])
        and is_apart(cell, machine, group, groups)
    )


@compiled(makes_arrays=False)
def score_on(cell: Cell, kind: int, machine: int, cpu: int, memory: int) -> float:
    """Return the score of a machine where a task has room."""
    wide, high = cell.capacity[machine, CPU], cell.capacity[machine, MEMORY]
    a, b = (cell.free[machine, CPU] - cpu) / wide, (cell.free[machine, MEMORY] - memory) / high
    return score(kind, a, b, cpu / wide, memory / high)


@compiled(makes_arrays=False)
def first_empty(cell: Cell, group: int, allowed: Flags) -> int:
    """Return the lowest empty machine of a class that meets the constraints, or −1."""
    end = cell.first[group + 1]
    at = cell.empty[group]
    while at < end and (cell.n_tasks[at] or not cell.is_up[at]):
        at += 1
    cell.empty[group] = at
    while at < end:
        if cell.n_tasks[at] == 0 and cell.is_up[at] and (allowed.size == 0 or allowed[at]):
            return at
        at += 1
    return -1


@compiled(makes_arrays=False)
def _best_of(
    cell: Cell,
    kind: int,
    at: int,
    cpu: int,
    memory: int,
    group: int,
    groups: Index,
    allowed: Flags,
    best: int,
    least: float,
) -> tuple[int, float]:
    """Return the best machine so far and its score, those of a square that begins with `at` looked at too."""
    while at >= 0:
        if cell.free[at, CPU] >= cpu and cell.free[at, MEMORY] >= memory:
            value = score_on(cell, kind, at, cpu, memory)
            is_better = value < least or (value == least and cell.rank[at] < cell.rank[best])
            # The rest costs more to ask, and few machines come so far.
            if is_better and is_open(cell, at, cpu, memory, group, groups, allowed):
                best, least = at, value
        at = cell.places[at, NEXT]
    return best, least


@compiled(makes_arrays=False)
def choose(cell: Cell, kind: int, cpu: int, memory: int, group: int, groups: Index, allowed: Flags) -> int:
    """Return the machine with the smallest score among those that take a task, or −1; the same as of a plain scan.

    Parameters
    ----------
    cell
        The machines.
    kind
        The scorer.
    cpu, memory
        What the task takes.
    group, groups
        The task's group of anti-affinity (−1: none), and those of all tasks.
    allowed
        Which machines meet its constraints; all of them where empty.
    """
    best, least = -1, np.inf
    for k in range(cell.first.size - 1):
        wide, high = cell.capacity[cell.first[k], CPU], cell.capacity[cell.first[k], MEMORY]
        if cpu > wide or memory > high:
            continue
        x, y = cpu / wide, memory / high
        found = first_empty(cell, k, allowed)
        if found >= 0:
            value = score(kind, (wide - cpu) / wide, (high - memory) / high, x, y)
            if value < least or (value == least and cell.rank[found] < cell.rank[best]):
                best, least = found, value
        left = level(memory, high)
        for row in range(level(cpu, wide), SIDE):
            if cell.filled[k, row] == 0:
                continue
            a, a_end = max((row / SIDE) ** 2 - x, 0.0), ((row + 1) / SIDE) ** 2 - x
            # Rows are left with more and more CPU, so that none after this one is better either.
            if kind <= BEST_FIT and _bound(kind, a, 0.0, 1.0, 1.0, x, y) > least:
                break
            for column in range(left, SIDE):
                at = cell.heads[k, row, column]
                if at < 0:
                    continue
                b, b_end = max((column / SIDE) ** 2 - y, 0.0), ((column + 1) / SIDE) ** 2 - y
                if _bound(kind, a, b, a_end, b_end, x, y) > least:
                    continue
                best, least = _best_of(cell, kind, at, cpu, memory, group, groups, allowed, best, least)
    return best


@compiled(makes_arrays=False)
def choose_of_k(
    cell: Cell, kind: int, k: int, start: int, cpu: int, memory: int, group: int, groups: Index, allowed: Flags
) -> int:
    """Return the best of the first `k` machines that take a task, in a random order that `start` decides; or −1.

    Borg's relaxed randomization; the other parameters are those of :func:`choose`.
    """
    best, least, seen, n = -1, np.inf, 0, cell.rank.size
    for step in range(n):
        at = (start + step * _STRIDE) % n
        if not is_open(cell, at, cpu, memory, group, groups, allowed):
            continue
        value = score_on(cell, kind, at, cpu, memory)
        if value < least or (value == least and cell.rank[at] < cell.rank[best]):
            best, least = at, value
        seen += 1
        if seen == k:
            break
    return best
