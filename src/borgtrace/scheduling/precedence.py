"""Priority rules: which waiting task goes first, and which running task is evicted first."""

import numpy as np

from borgtrace.kernels.arrays import Index
from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.choice import OWN, is_apart, is_better, is_open, is_safe
from borgtrace.scheduling.gangs import is_ready, kind_of
from borgtrace.scheduling.machines import CPU, EXTENDED, MEMORY, NEXT_TASK
from borgtrace.scheduling.own_scores import is_accepted
from borgtrace.scheduling.state import STARTED, VARIED, ReplayRule, ReplayState


@compiled(inline=True, makes_arrays=False)
def is_ahead(replay: ReplayState, attempt: int, other: int) -> bool:
    """Whether an attempt is asked before another: its turn is earlier, or it came first."""
    difference = replay.jobs.turn[attempt] - replay.jobs.turn[other]
    if difference != 0:
        return difference < 0
    return replay.row_of[attempt] <= replay.row_of[other]


@compiled(makes_arrays=False)
def next_kind_for(replay: ReplayState, rule: ReplayRule, machine: int) -> int:
    """Return the kind of who waits and fits a machine: whose turn it is, of these who came first; −1: nobody."""
    best = -1
    best_kind = -1
    cell = replay.cell
    queue = replay.queue
    for place in range(queue.n_active[0]):
        kind = queue.active[place]
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
        if best >= 0 and not is_ahead(replay, head, best):
            continue
        if gang < 0:
            if not is_open(cell, machine, head):
                continue
            if rule.kind == OWN and not is_accepted(rule.own, cell, machine, head):
                continue
        best = head
        best_kind = kind
    return best_kind


@compiled(inline=True, makes_arrays=False)
def fits_without_lower_tiers(
    replay: ReplayState,
    machine: int,
    attempt: int,
) -> bool:
    """Whether a machine has room for an attempt once all tasks of lower tiers are evicted."""
    cell = replay.cell
    tier = replay.jobs.tier[attempt]
    cpu = cell.free[machine, CPU]
    memory = cell.free[machine, MEMORY]
    cpu_spread, memory_spread = cell.spread[machine]
    for lower in range(tier):
        held = replay.held[lower, machine]
        cpu = cpu + held[CPU]
        memory = memory + held[MEMORY]
        cpu_spread = cpu_spread - held[VARIED + CPU]
        memory_spread = memory_spread - held[VARIED + MEMORY]
    cpu_left = cpu - cell.sizes[attempt, CPU]
    memory_left = memory - cell.sizes[attempt, MEMORY]
    fits = is_safe(cell, attempt, cpu_left, cpu_spread, CPU) and is_safe(
        cell, attempt, memory_left, memory_spread, MEMORY
    )
    for which in range(EXTENDED, cell.sizes.shape[1]):
        left = cell.free[machine, which] - cell.sizes[attempt, which]
        for lower in range(tier):
            left += replay.held[lower, machine, VARIED + which]
        fits = fits and left >= 0
    return fits


@compiled(makes_arrays=False)
def machine_to_preempt(replay: ReplayState, rule: ReplayRule, attempt: int) -> int:
    """Return the machine where a task fits once lower tiers are evicted and least is missing now; −1: none."""
    best = -1
    least = np.inf
    cell = replay.cell
    cpu = cell.sizes[attempt, CPU]
    memory = cell.sizes[attempt, MEMORY]
    for machine in range(cell.rank.size):
        if not (cell.is_up[machine] and cell.allowed[cell.sets[attempt], machine]):
            continue
        missing = max(0, cpu - cell.free[machine, CPU]) / cell.capacity[machine, CPU]
        missing += max(0, memory - cell.free[machine, MEMORY]) / cell.capacity[machine, MEMORY]
        if (
            fits_without_lower_tiers(replay, machine, attempt)
            and is_better(cell, missing, machine, least, best)
            and is_apart(cell, machine, cell.groups[attempt])
            and (rule.kind != OWN or is_accepted(rule.own, cell, machine, attempt))
        ):
            best = machine
            least = missing
    return best


@compiled(makes_arrays=False)
def victim_on(
    replay: ReplayState,
    rows: Index,
    machine: int,
    tier: int,
) -> int:
    """Return who is evicted first: of the tiers below, who is worth least, of these who started last."""
    jobs = replay.jobs
    row_of = replay.row_of
    victim = -1
    task = replay.cell.tops[machine]
    while task >= 0:
        if jobs.tier[task] < tier:
            difference = -1
            if victim >= 0:
                difference = jobs.worth[task] - jobs.worth[victim]
            if difference == 0 and rows[row_of[task], STARTED] > rows[row_of[victim], STARTED]:
                difference = -1
            if difference < 0:
                victim = task
        task = replay.cell.tasks[task, NEXT_TASK]
    return victim
