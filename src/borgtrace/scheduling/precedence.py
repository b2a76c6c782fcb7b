"""Who goes first: of those that wait for a machine's room, and of those that are evicted from it."""

import numpy as np

from borgtrace.kernels.arrays import Index
from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.choice import is_apart, is_better, is_open, is_safe
from borgtrace.scheduling.gangs import is_ready, kind_of
from borgtrace.scheduling.machines import CPU, EXTENDED, MEMORY, NEXT_TASK
from borgtrace.scheduling.state import STARTED, VARIED, Replay


@compiled(makes_arrays=False)
def next_for(replay: Replay, machine: int) -> int:
    """Return the kind of who waits and fits a machine: the highest priority, of these who came first; −1: nobody."""
    best = -1
    found = -1
    cell = replay.cell
    jobs = replay.jobs
    queue = replay.queue
    for at in range(queue.n_active[0]):
        kind = queue.active[at]
        head = queue.heads[kind]
        gang = kind - kind_of(queue, replay.gangs, 0)
        if gang >= 0:
            if not is_ready(cell, replay.gangs, gang, machine):
                continue
        elif (
            cell.sizes[head, CPU] > cell.free[machine, CPU]
            or cell.sizes[head, MEMORY] > cell.free[machine, MEMORY]
        ):
            continue
        if best >= 0:
            ahead = jobs.priority[head] - jobs.priority[best]
            if ahead < 0 or (ahead == 0 and replay.row_of[head] > replay.row_of[best]):
                continue
        if gang >= 0 or is_open(cell, machine, head):
            best = head
            found = kind
    return found


@compiled(makes_arrays=False)
def to_preempt(replay: Replay, attempt: int) -> int:
    """Return the machine where a task fits once lower tiers are evicted and least is missing now; −1: none."""
    best = -1
    least = np.inf
    cell = replay.cell
    jobs = replay.jobs
    cpu = cell.sizes[attempt, CPU]
    memory = cell.sizes[attempt, MEMORY]
    for machine in range(cell.rank.size):
        if not (cell.is_up[machine] and cell.allowed[cell.sets[attempt], machine]):
            continue
        wide = cell.free[machine, CPU]
        high = cell.free[machine, MEMORY]
        missing = max(0, cpu - wide) / cell.capacity[machine, CPU]
        missing += max(0, memory - high) / cell.capacity[machine, MEMORY]
        spread, other = cell.spread[machine]
        for tier in range(jobs.tier[attempt]):
            held = replay.held[tier, machine]
            wide = wide + held[0]
            high = high + held[1]
            spread = spread - held[2]
            other = other - held[3]
        fits = is_safe(cell, attempt, wide - cpu, spread, CPU) and is_safe(
            cell, attempt, high - memory, other, MEMORY
        )
        for which in range(EXTENDED, cell.sizes.shape[1]):
            left = cell.free[machine, which] - cell.sizes[attempt, which]
            for tier in range(jobs.tier[attempt]):
                left += replay.held[tier, machine, VARIED + which]
            fits = fits and left >= 0
        if (
            fits
            and is_better(cell, missing, machine, least, best)
            and is_apart(cell, machine, cell.groups[attempt])
        ):
            best = machine
            least = missing
    return best


@compiled(makes_arrays=False)
def victim_on(
    replay: Replay,
    rows: Index,
    machine: int,
    tier: int,
) -> int:
    """Return who is evicted first: of the tiers below, the lowest priority, and of these who started last."""
    jobs = replay.jobs
    row_of = replay.row_of
    found = -1
    task = replay.cell.tops[machine]
    while task >= 0:
        if jobs.tier[task] < tier:
            ahead = -1 if found < 0 else jobs.priority[task] - jobs.priority[found]
            if ahead < 0 or (
                ahead == 0 and rows[row_of[task], STARTED] > rows[row_of[found], STARTED]
            ):
                found = task
        task = replay.cell.tasks[task, NEXT_TASK]
    return found
