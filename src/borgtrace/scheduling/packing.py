"""Pack a workload from nothing onto machines, task by task in a given order."""

from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Index
from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.candidates import (
    best_candidate,
    find_candidates,
    make_candidates,
    update_candidates,
)
from borgtrace.scheduling.choice import OWN, choose, choose_of_k
from borgtrace.scheduling.heap import Heap
from borgtrace.scheduling.machines import (
    EXTENDED,
    CellState,
    Demand,
    make_cell,
    place,
    release,
    settle,
)
from borgtrace.scheduling.own_scheduler import own_scores_of, raise_failure
from borgtrace.scheduling.own_scores import OwnScores, choose_by_score
from borgtrace.scheduling.policies import POLICIES, PlacementPolicy


class CellPacking(NamedTuple):
    """What came of packing.

    Attributes
    ----------
    machines
        int64 (n,): the machine of each task; −1: none.
    n_pending
        How many tasks have none.
    """

    machines: Index
    n_pending: int


class Reservations(NamedTuple):
    """What tasks take once the first ones are placed.

    Attributes
    ----------
    sizes
        int64 (n, 2).
    n_first
        How many tasks are placed by what they take otherwise.
    """

    sizes: Index
    n_first: int


def pack(
    demand: Demand,
    order: Index,
    capacity: Index,
    rank: Index,
    policy: PlacementPolicy = POLICIES["least-stranded"],
    *,
    most: int | None = None,
    seed: int = 0,
    reserved: Reservations | None = None,
    jobs: Index | None = None,
) -> CellPacking:
    """Place tasks in order.

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
        Smaller sizes for tasks after the first ones; None: all take what they take.
    jobs
        Job of each task, int64 (n,): tasks of one that follow each other are placed all or none; None: each by itself.
    """
    n = len(demand.sizes)
    cell, lines = make_cell(capacity, rank, demand, keeps_changes=policy.scheduler is not None)
    has_gpus = len(demand.extended) > 0 and demand.extended.shape[1] > 0
    attributes = demand.attributes[lines] if len(demand.attributes) else demand.attributes
    own = own_scores_of(policy.scheduler, cell, demand, has_gpus=has_gpus, attributes=attributes)
    heap = make_candidates(cell)
    rng = np.random.default_rng(seed)
    starts = rng.integers(max(len(rank), 1), size=n if policy.k else 0)
    machines = np.full(n, -1, np.int64)
    limit = n if most is None else most
    n_pending = 0

    def place_part(part: Index) -> int:
        most_left = limit - n_pending
        shared = (cell, heap, policy.kind, policy.k, starts, part, most_left, machines, own)
        if jobs is None:
            return pack_tasks(*shared)
        return pack_jobs(*shared, jobs)

    if reserved is None:
        n_pending = place_part(order)
    else:
        n_pending = place_part(order[: reserved.n_first])
        resize(cell, machines, reserved.sizes)
        n_pending += place_part(order[reserved.n_first :])
    raise_failure(policy.scheduler, own)
    return CellPacking(to_lines(machines, lines), n_pending)


def to_lines(machines: Index, lines: Index) -> Index:
    """Return the line of the capacities behind each machine of a cell; −1 for none."""
    if not len(lines):
        return np.full(len(machines), -1)
    return np.where(machines >= 0, lines[machines], -1)


def resize(cell: CellState, machines: Index, sizes: Index) -> None:
    """Let the tasks that are placed take other sizes."""
    free = cell.free[:, :EXTENDED]
    is_placed = machines >= 0
    free[:] = cell.capacity[:, :EXTENDED]
    cell.sizes[:, :EXTENDED] = sizes
    np.subtract.at(free, machines[is_placed], sizes[is_placed])
    for machine in np.unique(machines[is_placed]).tolist():
        settle(cell, machine)


@compiled(makes_arrays=False)
def are_alike(cell: CellState, task: int, other: int) -> bool:
    """Whether two tasks are alike to a scheduler."""
    for which in range(cell.sizes.shape[1]):
        if cell.sizes[task, which] != cell.sizes[other, which]:
            return False
        is_varied = cell.safety > 0 and which < EXTENDED
        if is_varied and cell.variances[task, which] != cell.variances[other, which]:
            return False
    return cell.sets[task] == cell.sets[other] and cell.groups[task] == cell.groups[other]


@compiled(makes_arrays=False)
def pack_tasks(
    cell: CellState,
    heap: Heap,
    kind: int,
    k: int,
    starts: Index,
    order: Index,
    most: int,
    out: Index,
    own: OwnScores | None,
) -> int:
    """Place tasks in order; stop where more than `most` stay pending; return how many do."""
    n_pending = 0
    model = -1
    for at, task in enumerate(order):
        if n_pending > most:
            break
        is_known = model >= 0 and are_alike(cell, model, task)
        if kind == OWN:
            machine = choose_by_score(own, cell, task)
        elif k > 0:
            machine = choose_of_k(cell, kind, k, starts[task], task)
        elif is_known or (at + 1 < order.size and are_alike(cell, task, order[at + 1])):
            # Alike tasks that follow choose among the same candidates.
            if not is_known:
                find_candidates(heap, cell, kind, task)
            model = task
            machine = best_candidate(heap, cell, kind, task)
        else:
            model = -1
            machine = choose(cell, kind, task)
        out[task] = machine
        if machine < 0:
            n_pending += 1
            continue
        place(cell, task, machine)
        # The machine on top is put right when it is asked next.
        if model >= 0 and cell.n_tasks[machine] == 1:
            update_candidates(heap, cell, kind, machine, task)
    return n_pending


@compiled(makes_arrays=False)
def pack_jobs(
    cell: CellState,
    heap: Heap,
    kind: int,
    k: int,
    starts: Index,
    order: Index,
    most: int,
    out: Index,
    own: OwnScores | None,
    jobs: Index,
) -> int:
    """Place jobs in order, each whole or not at all; the other parameters are those of :func:`pack_tasks`."""
    n_pending = 0
    begin = 0
    while begin < order.size and n_pending <= most:
        end = begin + 1
        while end < order.size and jobs[order[end]] == jobs[order[begin]]:
            end += 1
        job = order[begin:end]
        if pack_tasks(cell, heap, kind, k, starts, job, 0, out, own):
            for task in job:
                if out[task] >= 0:
                    release(cell, task)
                    out[task] = -1
            n_pending += end - begin
        begin = end
    return n_pending
