"""The loop of a replay: arrivals, ends and machines in the order of time, compiled.

What waits is kept by kinds of tasks that are alike to a scheduler.  A task that waits fits nowhere, so that a machine
that gets room is the only one where anything may fit: no other is looked at, and the kinds are asked, not the tasks.
"""

import heapq
from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Flags, Index
from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.choice import choose, choose_of_k, is_apart, is_open
from borgtrace.scheduling.machines import CPU, MEMORY, NEXT_TASK, Cell, place, release, settle

ATTEMPT, SUBMITTED, STARTED, ENDED, WHERE, KIND = range(6)
"""Columns of what :func:`run` returns."""
ALIVE, DONE, PREEMPTED, REMOVED = range(4)
"""How a submission ended: not at all, as in the trace, by a task of a higher tier, with its machine."""
NEVER = -1
_END, _MACHINE, _ARRIVAL = range(3)
NEVER_RAN = -2
_FACTOR, _MASK = 1_103_515_245, 2**31 - 1
"""A linear congruential generator, of which the upper bits are taken."""
Agenda = list[tuple[int, int, int, int]]
"""What is to come: time, what, of which attempt or event of a machine, and its row."""


class Arrivals(NamedTuple):
    """Attempts in the order in which they arrive; int64 of shape (n,) where nothing else is said.

    Attributes
    ----------
    time
        When it was submitted, µs.
    duration
        How long it ran, µs; −1: to the end of the trace; −2: it never ran.
    leaves
        When an attempt that never ran was withdrawn, µs; −1: never.
    after
        The attempt of the same task that follows; −1: none.
    gap
        From the end of this one to the submission of that one, µs.
    is_first
        bool: whether it follows no other.
    tier, priority
        Who may evict whom, and who is asked first.
    sizes
        Shape (n, 2).
    groups, sets
        Anti-affinity and constraints.
    kinds
        Attempts of one kind are alike to a scheduler.
    """

    time: Index
    duration: Index
    leaves: Index
    after: Index
    gap: Index
    is_first: Flags
    tier: Index
    priority: Index
    sizes: Index
    groups: Index
    sets: Index
    kinds: Index


class Queue(NamedTuple):
    """What waits: first and last of a kind, neighbors of an attempt, and the kinds with any (a list and its length)."""

    heads: Index
    tails: Index
    links: Index
    active: Index
    places: Index
    n_active: Index


@compiled(makes_arrays=False)
def _enqueue(queue: Queue, kind: int, attempt: int) -> None:
    tail = queue.tails[kind]
    queue.links[attempt, 0], queue.links[attempt, 1] = -1, tail
    if tail >= 0:
        queue.links[tail, 0] = attempt
    else:
        queue.heads[kind] = attempt
        queue.active[queue.n_active[0]] = kind
        queue.places[kind] = queue.n_active[0]
        queue.n_active[0] += 1
    queue.tails[kind] = attempt


@compiled(makes_arrays=False)
def _dequeue(queue: Queue, kind: int, attempt: int) -> None:
    after, before = queue.links[attempt]
    if before >= 0:
        queue.links[before, 0] = after
    else:
        queue.heads[kind] = after
    if after >= 0:
        queue.links[after, 1] = before
    else:
        queue.tails[kind] = before
    if queue.heads[kind] < 0:
        queue.n_active[0] -= 1
        last, at = queue.active[queue.n_active[0]], queue.places[kind]
        queue.active[at] = last
        queue.places[last] = at


class Replay(NamedTuple):
    """What a replay works on.

    Attributes
    ----------
    cell, jobs, queue
        Machines, what arrives, and what waits.
    allowed
        bool (1 + sets, machines): which machines meet each set of constraints; the first is none.
    held
        Shape (tiers, machines, 2): what tasks of each tier take.
    row_of
        Shape (attempts,): the latest row of each.
    machines
        Shape (events, 4): time, machine, whether it is there, or meets a set of constraints, from then on, and which
        line of `allowed` that is (0: whether it is there).
    """

    cell: Cell
    jobs: Arrivals
    queue: Queue
    allowed: Flags
    held: Index
    row_of: Index
    machines: Index


class Rule(NamedTuple):
    """The policy: scorer, machines that are looked at (0: all), whether it evicts, and the pause after that, µs."""

    kind: int
    k: int
    preempts: bool
    pause: int


@compiled(makes_arrays=False)
def _next_for(replay: Replay, machine: int) -> int:
    """Return who waits and fits a machine: of the highest priority, and of these who came first; −1: nobody."""
    best = -1
    cell, jobs, queue = replay.cell, replay.jobs, replay.queue
    for at in range(queue.n_active[0]):
        head = queue.heads[queue.active[at]]
        cpu, memory = jobs.sizes[head]
        if cpu > cell.free[machine, CPU] or memory > cell.free[machine, MEMORY]:
            continue
        if best >= 0:
            ahead = jobs.priority[head] - jobs.priority[best]
            if ahead < 0 or (ahead == 0 and replay.row_of[head] > replay.row_of[best]):
                continue
        where = replay.allowed[jobs.sets[head]]
        if is_open(cell, machine, cpu, memory, jobs.groups[head], jobs.groups, where):
            best = head
    return best


@compiled(makes_arrays=False)
def _to_preempt(replay: Replay, attempt: int) -> int:
    """Return the machine where a task fits once lower tiers are evicted and least is missing now; −1: none."""
    best, least = -1, np.inf
    cell, jobs = replay.cell, replay.jobs
    cpu, memory = jobs.sizes[attempt]
    where = replay.allowed[jobs.sets[attempt]]
    for machine in range(cell.rank.size):
        if not (cell.is_up[machine] and where[machine]):
            continue
        wide, high = cell.free[machine, CPU], cell.free[machine, MEMORY]
        missing = max(0, cpu - wide) / cell.capacity[machine, CPU]
        missing += max(0, memory - high) / cell.capacity[machine, MEMORY]
        for tier in range(jobs.tier[attempt]):
            wide += replay.held[tier, machine, CPU]
            high += replay.held[tier, machine, MEMORY]
        is_better = missing < least or (missing == least and cell.rank[machine] < cell.rank[best])
        has_room = wide >= cpu and high >= memory
        if is_better and has_room and is_apart(cell, machine, jobs.groups[attempt], jobs.groups):
            best, least = machine, missing
    return best


@compiled(makes_arrays=False)
def _victim(replay: Replay, rows: Index, machine: int, tier: int) -> int:
    """Return who is evicted first: of the tiers below, the lowest priority, and of these who started last."""
    jobs, row_of = replay.jobs, replay.row_of
    found, task = -1, replay.cell.tops[machine]
    while task >= 0:
        if jobs.tier[task] < tier:
            ahead = -1 if found < 0 else jobs.priority[task] - jobs.priority[found]
            if ahead < 0 or (ahead == 0 and rows[row_of[task], STARTED] > rows[row_of[found], STARTED]):
                found = task
        task = replay.cell.tasks[task, NEXT_TASK]
    return found


@compiled()
def _start(replay: Replay, agenda: Agenda, rows: Index, attempt: int, machine: int, time: int) -> None:
    jobs, row = replay.jobs, replay.row_of[attempt]
    cpu, memory = jobs.sizes[attempt]
    rows[row, STARTED], rows[row, WHERE] = time, machine
    replay.held[jobs.tier[attempt], machine, CPU] += cpu
    replay.held[jobs.tier[attempt], machine, MEMORY] += memory
    place(replay.cell, attempt, machine, cpu, memory)
    if jobs.duration[attempt] >= 0:
        heapq.heappush(agenda, (time + jobs.duration[attempt], _END, attempt, row))


@compiled(makes_arrays=False)
def _stop(replay: Replay, rows: Index, attempt: int, time: int, how: int) -> int:
    row = replay.row_of[attempt]
    cpu, memory = replay.jobs.sizes[attempt]
    machine = release(replay.cell, attempt, cpu, memory)
    replay.held[replay.jobs.tier[attempt], machine, CPU] -= cpu
    replay.held[replay.jobs.tier[attempt], machine, MEMORY] -= memory
    rows[row, ENDED], rows[row, KIND] = time, how
    return machine


@compiled()
def _change(replay: Replay, rule: Rule, agenda: Agenda, rows: Index, event: int) -> int:
    """Let a machine come, or meet constraints, and return it; or go with its tasks, which are submitted again: −1.

    A task that runs stays where its constraints are no longer met.
    """
    time, machine, is_there, which = replay.machines[event]
    cell = replay.cell
    if which > 0:
        replay.allowed[which, machine] = is_there == 1
        return machine if is_there == 1 and cell.is_up[machine] else -1
    cell.is_up[machine] = is_there == 1
    settle(cell, machine)
    while is_there == 0 and cell.tops[machine] >= 0:
        attempt = cell.tops[machine]
        _stop(replay, rows, attempt, time, REMOVED)
        heapq.heappush(agenda, (time + rule.pause, _ARRIVAL, attempt, 0))
    return machine if is_there == 1 else -1


@compiled()
def _finish(replay: Replay, agenda: Agenda, rows: Index, attempt: int, row: int, time: int) -> int:
    """Let a submission end, unless it was evicted before; return the machine that gets room, or −1."""
    jobs, roomy = replay.jobs, -1
    if rows[row, ENDED] != NEVER:
        return roomy
    if rows[row, STARTED] != NEVER:
        roomy = _stop(replay, rows, attempt, time, DONE)
    else:
        _dequeue(replay.queue, jobs.kinds[attempt], attempt)
        rows[row, ENDED], rows[row, KIND] = time, DONE
    after = jobs.after[attempt]
    if after >= 0:
        heapq.heappush(agenda, (max(jobs.time[after], time + jobs.gap[attempt]), _ARRIVAL, after, 0))
    return roomy


@compiled()
def _evict_for(replay: Replay, rule: Rule, agenda: Agenda, rows: Index, attempt: int, time: int) -> int:
    """Evict lower tiers from a machine until a task fits, and return it; −1: there is none."""
    cell, (cpu, memory) = replay.cell, replay.jobs.sizes[attempt]
    machine = _to_preempt(replay, attempt)
    while machine >= 0 and (cell.free[machine, CPU] < cpu or cell.free[machine, MEMORY] < memory):
        victim = _victim(replay, rows, machine, replay.jobs.tier[attempt])
        _stop(replay, rows, victim, time, PREEMPTED)
        heapq.heappush(agenda, (time + rule.pause, _ARRIVAL, victim, 0))
    return machine


@compiled()
def _arrive(
    replay: Replay, rule: Rule, agenda: Agenda, rows: Index, attempt: int, row: int, time: int, draw: int
) -> int:
    """Place a submission or let it wait; return the machine that was made room on, or −1."""
    cell, jobs, queue = replay.cell, replay.jobs, replay.queue
    rows[row, ATTEMPT], rows[row, SUBMITTED], rows[row, KIND] = attempt, time, ALIVE
    replay.row_of[attempt] = row
    if jobs.duration[attempt] == NEVER_RAN and jobs.leaves[attempt] >= 0:
        heapq.heappush(agenda, (max(time, jobs.leaves[attempt]), _END, attempt, row))
    where, group = replay.allowed[jobs.sets[attempt]], jobs.groups[attempt]
    cpu, memory = jobs.sizes[attempt]
    machine, roomy = -1, -1
    # Where another of its kind waits, nothing has room.
    if queue.heads[jobs.kinds[attempt]] < 0:
        if rule.k > 0:
            machine = choose_of_k(cell, rule.kind, rule.k, draw, cpu, memory, group, jobs.groups, where)
        else:
            machine = choose(cell, rule.kind, cpu, memory, group, jobs.groups, where)
    if machine < 0 and rule.preempts:
        machine = roomy = _evict_for(replay, rule, agenda, rows, attempt, time)
    if machine >= 0:
        _start(replay, agenda, rows, attempt, machine, time)
    else:
        _enqueue(queue, jobs.kinds[attempt], attempt)
    return roomy


@compiled()
def _refill(replay: Replay, agenda: Agenda, rows: Index, machine: int, time: int) -> None:
    """Start what waits and fits a machine."""
    found = _next_for(replay, machine)
    while found >= 0:
        _dequeue(replay.queue, replay.jobs.kinds[found], found)
        _start(replay, agenda, rows, found, machine, time)
        found = _next_for(replay, machine)


@compiled()
def _agenda(replay: Replay) -> Agenda:
    """Return what is known to happen: machines, and attempts that follow no other."""
    agenda = [(replay.machines[at, 0], _MACHINE, at, 0) for at in range(len(replay.machines))]
    for attempt in range(replay.jobs.time.size):
        if replay.jobs.is_first[attempt]:
            agenda.append((replay.jobs.time[attempt], _ARRIVAL, attempt, 0))
    heapq.heapify(agenda)
    return agenda


@compiled()
def run(replay: Replay, rule: Rule, until: int, seed: int) -> Index:
    """Replay; return a row for each submission: attempt, submitted, started, ended, machine, kind (−1: not at all).

    Parameters
    ----------
    replay
        With all machines away, and nothing waiting.
    rule
        The policy.
    until
        Last instant, µs.
    seed
        Of random orders of machines.
    """
    rows, count = np.full((replay.jobs.time.size + 1024, 6), NEVER), 0
    draw, agenda = seed, _agenda(replay)
    while len(agenda):
        time, what, value, row = heapq.heappop(agenda)
        if time > until:
            break
        if what == _MACHINE:
            roomy = _change(replay, rule, agenda, rows, value)
        elif what == _END:
            roomy = _finish(replay, agenda, rows, value, row, time)
        else:
            if count == len(rows):
                rows = np.concatenate((rows, np.full((count, 6), NEVER)))
            draw = (draw * _FACTOR + 1) & _MASK
            start = (draw >> 16) % max(replay.cell.rank.size, 1)
            roomy = _arrive(replay, rule, agenda, rows, value, count, time, start)
            count += 1
        if roomy >= 0:
            _refill(replay, agenda, rows, roomy, time)
    return rows[:count]
