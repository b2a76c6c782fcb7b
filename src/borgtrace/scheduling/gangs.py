"""Gangs: jobs whose tasks start together or not at all.

For each waiting job it is known how many tasks like its own all machines together would take: a machine that changes
changes this number by its own share, and no other machine is looked at.  As long as the job has more tasks it is not
tried.  Where its tasks are alike this is exact, since no other placement holds more of them.  Where they differ, each
kind must find room, and so must all of them if each took the least that any of them takes.
"""

from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Flags, Index
from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.choice import OWN, choose, choose_of_k, is_open
from borgtrace.scheduling.machines import CPU, MACHINE, MEMORY, CellState, Demand, place, release
from borgtrace.scheduling.own_scores import OwnScores, choose_by_score
from borgtrace.scheduling.queue import Queue

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
    parts
        Shape (gangs + 1,): where the parts of each gang begin.  The first is all of it, and where its tasks are of
        several kinds one for each follows.
    part
        Shape (attempts,): the part of its own kind.
    waits
        Shape (parts,): how many wait.
    room
        Shape (parts,): while it waits, how many tasks like its stand-in (:func:`with_stand_ins`) all machines take.
    closed
        Shape (gangs,): 1 after a try in vain, until it is worth trying again.
    """

    of: Index
    members: Index
    first: Index
    parts: Index
    part: Index
    waits: Index
    room: Index
    closed: Index


def no_gangs(attempts: int) -> Gangs:
    """Return gangs of so many attempts, each of which starts by itself."""
    alone = np.full(attempts, -1)
    nothing = np.empty(0, np.int64)
    zero = np.zeros(1, np.int64)
    return Gangs(
        of=alone,
        members=nothing,
        first=zero,
        parts=zero,
        part=alone,
        waits=nothing,
        room=nothing,
        closed=nothing,
    )


class GangArrivals(NamedTuple):
    """When each attempt arrives, a gang with its last task; attempts that follow no other, in that order; the gangs."""

    times: Index
    firsts: Index
    gangs: Gangs


def gangs_of(
    firsts: Index,
    arrivals: Index,
    jobs: Index,
    priority: Index,
    kinds: Index,
) -> GangArrivals:
    """Find the attempts that start together: of one job and priority, each at most a second after the one before.

    Parameters
    ----------
    firsts
        Attempts that follow no other.
    arrivals, jobs, priority, kinds
        Of all attempts: int64 (n,).
    """
    order = firsts[np.lexsort((firsts, arrivals[firsts], priority[firsts], jobs[firsts]))]
    # Groups of attempts that arrive together: a gang each, unless it is only one.
    begins = begins_group(order, arrivals, jobs, priority)
    starts = np.flatnonzero(begins)
    sizes = np.diff(starts, append=len(order))
    group = np.cumsum(begins) - 1
    last = starts + sizes - 1
    times = arrivals.copy()
    times[order] = arrivals[order][last][group]
    is_gang = sizes > 1
    gang_of_group = np.where(is_gang, np.cumsum(is_gang) - 1, -1)
    of = np.full(len(arrivals), -1)
    of[order] = gang_of_group[group]
    members = order[is_gang[group]]
    first = np.append(0, np.cumsum(sizes[is_gang]))
    parts = parts_of(of, members, kinds)
    gangs = Gangs(
        of=of,
        members=members,
        first=first,
        parts=parts.parts,
        part=parts.part,
        waits=parts.waits,
        room=np.zeros_like(parts.waits),
        closed=np.zeros(len(first) - 1, np.int64),
    )
    # A gang comes where its first task does.
    first_of_group = order[starts]
    in_order = np.lexsort((first_of_group[group], times[order]))
    return GangArrivals(times, order[in_order], gangs)


def begins_group(order: Index, arrivals: Index, jobs: Index, priority: Index) -> Flags:
    """Whether each attempt, in an order, does not start together with the one before."""
    before = order[:-1]
    after = order[1:]
    is_same = (jobs[before] == jobs[after]) & (priority[before] == priority[after])
    is_late = arrivals[after] - arrivals[before] > TOGETHER
    return np.append(True, ~is_same | is_late)[: len(order)]


class GangParts(NamedTuple):
    """As in :class:`Gangs`."""

    parts: Index
    part: Index
    waits: Index


def parts_of(of: Index, members: Index, kinds: Index) -> GangParts:
    """Return the parts of gangs, that of each attempt, and how many wait in each."""
    n_kinds = int(kinds.max(initial=0)) + 1
    gang_of_member = of[members]
    keys, place = np.unique(gang_of_member * n_kinds + kinds[members], return_inverse=True)
    kinds_of_gang = np.bincount(keys // n_kinds, minlength=int(of.max(initial=-1)) + 1)
    has_kinds = kinds_of_gang > 1
    parts = np.append(0, np.cumsum(np.where(has_kinds, kinds_of_gang + 1, 1)))
    part = np.full(len(of), -1)
    # Kinds are numbered gang by gang; before them are the parts that are all of a gang of several kinds.
    part[members] = place + np.cumsum(has_kinds)[gang_of_member]
    whole = parts[gang_of_member]
    own = part[members]
    waits = np.bincount(np.append(whole, own[own != whole]), minlength=parts[-1])
    return GangParts(parts, part, waits)


def with_stand_ins(demand: Demand, gangs: Gangs) -> Demand:
    """Return tasks and, behind them, a stand-in for each part of a gang: it takes the least that any of them takes.

    Parameters
    ----------
    demand, gangs
        What is planned, and which of it starts together.
    """
    members = gangs.members
    whole = gangs.parts[gangs.of[members]]
    own = gangs.part[members]
    is_of_kind = own != whole
    part = np.append(whole, own[is_of_kind])
    task = np.append(members, members[is_of_kind])
    order = np.argsort(part, kind="stable")
    task = task[order]
    starts = np.searchsorted(part[order], np.arange(len(gangs.room)))

    def with_least(amounts: Index) -> Index:
        if not len(amounts):
            return amounts
        return np.vstack([amounts, np.minimum.reduceat(amounts[task], starts)])

    def with_common(values: Index, nothing: int) -> Index:
        lowest = np.minimum.reduceat(values[task], starts)
        highest = np.maximum.reduceat(values[task], starts)
        return np.append(values, np.where(lowest == highest, lowest, nothing))

    return Demand(
        sizes=with_least(demand.sizes),
        groups=with_common(demand.groups, -1),
        sets=with_common(demand.sets, 0),
        allowed=demand.allowed,
        variances=with_least(demand.variances),
        safety=demand.safety,
        extended=with_least(demand.extended),
    )


@compiled(inline=True, makes_arrays=False)
def kind_of(queue: Queue, gangs: Gangs, gang: int) -> int:
    """Return under which kind a gang waits."""
    return queue.heads.size - gangs.closed.size + gang


@compiled(makes_arrays=False)
def room_on(
    cell: CellState,
    machine: int,
    task: int,
    most: int,
) -> int:
    """Return how many tasks like one a machine takes, at most `most`; with variances it may take fewer."""
    sizes = cell.sizes[task]
    free = cell.free[machine]
    # Most often there is none, and the rest costs more to ask.
    if sizes[CPU] > free[CPU] or sizes[MEMORY] > free[MEMORY] or not is_open(cell, machine, task):
        return 0
    if cell.groups[task] >= 0:
        return 1
    for which in range(sizes.size):
        if sizes[which] > 0:
            most = min(most, free[which] // sizes[which])
    return most


@compiled(makes_arrays=False)
def add_room(
    cell: CellState,
    gangs: Gangs,
    gang: int,
    machine: int,
    sign: int,
) -> None:
    """Add the room of a machine to that of a gang, or take it away (−1)."""
    most = gangs.first[gang + 1] - gangs.first[gang]
    stand_ins = cell.sets.size - gangs.room.size
    for part in range(gangs.parts[gang], gangs.parts[gang + 1]):
        gangs.room[part] += sign * room_on(cell, machine, stand_ins + part, most)


@compiled(makes_arrays=False)
def count_room(
    cell: CellState,
    queue: Queue,
    gangs: Gangs,
    machine: int,
    sign: int,
) -> None:
    """Count the room of a machine for all gangs that wait, or no longer: after and before it changes.

    Parameters
    ----------
    cell, queue, gangs, machine
        Who waits, and what changes.
    sign
        1 or −1.
    """
    for k in range(queue.n_active[0]):
        gang = queue.active[k] - kind_of(queue, gangs, 0)
        if gang >= 0:
            add_room(cell, gangs, gang, machine, sign)


@compiled(makes_arrays=False)
def measure_room(cell: CellState, gangs: Gangs, gang: int) -> None:
    """Count the room of all machines for a gang that comes."""
    gangs.room[gangs.parts[gang] : gangs.parts[gang + 1]] = 0
    for machine in range(cell.rank.size):
        add_room(cell, gangs, gang, machine, 1)


@compiled(makes_arrays=False)
def is_ready(
    cell: CellState,
    gangs: Gangs,
    gang: int,
    machine: int,
) -> bool:
    """Whether all tasks of a gang may fit now, one of them on a machine (−1: any)."""
    if gangs.closed[gang]:
        return False
    for part in range(gangs.parts[gang], gangs.parts[gang + 1]):
        if gangs.room[part] < gangs.waits[part]:
            return False
    for task in gangs.members[gangs.first[gang] : gangs.first[gang + 1]]:
        if machine < 0 or (gangs.of[task] == gang and is_open(cell, machine, task)):
            return True
        if gangs.of[task] == gang and gangs.parts[gang + 1] - gangs.parts[gang] == 1:
            break
    return False


@compiled(makes_arrays=False)
def place_all(
    cell: CellState,
    gangs: Gangs,
    gang: int,
    kind: int,
    k: int,
    draw: int,
    own: OwnScores | None,
) -> bool:
    """Place all tasks of a gang, or none; return whether they are placed.

    Parameters
    ----------
    cell, gangs, gang
        The machines, and who comes.
    kind, k, draw
        The scorer, how many machines are looked at (0: all), and where a random order of them begins.
    own
        Scores, where the scorer is `OWN`.
    """
    members = gangs.members[gangs.first[gang] : gangs.first[gang + 1]]
    placed = 0
    for task in members:
        if gangs.of[task] != gang:
            continue
        if kind == OWN:
            machine = choose_by_score(own, cell, task)
        elif k > 0:
            machine = choose_of_k(cell, kind, k, draw, task)
        else:
            machine = choose(cell, kind, task)
        if machine < 0:
            break
        place(cell, task, machine)
        placed += 1
    if placed == gangs.waits[gangs.parts[gang]]:
        return True
    for task in members:
        if gangs.of[task] == gang and cell.tasks[task, MACHINE] >= 0:
            release(cell, task)
    gangs.closed[gang] = 1
    return False
