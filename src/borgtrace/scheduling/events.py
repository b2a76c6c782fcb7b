"""The loop of a replay: arrivals, ends and machines in the order of time, compiled.

What waits is kept by kinds of tasks that are alike to a scheduler.  A task that waits fits nowhere, so that a machine
that gets room is the only one where anything may fit: no other is looked at, and the kinds are asked, not the tasks.
"""

import numpy as np

from borgtrace.kernels.arrays import Index
from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.candidates import best, is_crowded, look, make_candidates, note
from borgtrace.scheduling.choice import choose, choose_of_k, has_room
from borgtrace.scheduling.gangs import is_ready, kind_of, measure_room, place_all
from borgtrace.scheduling.heap import Heap, make_heap, pop
from borgtrace.scheduling.machines import release
from borgtrace.scheduling.precedence import next_for, to_preempt, victim_on
from borgtrace.scheduling.queue import dequeue, enqueue
from borgtrace.scheduling.state import NEVER, PREEMPTED, WHERE, Replay, Rule
from borgtrace.scheduling.transitions import (
    ARRIVAL,
    CHANGE,
    DECAY,
    END,
    RANKS,
    book,
    change,
    decay,
    finish,
    start,
    stop,
    submit,
)

_LAST = 2**63 - 1
_ALIKE = 4
"""From so many alike arrivals in a row on, what is known of machines is kept for the next one.

Measured on the real parts: 341,000 placements/s with 2, 344,000 with 3, 350,000 with 4; more had been worse before.
"""
_FACTOR = 1_103_515_245
_MASK = 2**31 - 1
"""A linear congruential generator, of which the upper bits are taken."""


@compiled(makes_arrays=False)
def _evict_for(
    replay: Replay,
    rule: Rule,
    agenda: Heap,
    rows: Index,
    attempt: int,
    time: int,
) -> int:
    """Evict lower tiers from a machine until a task fits, and return it; −1: there is none."""
    machine = to_preempt(replay, attempt)
    while machine >= 0 and not has_room(replay.cell, machine, attempt):
        victim = victim_on(replay, rows, machine, replay.jobs.tier[attempt])
        stop(replay, rows, victim, time, PREEMPTED)
        book(agenda, time + rule.pause, ARRIVAL, victim, 0)
    return machine


@compiled(makes_arrays=False)
def _start_all(
    replay: Replay,
    rule: Rule,
    agenda: Heap,
    rows: Index,
    gang: int,
    time: int,
    draw: int,
) -> bool:
    """Start all tasks of a gang, or none; return whether they start."""
    gangs = replay.gangs
    if not place_all(replay.cell, gangs, gang, rule.kind, rule.k, draw):
        return False
    members = gangs.members[gangs.first[gang] : gangs.first[gang + 1]]
    # What it takes of others that wait is counted task by task, from where none of its own was placed.
    for attempt in members:
        if gangs.of[attempt] == gang:
            rows[replay.row_of[attempt], WHERE] = release(replay.cell, attempt)
    for attempt in members:
        if gangs.of[attempt] == gang:
            start(
                replay,
                agenda,
                rows,
                attempt,
                rows[replay.row_of[attempt], WHERE],
                time,
            )
            gangs.of[attempt] = -1
    return True


@compiled(makes_arrays=False)
def _arrive_all(
    replay: Replay,
    rule: Rule,
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
    for at, attempt in enumerate(members):
        submit(replay, agenda, rows, attempt, row + at, time)
    measure_room(replay.cell, gangs, gang)
    if not (
        is_ready(replay.cell, gangs, gang, -1)
        and _start_all(
            replay,
            rule,
            agenda,
            rows,
            gang,
            time,
            draw,
        )
    ):
        gangs.closed[gang] = 0
        enqueue(replay.queue, kind_of(replay.queue, gangs, gang), members[0])
    return members.size


@compiled(makes_arrays=False)
def _arrive(
    replay: Replay,
    rule: Rule,
    agenda: Heap,
    rows: Index,
    attempt: int,
    row: int,
    time: int,
    draw: int,
    heap: Heap,
    is_known: bool,
) -> tuple[int, bool]:
    """Place a submission or let it wait; return its machine, or −1, and whether others were evicted from it.

    Where `is_known`, `heap` has the machines that may take it.
    """
    cell = replay.cell
    jobs = replay.jobs
    queue = replay.queue
    submit(replay, agenda, rows, attempt, row, time)
    machine = -1
    evicts = False
    # Where another of its kind waits, nothing has room.
    if queue.heads[jobs.kinds[attempt]] < 0:
        if rule.k > 0:
            machine = choose_of_k(cell, rule.kind, rule.k, draw, attempt)
        elif is_known:
            machine = best(heap, cell, rule.kind, attempt)
        else:
            machine = choose(cell, rule.kind, attempt)
    if machine < 0 and rule.preempts:
        machine = _evict_for(replay, rule, agenda, rows, attempt, time)
        evicts = machine >= 0
    if machine >= 0:
        start(replay, agenda, rows, attempt, machine, time)
    else:
        enqueue(queue, jobs.kinds[attempt], attempt)
    return machine, evicts


@compiled(makes_arrays=False)
def _refill(
    replay: Replay,
    rule: Rule,
    agenda: Heap,
    rows: Index,
    machine: int,
    time: int,
) -> None:
    """Start what waits and fits a machine, and gangs that fit with its room."""
    queue = replay.queue
    closed = replay.gangs.closed
    failed = False
    kind = next_for(replay, machine)
    while kind >= 0:
        head = queue.heads[kind]
        gang = kind - kind_of(queue, replay.gangs, 0)
        if gang < 0:
            dequeue(queue, kind, head)
            start(replay, agenda, rows, head, machine, time)
        elif _start_all(
            replay,
            rule,
            agenda,
            rows,
            gang,
            time,
            machine,
        ):
            dequeue(queue, kind, head)
        else:
            failed = True
        kind = next_for(replay, machine)
    for gang in range(closed.size if failed else 0):
        closed[gang] = 0


@compiled(makes_arrays=False)
def _next(
    replay: Replay,
    agenda: Heap,
    begun: int,
    changed: int,
) -> tuple[int, int, int]:
    """Return what comes next: time and what, of which attempt or event, and its row (−1: it is none of the agenda)."""
    jobs = replay.jobs
    key = _LAST
    value = 0
    row = -1
    if changed < len(replay.machines):
        key = replay.machines[changed, 0] * RANKS + CHANGE
        value = changed
    if begun < jobs.firsts.size:
        first = jobs.firsts[begun]
        if jobs.time[first] * RANKS + ARRIVAL < key:
            key = jobs.time[first] * RANKS + ARRIVAL
            value = first
    # Of two that arrive at one instant the first in the trace goes first.
    if agenda.size[0] and (int(agenda.keys[0]), agenda.values[0, 0]) < (key, value):
        key = int(agenda.keys[0])
        value = agenda.values[0, 0]
        row = agenda.values[0, 1]
        pop(agenda)
    return key, value, row


@compiled(makes_arrays=False)
def _go_on(
    replay: Replay,
    rule: Rule,
    agenda: Heap,
    heap: Heap,
    rows: Index,
    state: Index,
    until: int,
) -> bool:
    """Let things happen up to a time; return False where rows or the agenda have to grow first."""
    jobs = replay.jobs
    (begun, changed, count, draw, alike, model) = state
    is_over = False
    gangs = replay.gangs
    while (
        count + gangs.members.size < len(rows)
        and agenda.size[0] + jobs.time.size < agenda.keys.size
    ):
        key, value, row = _next(replay, agenda, begun, changed)
        time = key // RANKS
        what = key % RANKS
        is_refilled = True
        if key == _LAST or time > until:
            is_over = True
            break
        if what == CHANGE:
            machine = change(replay, rule, agenda, rows, value)
            changed = changed + 1
        elif what == END:
            machine = finish(replay, agenda, rows, value, row, time)
        elif what == DECAY:
            machine = decay(replay, agenda, rows, value, row, time)
            # What is known of machines is known for what it asked for.
            model = -1 if value == model else model
        elif row < 0 and gangs.of[value] >= 0:
            draw = (draw * _FACTOR + 1) & _MASK
            came = _arrive_all(
                replay,
                rule,
                agenda,
                rows,
                gangs.of[value],
                count,
                time,
                draw >> 16,
            )
            machine = -1
            begun = begun + came
            count = count + came
        else:
            if row < 0:
                alike = jobs.alike[begun]
                begun = begun + 1
                if (
                    alike >= _ALIKE
                    and rule.k == 0
                    and (model < 0 or jobs.kinds[model] != jobs.kinds[value])
                ):
                    model = value
                    look(heap, replay.cell, rule.kind, model)
            draw = (draw * _FACTOR + 1) & _MASK
            start = (draw >> 16) % max(replay.cell.rank.size, 1)
            is_known = model >= 0 and jobs.kinds[model] == jobs.kinds[value]
            machine, is_refilled = _arrive(
                replay,
                rule,
                agenda,
                rows,
                value,
                count,
                time,
                start,
                heap,
                is_known,
            )
            count += 1
        if machine >= 0 and is_refilled and replay.cell.is_up[machine]:
            _refill(replay, rule, agenda, rows, machine, time)
        if machine >= 0 and model >= 0:
            note(heap, replay.cell, rule.kind, machine, model)
            # After the last of a row what becomes of machines is noted for nobody.
            if alike <= 1 or is_crowded(heap, replay.cell):
                model = -1
    state[0] = begun
    state[1] = changed
    state[2] = count
    state[3] = draw
    state[4] = alike
    state[5] = model
    return is_over


def run(
    replay: Replay,
    rule: Rule,
    until: int,
    seed: int,
) -> Index:
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
    n = len(replay.jobs.time)
    # Some are submitted more often than in the trace, most only as often.
    rows = np.full((n + n // 8 + 1024 + replay.gangs.members.size, 6), NEVER)
    agenda = make_heap(3 * n + 1024)
    heap = make_candidates(replay.cell)
    state = np.array([0, 0, 0, seed, 0, -1])
    while not _go_on(
        replay,
        rule,
        agenda,
        heap,
        rows,
        state,
        until,
    ):
        rows = np.concatenate((rows, np.full((n + 1024, 6), NEVER)))
        agenda = Heap(np.tile(agenda.keys, 2), np.tile(agenda.values, (2, 1)), agenda.size)
    return rows[: state[2]]
