"""A workload packed from nothing onto machines, task by task in a given order."""

import heapq
from dataclasses import dataclass, field

import numpy as np

from borgtrace.kernels.arrays import Flags, Index
from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.choice import choose, choose_of_k, first_empty, is_open, score_on
from borgtrace.scheduling.machines import CLASS, CPU, MEMORY, Cell, make_cell, place, settle
from borgtrace.scheduling.policies import POLICIES, Policy

ANYWHERE: Flags = np.empty((0, 0), np.bool_)
"""What :func:`pack` takes for machines where no task has constraints."""
_RUN = 4
"""From so many tasks on that are alike, it is worth the while to look at each machine once for all of them."""
_ALL: Flags = np.empty(0, np.bool_)


@compiled(makes_arrays=False)
def _same(one: int, other: int, sizes: Index, groups: Index, sets: Index) -> bool:
    """Whether two tasks are alike to a scheduler."""
    return (
        sizes[one, CPU] == sizes[other, CPU]
        and sizes[one, MEMORY] == sizes[other, MEMORY]
        and sets[one] == sets[other]
        and groups[one] == groups[other]
    )


@compiled()
def fill(cell: Cell, kind: int, tasks: Index, cpu: int, memory: int, groups: Index, allowed: Flags, out: Index) -> int:
    """Place tasks that are alike, one after the other as :func:`choose` would; return how many were placed.

    Only the machine that takes a task changes its score, so that each is looked at once, and the best is kept on top.
    """
    group = groups[tasks[0]]
    heap = [(0.0, 0, 0)]
    heap.pop()
    for machine in range(cell.rank.size):
        if cell.n_tasks[machine] and is_open(cell, machine, cpu, memory, group, groups, allowed):
            heap.append((score_on(cell, kind, machine, cpu, memory), cell.rank[machine], machine))
    for k in range(cell.first.size - 1):
        machine = first_empty(cell, k, allowed)
        if machine >= 0 and is_open(cell, machine, cpu, memory, group, groups, allowed):
            heap.append((score_on(cell, kind, machine, cpu, memory), cell.rank[machine], machine))
    heapq.heapify(heap)
    for number, task in enumerate(tasks):
        if len(heap) == 0:
            return number
        machine = heap[0][2]
        was_empty = cell.n_tasks[machine] == 0
        out[task] = machine
        place(cell, task, machine, cpu, memory)
        if is_open(cell, machine, cpu, memory, group, groups, allowed):
            entry = (score_on(cell, kind, machine, cpu, memory), cell.rank[machine], machine)
            # Most often it is the best again, and nothing moves.
            heapq.heapreplace(heap, entry)
        else:
            heapq.heappop(heap)
        if was_empty:
            machine = first_empty(cell, cell.places[machine, CLASS], allowed)
            if machine >= 0 and is_open(cell, machine, cpu, memory, group, groups, allowed):
                entry = (score_on(cell, kind, machine, cpu, memory), cell.rank[machine], machine)
                heapq.heappush(heap, entry)
    return len(tasks)


@compiled()
def _pack(
    cell: Cell,
    kind: int,
    k: int,
    starts: Index,
    order: Index,
    sizes: Index,
    groups: Index,
    sets: Index,
    allowed: Flags,
    anywhere: Flags,
    most: int,
    out: Index,
) -> int:
    """Place tasks in order; stop where more than `most` stay pending; return how many do."""
    pending, at = 0, 0
    while at < order.size and pending <= most:
        task = order[at]
        cpu, memory = sizes[task]
        rows = anywhere if sets[task] == 0 else allowed[sets[task] - 1]
        end = at + 1
        while k == 0 and end < order.size and _same(order[end], task, sizes, groups, sets):
            end += 1
        if end - at >= _RUN:
            # Where one of them fits nowhere the others do not either.
            pending += end - at - fill(cell, kind, order[at:end], cpu, memory, groups, rows, out)
        else:
            for each in order[at:end]:
                if k > 0:
                    found = choose_of_k(cell, kind, k, starts[each], cpu, memory, groups[each], groups, rows)
                else:
                    found = choose(cell, kind, cpu, memory, groups[each], groups, rows)
                out[each] = found
                if found >= 0:
                    place(cell, each, found, cpu, memory)
                else:
                    pending += 1
        at = end
    return pending


@dataclass(frozen=True, eq=False)
class Demand:
    """Tasks to be packed.

    Attributes
    ----------
    sizes
        int64 (n, 2): CPU and memory, in parts of `borgtrace.scheduling.machines.UNIT`.
    groups
        int64 (n,): tasks of one group share no machine; −1: no group.
    sets
        int64 (n,): 0, or 1 + the line of `allowed` that says where the task may be.
    allowed
        bool (sets, machines): which machines meet each set of constraints.
    """

    sizes: Index
    groups: Index
    sets: Index
    allowed: Flags = field(default_factory=lambda: ANYWHERE)


def pack(
    demand: Demand,
    order: Index,
    capacity: Index,
    rank: Index,
    policy: Policy = POLICIES["least-stranded"],
    *,
    most: int | None = None,
    seed: int = 0,
    reserved: tuple[Index, int] | None = None,
) -> tuple[Index, int]:
    """Return the machine of each task (−1: none), and how many tasks are pending.

    Parameters
    ----------
    demand
        The tasks.
    order
        int64: tasks in the order in which they are placed.
    capacity, rank
        Of the machines: int64 (machines, 2) and (machines,).
    policy
        Which machine.
    most
        So many may stay pending: with more, the rest is not looked at.
    seed
        Of the random order of machines, where the policy has one.
    reserved
        What tasks take once the first so many of `order` are placed: int64 (n, 2), and how many that are.
    """
    n = len(demand.sizes)
    cell, lines = make_cell(capacity, rank, n)
    allowed = np.ascontiguousarray(demand.allowed[:, lines]) if len(demand.allowed) else ANYWHERE
    starts = np.random.default_rng(seed).integers(0, max(len(rank), 1), n if policy.k else 0)
    limit, out = n if most is None else most, np.full(n, -1, np.int64)
    sizes, pending = np.ascontiguousarray(demand.sizes), 0
    parts = (order,) if reserved is None else (order[: reserved[1]], order[reserved[1] :])
    for number, part in enumerate(parts):
        if reserved is not None and number:
            sizes = reserved[0]
            _resize(cell, out, sizes)
        given = (policy.kind, policy.k, starts, part, sizes, demand.groups, demand.sets, allowed, _ALL)
        pending += _pack(cell, *given, limit - pending, out)
    return np.where(out >= 0, lines[out] if len(lines) else -1, -1), pending


def _resize(cell: Cell, out: Index, sizes: Index) -> None:
    """Let the tasks that are placed take other sizes."""
    cell.free[:] = cell.capacity
    there = out >= 0
    np.subtract.at(cell.free, out[there], sizes[there])
    for machine in np.unique(out[there]).tolist():
        settle(cell, machine)
