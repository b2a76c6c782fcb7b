"""A workload packed from nothing onto machines, task by task in a given order."""

import numpy as np

from borgtrace.kernels.arrays import Index
from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.candidates import best, look, make_candidates, note
from borgtrace.scheduling.choice import choose, choose_of_k
from borgtrace.scheduling.heap import Heap
from borgtrace.scheduling.machines import EXTENDED, Cell, Demand, make_cell, place, release, settle
from borgtrace.scheduling.policies import POLICIES, Policy


@compiled(makes_arrays=False)
def _same(cell: Cell, one: int, other: int) -> bool:
    """Whether two tasks are alike to a scheduler."""
    for which in range(cell.sizes.shape[1]):
        if cell.sizes[one, which] != cell.sizes[other, which]:
            return False
        is_varied = cell.safety > 0 and which < EXTENDED
        if is_varied and cell.variances[one, which] != cell.variances[other, which]:
            return False
    return cell.sets[one] == cell.sets[other] and cell.groups[one] == cell.groups[other]


@compiled(makes_arrays=False)
def _pack(
    cell: Cell,
    heap: Heap,
    kind: int,
    k: int,
    starts: Index,
    order: Index,
    most: int,
    out: Index,
) -> int:
    """Place tasks in order; stop where more than `most` stay pending; return how many do."""
    pending = 0
    last = -1
    for at, task in enumerate(order):
        if pending > most:
            break
        is_known = last >= 0 and _same(cell, last, task)
        if k > 0:
            found = choose_of_k(cell, kind, k, starts[task], task)
        elif is_known or (at + 1 < order.size and _same(cell, task, order[at + 1])):
            # What follows and is alike goes where is best among the same machines.
            if not is_known:
                look(heap, cell, kind, task)
            last = task
            found = best(heap, cell, kind, task)
        else:
            last = -1
            found = choose(cell, kind, task)
        out[task] = found
        if found < 0:
            pending += 1
            continue
        place(cell, task, found)
        # What is on top is put right when it is asked next.
        if last >= 0 and cell.n_tasks[found] == 1:
            note(heap, cell, kind, found, task)
    return pending


@compiled(makes_arrays=False)
def _pack_whole(
    cell: Cell,
    heap: Heap,
    kind: int,
    k: int,
    starts: Index,
    order: Index,
    most: int,
    out: Index,
    jobs: Index,
) -> int:
    """Place jobs in order, each whole or not at all; the other parameters are those of :func:`_pack`."""
    pending = 0
    at = 0
    while at < order.size and pending <= most:
        end = at + 1
        while end < order.size and jobs[order[end]] == jobs[order[at]]:
            end += 1
        job = order[at:end]
        if _pack(
            cell,
            heap,
            kind,
            k,
            starts,
            job,
            0,
            out,
        ):
            for task in job:
                if out[task] >= 0:
                    release(cell, task)
                    out[task] = -1
            pending += end - at
        at = end
    return pending


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
    whole: Index | None = None,
) -> tuple[Index, int]:
    """Return the machine of each task (−1: none), and how many tasks are pending.

    Parameters
    ----------
    demand
        The tasks.
    order
        int64: tasks in the order in which they are placed.
    capacity, rank
        Of the machines, as for :func:`make_cell`.
    policy
        Which machine.
    most
        So many may stay pending: with more, the rest is not looked at.
    seed
        Of the random order of machines, where the policy has one.
    reserved
        What tasks take once the first so many of `order` are placed: int64 (n, 2), and how many that are.
    whole
        Job of each task, int64 (n,): tasks of one that follow each other are placed all or none; None: each by itself.
    """
    n = len(demand.sizes)
    cell, lines = make_cell(capacity, rank, demand)
    heap = make_candidates(cell)
    pending = 0
    starts = np.random.default_rng(seed).integers(max(len(rank), 1), size=n if policy.k else 0)
    limit = n if most is None else most
    out = np.full(n, -1, np.int64)
    parts = (order,) if reserved is None else (order[: reserved[1]], order[reserved[1] :])
    for number, part in enumerate(parts):
        if reserved is not None and number:
            _resize(cell, out, reserved[0])
        given = (cell, heap, policy.kind, policy.k, starts, part, limit - pending, out)
        pending += _pack(*given) if whole is None else _pack_whole(*given, whole)
    return np.where(out >= 0, lines[out] if len(lines) else -1, -1), pending


def _resize(cell: Cell, out: Index, sizes: Index) -> None:
    """Let the tasks that are placed take other sizes."""
    free = cell.free[:, :EXTENDED]
    there = out >= 0
    free[:] = cell.capacity[:, :EXTENDED]
    cell.sizes[:, :EXTENDED] = sizes
    np.subtract.at(free, out[there], sizes[there])
    for machine in np.unique(out[there]).tolist():
        settle(cell, machine)
