"""Replay a trace: a compiled loop over arrivals, ends and changes of machines, in the order of time.

Waiting tasks are kept by kinds that are alike to a scheduler.  A waiting task fits nowhere, so that a machine that gets
room is the only one where anything may fit: no other is looked at, and one task of each kind is tried.
"""

import numpy as np

from borgtrace.kernels.arrays import Index
from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.candidates import (
    best_candidate,
    find_candidates,
    is_crowded,
    make_candidates,
    update_candidates,
)
from borgtrace.scheduling.changes import CHANGE_TIME
from borgtrace.scheduling.choice import OWN, choose, choose_of_k, has_room
from borgtrace.scheduling.gangs import is_ready, kind_of, measure_room, place_all
from borgtrace.scheduling.heap import Heap, make_heap, pop
from borgtrace.scheduling.lifetime_scores import choose_by_lifetime, watch
from borgtrace.scheduling.machines import release
from borgtrace.scheduling.own_scores import choose_by_score
from borgtrace.scheduling.precedence import machine_to_preempt, next_kind_for, victim_on
from borgtrace.scheduling.queue import dequeue, enqueue
from borgtrace.scheduling.state import (
    COLUMNS,
    NEVER,
    PREEMPTED,
    RAN_ON,
    ReplayRule,
    ReplayState,
)
from borgtrace.scheduling.transitions import (
    ARRIVAL,
    CHANGE,
    DECAY,
    END,
    RANKS,
    book,
    change_machine,
    decay,
    finish,
    start,
    stop,
    submit,
)

LAST_KEY = 2**63 - 1
ALIKE_ARRIVALS = 4
"""From so many alike arrivals in a row on, what is known of machines is kept for the next one.

Measured on the real parts: 341,000 placements/s with 2, 344,000 with 3, 350,000 with 4; more had been worse before.
"""
FACTOR = 1_103_515_245
MASK = 2**31 - 1
"""A linear congruential generator, of which the upper bits are taken."""
NEXT_FIRST, NEXT_CHANGE, N_ROWS, DRAW, ALIKE, MODEL = range(6)
"""Progress of a replay: next of the attempts that follow no other, next change of a machine, rows, last random number,
alike arrivals to come, and the attempt whose candidates are known (−1: none)."""


@compiled(makes_arrays=False)
def evict_for(
    replay: ReplayState,
    rule: ReplayRule,
    agenda: Heap,
    rows: Index,
    attempt: int,
    time: int,
) -> int:
    """Evict lower tiers from a machine until a task fits, and return the machine; −1: there is none."""
    machine = machine_to_preempt(replay, rule, attempt)
    while machine >= 0 and not has_room(replay.cell, machine, attempt):
        victim = victim_on(replay, rows, machine, replay.jobs.tier[attempt])
        stop(replay, rows, victim, time, PREEMPTED)
        book(agenda, time + rule.pause, ARRIVAL, victim, 0)
    return machine


@compiled(makes_arrays=False)
def start_gang(
    replay: ReplayState,
    rule: ReplayRule,
    agenda: Heap,
    rows: Index,
    gang: int,
    time: int,
    draw: int,
) -> bool:
    """Start all tasks of a gang, or none; return whether they start."""
    gangs = replay.gangs
    if not place_all(replay.cell, gangs, gang, rule.kind, rule.k, draw, rule.own):
        return False
    members = gangs.members[gangs.first[gang] : gangs.first[gang + 1]]
    # The room that it takes from other waiting gangs is counted task by task, from a state without any of its own.
    for attempt in members:
        if gangs.of[attempt] == gang:
            rows[replay.row_of[attempt], RAN_ON] = release(replay.cell, attempt)
    for attempt in members:
        if gangs.of[attempt] == gang:
            machine = rows[replay.row_of[attempt], RAN_ON]
            start(replay, agenda, rows, attempt, machine, time)
            gangs.of[attempt] = -1
    return True


@compiled(makes_arrays=False)
def submit_gang(
    replay: ReplayState,
    rule: ReplayRule,
    agenda: Heap,
    rows: Index,
    gang: int,
    row: int,
    time: int,
    draw: int,
) -> int:
    """Start the tasks of a gang, or let them wait; return how many they are.  They evict nobody."""
    gangs = replay.gangs
    members = gangs.members[gangs.first[gang] : gangs.first[gang + 1]]
    for place, attempt in enumerate(members):
        submit(replay, agenda, rows, attempt, row + place, time)
    measure_room(replay.cell, gangs, gang)
    is_started = False
    if is_ready(replay.cell, gangs, gang, -1):
        is_started = start_gang(replay, rule, agenda, rows, gang, time, draw)
    if not is_started:
        gangs.closed[gang] = 0
        enqueue(replay.queue, kind_of(replay.queue, gangs, gang), members[0])
    return members.size


@compiled(inline=True, makes_arrays=False)
def choose_machine(
    replay: ReplayState,
    rule: ReplayRule,
    attempt: int,
    draw: int,
    candidates: Heap,
    is_known: bool,
) -> int:
    """Return the machine of an attempt, or −1; where `is_known`, `candidates` has the machines that may take it."""
    # Where another of its kind waits, nothing has room.
    if replay.queue.heads[replay.jobs.kinds[attempt]] >= 0:
        return -1
    if rule.kind == OWN:
        return choose_by_score(rule.own, replay.cell, attempt)
    if rule.kind > OWN:
        return choose_by_lifetime(rule.exits, replay.cell, rule.kind, attempt)
    if rule.k > 0:
        return choose_of_k(replay.cell, rule.kind, rule.k, draw, attempt)
    if is_known:
        return best_candidate(candidates, replay.cell, rule.kind, attempt)
    return choose(replay.cell, rule.kind, attempt)


@compiled(makes_arrays=False)
def submit_attempt(
    replay: ReplayState,
    rule: ReplayRule,
    agenda: Heap,
    rows: Index,
    attempt: int,
    row: int,
    time: int,
    draw: int,
    candidates: Heap,
    is_known: bool,
) -> tuple[int, bool]:
    """Place a submission or let it wait; return its machine, or −1, and whether others were evicted from it.

    Where `is_known`, `candidates` has the machines that may take it.
    """
    submit(replay, agenda, rows, attempt, row, time)
    machine = choose_machine(replay, rule, attempt, draw, candidates, is_known)
    evicts = False
    if machine < 0 and rule.preempts:
        machine = evict_for(replay, rule, agenda, rows, attempt, time)
        evicts = machine >= 0
    if machine >= 0:
        start(replay, agenda, rows, attempt, machine, time)
    else:
        enqueue(replay.queue, replay.jobs.kinds[attempt], attempt)
    return machine, evicts


@compiled(inline=True, makes_arrays=False)
def next_kind_now(
    replay: ReplayState, rule: ReplayRule, rows: Index, machine: int, time: int
) -> int:
    """Return the kind of who waits and fits a machine that has just changed; −1: nobody."""
    if rule.kind == OWN and replay.queue.n_active[0] > 0:
        # A scheduler of one's own may ask when the machine becomes empty, now.
        watch(rule.exits, replay, rows, rule.kind, time)
    return next_kind_for(replay, rule, machine)


@compiled(makes_arrays=False)
def refill(
    replay: ReplayState,
    rule: ReplayRule,
    agenda: Heap,
    rows: Index,
    machine: int,
    time: int,
) -> None:
    """Start waiting tasks that fit a machine, and gangs that fit with its room."""
    queue = replay.queue
    closed = replay.gangs.closed
    has_failed = False
    kind = next_kind_now(replay, rule, rows, machine, time)
    while kind >= 0:
        head = queue.heads[kind]
        gang = kind - kind_of(queue, replay.gangs, 0)
        if gang < 0:
            dequeue(queue, kind, head)
            start(replay, agenda, rows, head, machine, time)
        elif start_gang(replay, rule, agenda, rows, gang, time, machine):
            dequeue(queue, kind, head)
        else:
            has_failed = True
        kind = next_kind_now(replay, rule, rows, machine, time)
    if has_failed:
        for gang in range(closed.size):
            closed[gang] = 0


@compiled(makes_arrays=False)
def next_event(
    replay: ReplayState,
    agenda: Heap,
    next_first: int,
    next_change: int,
) -> tuple[int, int, int]:
    """Return what comes next: time and what, of which attempt or change, and its row (−1: it is not of the agenda)."""
    jobs = replay.jobs
    key = LAST_KEY
    value = 0
    row = -1
    if next_change < len(replay.changes):
        key = replay.changes[next_change, CHANGE_TIME] * RANKS + CHANGE
        value = next_change
    if next_first < jobs.firsts.size:
        first = jobs.firsts[next_first]
        arrival = jobs.time[first] * RANKS + ARRIVAL
        if arrival < key:
            key = arrival
            value = first
    # Of two that arrive at one instant the first in the trace goes first.
    if agenda.size[0] and (int(agenda.keys[0]), agenda.values[0, 0]) < (key, value):
        key = int(agenda.keys[0])
        value = agenda.values[0, 0]
        row = agenda.values[0, 1]
        pop(agenda)
    return key, value, row


@compiled(inline=True, makes_arrays=False)
def replay_arrival(
    replay: ReplayState,
    rule: ReplayRule,
    agenda: Heap,
    candidates: Heap,
    rows: Index,
    progress: Index,
    attempt: int,
    is_first: bool,
    time: int,
) -> tuple[int, bool]:
    """Let an attempt arrive; return as :func:`submit_attempt`."""
    jobs = replay.jobs
    if is_first:
        progress[ALIKE] = jobs.alike[progress[NEXT_FIRST]]
        progress[NEXT_FIRST] += 1
        model = progress[MODEL]
        is_known = model >= 0 and jobs.kinds[model] == jobs.kinds[attempt]
        has_bounds = rule.k == 0 and rule.kind < OWN
        if progress[ALIKE] >= ALIKE_ARRIVALS and has_bounds and not is_known:
            progress[MODEL] = attempt
            find_candidates(candidates, replay.cell, rule.kind, attempt)
    progress[DRAW] = (progress[DRAW] * FACTOR + 1) & MASK
    begin = (progress[DRAW] >> 16) % max(replay.cell.rank.size, 1)
    model = progress[MODEL]
    is_known = model >= 0 and jobs.kinds[model] == jobs.kinds[attempt]
    row = progress[N_ROWS]
    progress[N_ROWS] += 1
    return submit_attempt(
        replay,
        rule,
        agenda,
        rows,
        attempt,
        row,
        time,
        begin,
        candidates,
        is_known,
    )


@compiled(inline=True, makes_arrays=False)
def replay_gang(
    replay: ReplayState,
    rule: ReplayRule,
    agenda: Heap,
    rows: Index,
    progress: Index,
    gang: int,
    time: int,
) -> None:
    """Let all tasks of a gang arrive."""
    progress[DRAW] = (progress[DRAW] * FACTOR + 1) & MASK
    draw = progress[DRAW] >> 16
    n_tasks = submit_gang(replay, rule, agenda, rows, gang, progress[N_ROWS], time, draw)
    progress[NEXT_FIRST] += n_tasks
    progress[N_ROWS] += n_tasks


@compiled(inline=True, makes_arrays=False)
def replay_event(
    replay: ReplayState,
    rule: ReplayRule,
    agenda: Heap,
    candidates: Heap,
    rows: Index,
    progress: Index,
    key: int,
    value: int,
    row: int,
) -> tuple[int, bool]:
    """Let one thing happen; return the machine that it changes, or −1, and whether that may have got room."""
    time = key // RANKS
    what = key % RANKS
    if what == CHANGE:
        progress[NEXT_CHANGE] += 1
        return change_machine(replay, rule, agenda, rows, value), True
    if what == END:
        return finish(replay, agenda, rows, value, row, time), True
    if what == DECAY:
        # What is known of machines is known for what it asked for.
        if value == progress[MODEL]:
            progress[MODEL] = -1
        return decay(replay, agenda, rows, value, row, time), True
    if row < 0 and replay.gangs.of[value] >= 0:
        replay_gang(replay, rule, agenda, rows, progress, replay.gangs.of[value], time)
        return -1, True
    return replay_arrival(
        replay,
        rule,
        agenda,
        candidates,
        rows,
        progress,
        value,
        row < 0,
        time,
    )


@compiled(makes_arrays=False)
def replay_until(
    replay: ReplayState,
    rule: ReplayRule,
    agenda: Heap,
    candidates: Heap,
    rows: Index,
    progress: Index,
    until: int,
) -> bool:
    """Let things happen up to a time; return False where rows or the agenda have to grow first."""
    n_attempts = replay.jobs.time.size
    n_members = replay.gangs.members.size
    cell = replay.cell
    while (
        progress[N_ROWS] + n_members < len(rows) and agenda.size[0] + n_attempts < agenda.keys.size
    ):
        key, value, row = next_event(replay, agenda, progress[NEXT_FIRST], progress[NEXT_CHANGE])
        if key == LAST_KEY or key // RANKS > until:
            return True
        # A call that is handed all arrays takes a while, even where it does nothing.
        if rule.kind >= OWN:
            watch(rule.exits, replay, rows, rule.kind, key // RANKS)
        machine, has_room_now = replay_event(
            replay,
            rule,
            agenda,
            candidates,
            rows,
            progress,
            key,
            value,
            row,
        )
        if machine >= 0 and has_room_now and cell.is_up[machine]:
            refill(replay, rule, agenda, rows, machine, key // RANKS)
        if machine >= 0 and progress[MODEL] >= 0:
            update_candidates(candidates, cell, rule.kind, machine, progress[MODEL])
            # After the last of a row of alike arrivals nobody asks for candidates.
            if progress[ALIKE] <= 1 or is_crowded(candidates, cell):
                progress[MODEL] = -1
    return False


def run(
    replay: ReplayState,
    rule: ReplayRule,
    until: int,
    seed: int,
) -> Index:
    """Replay; return a row for each submission, with the columns of :mod:`borgtrace.scheduling.state`.

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
    n = len(replay.jobs.time)
    # Some are submitted more often than in the trace, most only as often.
    n_rows = n + n // 8 + 1024 + replay.gangs.members.size
    rows = np.full((n_rows, COLUMNS), NEVER)
    agenda = make_heap(3 * n + 1024)
    candidates = make_candidates(replay.cell)
    progress = np.zeros(6, np.int64)
    progress[DRAW] = seed
    progress[MODEL] = -1
    while not replay_until(replay, rule, agenda, candidates, rows, progress, until):
        rows = np.concatenate((rows, np.full((n + 1024, COLUMNS), NEVER)))
        agenda = Heap(np.tile(agenda.keys, 2), np.tile(agenda.values, (2, 1)), agenda.size)
    return rows[: progress[N_ROWS]]
