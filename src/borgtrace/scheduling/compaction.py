"""How few machines hold a workload: cell compaction (Verma et al., EuroSys'15, §5.1).

Machines are a prefix of concatenated random permutations of the cell, which clones it where it is too small.  The
workload is packed from nothing: priority descending, jobs in random order, tasks of a job together.  A size is enough
where at most 0.2 % of the tasks stay pending; the least is found by growing the cell by quarters until one is, and
then by halving what lies between.  Constraints of jobs with more tasks than half the cell has machines are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Flags, Index
from borgtrace.scheduling.machines import ANYWHERE, EXTENDED, UNIT, Demand
from borgtrace.scheduling.packing import pack
from borgtrace.scheduling.policies import POLICIES, Policy

_PICKY = 500
"""One task in so many may stay pending (0.2 %)."""
_LARGEST = 64
"""A workload that so many cells do not hold has tasks that no machine takes."""


@dataclass(frozen=True, eq=False)
class Workload:
    """Tasks of one moment.

    Attributes
    ----------
    demand
        What they take, and where they may be.
    priority, jobs
        int64 (n,).
    reserved
        int64 (n, 2): what production takes of the room of others; None: what it asks for.
    is_production
        bool (n,).
    is_whole
        Whether tasks of a job with one priority are placed all or none.
    """

    demand: Demand
    priority: Index
    jobs: Index
    is_production: Flags
    reserved: Index | None = None
    is_whole: bool = False

    def of(self, chosen: Flags) -> Workload:
        """Return some of the tasks."""
        reserved = None if self.reserved is None else self.reserved[chosen]
        parts = self.priority[chosen], self.jobs[chosen], self.is_production[chosen], reserved
        return Workload(self.demand.of(chosen), *parts, self.is_whole)

    def with_sizes(self, sizes: Index) -> Workload:
        """Return the tasks with other sizes, int64 (n, 2)."""
        return replace(self, demand=replace(self.demand, sizes=sizes))

    def softened(self, machines: int) -> Workload:
        """Return the tasks without the constraints of jobs larger than half a cell of so many machines."""
        is_large = np.bincount(self.jobs)[self.jobs] * 2 > machines
        demand = self.demand
        groups = np.where(is_large, -1, demand.groups)
        sets = np.where(is_large, 0, demand.sets)
        return replace(self, demand=replace(demand, groups=groups, sets=sets))

    def without_constraints(self) -> Workload:
        """Return the tasks as if each could run anywhere, beside any other."""
        nothing = np.zeros(len(self.jobs), np.int64)
        return replace(
            self,
            demand=replace(
                self.demand,
                groups=nothing - 1,
                sets=nothing,
                allowed=ANYWHERE,
            ),
        )


def order_of(workload: Workload, rng: np.random.Generator) -> Index:
    """Return the tasks in the order of packing: by priority, jobs at random, the tasks of a job together."""
    jobs = rng.permutation(int(workload.jobs.max(initial=-1)) + 1)[workload.jobs]
    return np.lexsort((np.arange(len(jobs)), jobs, -workload.priority)).astype(np.int64)


def needed(
    workload: Workload,
    capacity: Index,
    seed: int,
    policy: Policy = POLICIES["least-stranded"],
    *,
    most: int = -1,
) -> int:
    """Return how many machines hold the workload.

    Parameters
    ----------
    workload
        The tasks.
    capacity
        int64 (machines, 2 + extended): the cell, by machine id.
    seed
        Of the order of machines and of jobs.
    policy
        Which machine a task goes to.
    most
        So many tasks may stay pending; one in 500 where below 0.

    Raises
    ------
    UsageError
        Where more tasks than may be pending fit no machine.
    """
    n = len(workload.jobs)
    size = len(capacity)
    if not n:
        return 0
    rng = np.random.default_rng(seed)
    limit = n // _PICKY if most < 0 else most
    tasks = workload.softened(size)
    order = order_of(workload, rng)
    _check_possible(tasks, capacity, limit)
    lines = rng.permutation(size)
    # What surely is too small is not packed: where the tasks that may stay pending were the largest ones.
    least = np.minimum(
        tasks.demand.sizes,
        workload.demand.sizes if workload.reserved is None else workload.reserved,
    )
    least = np.where(tasks.is_production[:, None], least, tasks.demand.sizes)
    demanded = np.sort(least, axis=0)[: n - limit].sum(axis=0)

    def holds(count: int) -> bool:
        nonlocal lines
        while len(lines) < count:
            lines = np.append(lines, rng.permutation(size))
        part = lines[:count]
        has_room = (capacity[part, :EXTENDED].sum(axis=0) >= demanded).all()
        return bool(
            has_room
            and _pending(
                tasks,
                order,
                capacity,
                part,
                policy,
                limit,
                seed,
            )
            <= limit
        )

    low = 0
    high = size
    while not holds(high):
        if high > size * _LARGEST:
            raise UsageError(
                "compact",
                "tasks stay pending however large the cell is",
                expected=f"at most {limit:,} of {n:,} (0.2 %)",
                way_out="they are too large for the machines that meet their constraints: try --what-if no-constraints",
            )
        low = high
        high = high + (high + 3) // 4
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _pending(
    tasks: Workload,
    order: Index,
    capacity: Index,
    lines: Index,
    policy: Policy,
    limit: int,
    seed: int,
) -> int:
    """Return how many tasks some machines (lines of the cell, perhaps repeated) leave pending, up to one too many."""
    rank = np.empty(len(lines), np.int64)
    # Ties go to the lowest machine id, and among clones to the first: the sort is stable.
    rank[np.argsort(lines, kind="stable")] = np.arange(len(lines))
    allowed = tasks.demand.allowed[:, lines] if len(tasks.demand.allowed) else ANYWHERE
    reserved = None
    if tasks.reserved is not None:
        # Of production all is planned; the rest goes where production leaves room by what is reserved for it.
        order = order[np.argsort(~tasks.is_production[order], kind="stable")]
        sizes = np.where(tasks.is_production[:, None], tasks.reserved, tasks.demand.sizes)
        reserved = np.ascontiguousarray(sizes), int(tasks.is_production.sum())
    demand = replace(tasks.demand, allowed=allowed)
    machines = (capacity[lines], rank)
    whole = tasks.jobs if tasks.is_whole else None
    return pack(
        demand,
        order,
        *machines,
        policy,
        most=limit,
        seed=seed,
        reserved=reserved,
        whole=whole,
    )[1]


def _check_possible(tasks: Workload, capacity: Index, limit: int) -> None:
    """Refuse a workload of which no cell of such machines leaves few enough tasks pending."""
    demand = tasks.demand
    fits: Flags = np.all(demand.taken[:, None, :] <= np.unique(capacity, axis=0)[None], axis=2).any(
        axis=1
    )
    met = np.append(True, demand.allowed.any(axis=1))[demand.sets]
    impossible = int((~fits | ~met).sum())
    if impossible > limit:
        biggest = demand.sizes[~fits].max(axis=0, initial=0) / UNIT
        raise UsageError(
            "compact",
            f"{impossible:,} of {len(fits):,} tasks fit no machine or no machine meets their constraints",
            expected=f"at most {limit:,} pending tasks (0.2 %)",
            got=f"{int((~fits).sum()):,} too large (up to CPU {biggest[0]:.3g}, memory {biggest[1]:.3g}), "
            f"{int((~met).sum()):,} with constraints that no machine meets",
            way_out='look at them: borgtrace sql STORE "select * from tasks order by cpu_request desc limit 9"',
        )


def bound(workload: Workload, capacity: Index) -> int:
    """Return how many machines of the mean shape have as much CPU and memory as the tasks take."""
    total = workload.demand.sizes.sum(axis=0)
    mean = capacity[:, :EXTENDED].mean(axis=0)
    return int(np.ceil((total / mean).max(initial=0)))
