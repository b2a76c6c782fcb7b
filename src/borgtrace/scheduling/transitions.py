"""Change one attempt, or one machine, of a replay: it arrives, starts, stops, ends; comes and goes.

Functions share their arguments: `replay`, the machines and who waits; `agenda`, what is to come; `rows`, what
:func:`borgtrace.scheduling.events.run` returns; an attempt, the `row` of its submission, and `time` in µs.

Where reservations decay (Verma et al., EuroSys'15, section 5.5) a task is reserved what it asks for at first, and then
less.  How fast is not published: after 300 s half of what is too much is given up, three times, and then all of it.
"""

from borgtrace.kernels.arrays import Index
from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.changes import CHANGE_TIME, CHANGED_MACHINE, CHANGED_SET, IS_THERE
from borgtrace.scheduling.gangs import count_room, kind_of
from borgtrace.scheduling.heap import Heap, push
from borgtrace.scheduling.machines import (
    CPU,
    EXTENDED,
    MACHINE,
    MEMORY,
    note_change,
    place,
    release,
    settle,
)
from borgtrace.scheduling.own_scores import set_attribute
from borgtrace.scheduling.queue import dequeue
from borgtrace.scheduling.state import (
    ALIVE,
    AT_FIRST,
    AT_LAST,
    ATTEMPT,
    DONE,
    ENDED,
    NEVER,
    NEVER_RAN,
    OUTCOME,
    RAN_ON,
    REMOVED,
    STARTED,
    SUBMITTED,
    VARIED,
    ReplayRule,
    ReplayState,
)

END, CHANGE, ARRIVAL, DECAY = range(4)
"""Of one instant ends come first, then changes of machines, then arrivals, and last lowered reservations."""
FIRM = 300_000_000
"""µs until a reservation is lowered, and lowered again."""
STEPS = 4
"""How often it is lowered."""
RANKS = 4
"""A time and one of the four ranks above are one number: the key of the agenda."""


@compiled(inline=True, makes_arrays=False)
def book(
    agenda: Heap,
    time: int,
    what: int,
    attempt: int,
    row: int,
) -> None:
    """Let something happen to an attempt, and its row, at a time."""
    push(agenda, time * RANKS + what, attempt, row)


@compiled(makes_arrays=False)
def move(
    replay: ReplayState,
    attempt: int,
    machine: int,
    sign: int,
) -> None:
    """Put an attempt on a machine, or take it off (−1), and count what it takes for its tier and of gangs that wait."""
    # A call that is handed all arrays takes a while, even where there is nothing to count.
    has_gangs = replay.gangs.closed.size > 0
    if has_gangs:
        count_room(replay.cell, replay.queue, replay.gangs, machine, -1)
    if sign > 0:
        place(replay.cell, attempt, machine)
    else:
        release(replay.cell, attempt)
    if has_gangs:
        count_room(replay.cell, replay.queue, replay.gangs, machine, 1)
    held = replay.held[replay.jobs.tier[attempt], machine]
    for which in (CPU, MEMORY):
        held[which] += sign * replay.cell.sizes[attempt, which]
        if replay.cell.safety > 0:
            held[VARIED + which] += sign * replay.cell.variances[attempt, which]
    for which in range(EXTENDED, replay.cell.sizes.shape[1]):
        held[VARIED + which] += sign * replay.cell.sizes[attempt, which]


@compiled(makes_arrays=False)
def start(
    replay: ReplayState,
    agenda: Heap,
    rows: Index,
    attempt: int,
    machine: int,
    time: int,
) -> None:
    """Start an attempt on a machine, and book its end."""
    jobs = replay.jobs
    row = replay.row_of[attempt]
    rows[row, STARTED] = time
    rows[row, RAN_ON] = machine
    move(replay, attempt, machine, 1)
    if jobs.duration[attempt] >= 0:
        end = time + jobs.duration[attempt]
        book(agenda, end, END, attempt, row)
    if replay.reserved.size:
        book(agenda, time + FIRM, DECAY, attempt, row)


@compiled(makes_arrays=False)
def decay(
    replay: ReplayState,
    agenda: Heap,
    rows: Index,
    attempt: int,
    row: int,
    time: int,
) -> int:
    """Lower what is reserved for an attempt, if it still runs; return the machine that gets room, or −1."""
    sizes = replay.cell.sizes[attempt]
    last = replay.reserved[attempt, AT_LAST]
    is_lowest = sizes[CPU] == last[CPU] and sizes[MEMORY] == last[MEMORY]
    if rows[row, ENDED] != NEVER or is_lowest:
        return -1
    is_last = time - rows[row, STARTED] >= STEPS * FIRM
    machine = replay.cell.tasks[attempt, MACHINE]
    move(replay, attempt, machine, -1)
    for which in (CPU, MEMORY):
        sizes[which] = last[which] if is_last else (sizes[which] + last[which]) // 2
    move(replay, attempt, machine, 1)
    if not is_last:
        book(agenda, time + FIRM, DECAY, attempt, row)
    return machine


@compiled(makes_arrays=False)
def stop(
    replay: ReplayState,
    rows: Index,
    attempt: int,
    time: int,
    outcome: int,
) -> int:
    """Take an attempt off its machine, and return the machine."""
    row = replay.row_of[attempt]
    machine = replay.cell.tasks[attempt, MACHINE]
    move(replay, attempt, machine, -1)
    if replay.reserved.size:
        replay.cell.sizes[attempt, CPU] = replay.reserved[attempt, AT_FIRST, CPU]
        replay.cell.sizes[attempt, MEMORY] = replay.reserved[attempt, AT_FIRST, MEMORY]
    rows[row, ENDED] = time
    rows[row, OUTCOME] = outcome
    return machine


@compiled(makes_arrays=False)
def submit(
    replay: ReplayState,
    agenda: Heap,
    rows: Index,
    attempt: int,
    row: int,
    time: int,
) -> None:
    """Give a submission its row, and book when it is withdrawn if it never ran."""
    rows[row, ATTEMPT] = attempt
    rows[row, SUBMITTED] = time
    rows[row, OUTCOME] = ALIVE
    replay.row_of[attempt] = row
    leaves = replay.jobs.leaves[attempt]
    if replay.jobs.duration[attempt] == NEVER_RAN and leaves >= 0:
        book(agenda, max(time, leaves), END, attempt, row)


@compiled(makes_arrays=False)
def change_machine(
    replay: ReplayState,
    rule: ReplayRule,
    agenda: Heap,
    rows: Index,
    change: int,
) -> int:
    """Let a machine come or go, begin or cease to meet constraints, or get an attribute's new value; return it.

    Tasks of a machine that goes are submitted again; one whose constraints are no longer met runs on.
    """
    cell = replay.cell
    time = replay.changes[change, CHANGE_TIME]
    machine = replay.changes[change, CHANGED_MACHINE]
    is_there = replay.changes[change, IS_THERE] == 1
    constraint_set = replay.changes[change, CHANGED_SET]
    count_room(cell, replay.queue, replay.gangs, machine, -1)
    if constraint_set < 0:
        set_attribute(rule.own, machine, -1 - constraint_set, replay.changes[change, IS_THERE])
        note_change(cell, machine)
    elif constraint_set > 0:
        cell.allowed[constraint_set, machine] = is_there
        note_change(cell, machine)
    else:
        cell.is_up[machine] = is_there
        settle(cell, machine)
    count_room(cell, replay.queue, replay.gangs, machine, 1)
    if constraint_set != 0 or is_there:
        return machine
    while cell.tops[machine] >= 0:
        attempt = cell.tops[machine]
        stop(replay, rows, attempt, time, REMOVED)
        book(agenda, time + rule.pause, ARRIVAL, attempt, 0)
    return machine


@compiled(makes_arrays=False)
def withdraw(replay: ReplayState, attempt: int) -> None:
    """Let an attempt wait no longer; a gang that waits does without it."""
    gangs = replay.gangs
    gang = gangs.of[attempt]
    if gang < 0:
        dequeue(replay.queue, replay.jobs.kinds[attempt], attempt)
        return
    whole = gangs.parts[gang]
    gangs.of[attempt] = -1
    gangs.waits[whole] -= 1
    if gangs.part[attempt] != whole:
        gangs.waits[gangs.part[attempt]] -= 1
    if gangs.waits[whole] == 0:
        first_member = gangs.members[gangs.first[gang]]
        dequeue(replay.queue, kind_of(replay.queue, gangs, gang), first_member)


@compiled(makes_arrays=False)
def finish(
    replay: ReplayState,
    agenda: Heap,
    rows: Index,
    attempt: int,
    row: int,
    time: int,
) -> int:
    """Let a submission end, unless it was evicted before; return the machine that gets room, or −1."""
    jobs = replay.jobs
    machine = -1
    if rows[row, ENDED] != NEVER:
        return machine
    if rows[row, STARTED] != NEVER:
        machine = stop(replay, rows, attempt, time, DONE)
    else:
        withdraw(replay, attempt)
        rows[row, ENDED] = time
        rows[row, OUTCOME] = DONE
    after = jobs.after[attempt]
    if after >= 0:
        again = max(jobs.time[after], time + jobs.gap[attempt])
        book(agenda, again, ARRIVAL, after, 0)
    return machine
