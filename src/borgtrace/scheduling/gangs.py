"""Jobs whose tasks start together or not at all.

A job that fits nowhere waits until machines have got room for as many tasks as were missing: only then all of its tasks
are tried again.  Where they are alike that is exact, since no placement of others alike holds more of them.
"""

from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Flags, Index
from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.choice import choose, choose_of_k, is_open
from borgtrace.scheduling.machines import BLOCK, CPU, MACHINE, MEMORY, NEXT, SIDE, Cell, level, lowest, place, release

TOGETHER = 1_000_000
"""Tasks of a job arrive together where each follows the one before within so many µs."""


class Gangs(NamedTuple):
    """Tasks that start together; int64.

    Attributes
    ----------
    of
        Shape (attempts,): the gang of each that has not started yet; −1: it starts by itself.
    members, first
        Attempts, gang by gang, and where each gang begins: shape (gangs + 1,).
    lacks
        Shape (gangs,): for so many more tasks there must be room before all are tried again.
    waits
        Shape (gangs,): how many wait.
    closed
        Shape (gangs,): 1 while what was tried in vain is not tried again.
    differ
        Shape (gangs,): whether its tasks are of several kinds.
    """

    of: Index
    members: Index
    first: Index
    lacks: Index
    waits: Index
    closed: Index
    differ: Flags


def no_gangs(attempts: int) -> Gangs:
    """Return what says of so many attempts that each starts by itself."""
    none = np.empty(0, np.int64)
    return Gangs(np.full(attempts, -1), none, np.zeros(1, np.int64), none, none, none, np.empty(0, np.bool_))


def gangs_of(firsts: Index, arrivals: Index, jobs: Index, priority: Index, kinds: Index) -> tuple[Index, Index, Gangs]:
    """Find the attempts that start together: of one job and priority, each at most a second after the one before.

    Parameters
    ----------
    firsts
        Attempts that follow no other.
    arrivals, jobs, priority, kinds
        Of all attempts: int64 (n,).

    Returns
    -------
    tuple
        When each attempt arrives, a gang with its last task; `firsts` by that; and the gangs.
    """
    order = firsts[np.lexsort((firsts, arrivals[firsts], priority[firsts], jobs[firsts]))]
    one, other = order[:-1], order[1:]
    is_next = (jobs[one] == jobs[other]) & (priority[one] == priority[other])
    begins = np.append(True, ~is_next | (arrivals[other] - arrivals[one] > TOGETHER))[: len(order)]
    starts = np.flatnonzero(begins)
    sizes, number = np.diff(starts, append=len(order)), np.cumsum(begins) - 1
    times = arrivals.copy()
    times[order] = arrivals[order][starts + sizes - 1][number]
    is_gang = sizes > 1
    of = np.full(len(arrivals), -1)
    of[order] = np.where(is_gang, np.cumsum(is_gang) - 1, -1)[number]
    none = np.zeros(int(is_gang.sum()), np.int64)
    members, leaders = order[is_gang[number]], order[starts][number][is_gang[number]]
    differ = np.bincount(of[members], kinds[members] != kinds[leaders], len(none)) > 0
    parts = members, np.append(0, np.cumsum(sizes[is_gang])), none, sizes[is_gang], none.copy(), differ
    # A gang comes where its first task does.
    return times, order[np.lexsort((order[starts][number], times[order]))], Gangs(of, *parts)


@compiled(makes_arrays=False)
def _room_on(cell: Cell, machine: int, task: int, most: int) -> int:
    """Return how many tasks like one an open machine takes, at most so many; variances may let it take fewer."""
    if cell.groups[task] >= 0:
        return min(most, 1)
    for which in (CPU, MEMORY):
        if cell.sizes[task, which] > 0:
            most = min(most, cell.free[machine, which] // cell.sizes[task, which])
    return most


@compiled(makes_arrays=False)
def _room_for(cell: Cell, task: int, most: int) -> int:
    """Return how many tasks like one all machines take, at most so many."""
    room, n = 0, cell.rank.size
    for block in range(cell.idle.size):
        if cell.idle[block]:
            for machine in range(block * BLOCK, min(n, block * BLOCK + BLOCK)):
                if room < most and cell.n_tasks[machine] == 0 and is_open(cell, machine, task):
                    room += _room_on(cell, machine, task, most - room)
    for k in range(cell.first.size - 1):
        wide, high = cell.capacity[cell.first[k], CPU], cell.capacity[cell.first[k], MEMORY]
        left = level(cell.sizes[task, MEMORY], high)
        for row in range(level(cell.sizes[task, CPU], wide), SIDE):
            squares = cell.filled[k, row] >> left << left
            while squares and room < most:
                machine = cell.heads[k, row, lowest(squares)]
                squares &= squares - 1
                while machine >= 0:
                    if room < most and is_open(cell, machine, task):
                        room += _room_on(cell, machine, task, most - room)
                    machine = cell.places[machine, NEXT]
    return room


@compiled(makes_arrays=False)
def may_fit(cell: Cell, gangs: Gangs, gang: int, machine: int) -> bool:
    """Count what a machine with room adds for a gang that waits, and return whether all of its tasks may fit now."""
    if gangs.closed[gang]:
        return False
    for task in gangs.members[gangs.first[gang] : gangs.first[gang + 1]]:
        # Those that were withdrawn are no longer looked at where tasks differ; else they are as good as the others.
        if (gangs.of[task] == gang or not gangs.differ[gang]) and is_open(cell, machine, task):
            gangs.lacks[gang] -= _room_on(cell, machine, task, gangs.lacks[gang])
            return gangs.lacks[gang] <= 0
        if not gangs.differ[gang]:
            break
    return False


@compiled(makes_arrays=False)
def place_all(cell: Cell, gangs: Gangs, gang: int, kind: int, k: int, draw: int) -> bool:
    """Place all tasks of a gang, or none; return whether they are placed.

    Parameters
    ----------
    cell, gangs, gang
        The machines, and who comes.
    kind, k, draw
        The scorer, how many machines are looked at (0: all), and where a random order of them begins.
    """
    members = gangs.members[gangs.first[gang] : gangs.first[gang + 1]]
    # Of tasks that are alike as many are placed as there is room for, in whatever order: no need to try.
    most, placed = gangs.waits[gang], 0
    room = most if gangs.differ[gang] else _room_for(cell, members[0], most)
    for task in members[: members.size if room == most else 0]:
        if gangs.of[task] != gang:
            continue
        machine = choose_of_k(cell, kind, k, draw, task) if k > 0 else choose(cell, kind, task)
        if machine < 0:
            break
        place(cell, task, machine)
        placed += 1
    if placed == most:
        return True
    for task in members:
        if gangs.of[task] == gang and cell.tasks[task, MACHINE] >= 0:
            release(cell, task)
    # Of tasks that differ the order decides how many fit: they are tried whenever one of them does.
    gangs.lacks[gang] = most - room
    gangs.closed[gang] = 1
    return False
