"""How few machines hold a workload: cell compaction (Verma et al., EuroSys'15, §5.1).

Machines are a prefix of concatenated random permutations of the cell, which clones it where it is too small.  The
workload is packed from nothing: priority descending, jobs in random order, tasks of a job together.  A size is enough
where at most 0.2 % of the tasks stay pending.  The cell grows by quarters until it is enough; bisection then finds the
least size.  Constraints of jobs with more tasks than half the machines of the cell are dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from borgtrace.errors import UsageError, sql_command
from borgtrace.kernels.arrays import Flags, Index
from borgtrace.scheduling.machines import ANYWHERE, EXTENDED, UNIT, Demand
from borgtrace.scheduling.packing import Reservations, pack
from borgtrace.scheduling.policies import POLICIES, PlacementPolicy

TASKS_PER_PENDING_TASK = 500
"""One task in so many may stay pending (0.2 %)."""
LARGEST = 64
"""If so many cells do not hold a workload, some of its tasks fit no machine."""


@dataclass(frozen=True, eq=False)
class CellWorkload:
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

    def of(self, chosen: Flags) -> CellWorkload:
        """Return some of the tasks."""
        return CellWorkload(
            demand=self.demand.of(chosen),
            priority=self.priority[chosen],
            jobs=self.jobs[chosen],
            is_production=self.is_production[chosen],
            reserved=None if self.reserved is None else self.reserved[chosen],
            is_whole=self.is_whole,
        )

    def with_sizes(self, sizes: Index) -> CellWorkload:
        """Return the tasks with other sizes, int64 (n, 2)."""
        return replace(self, demand=replace(self.demand, sizes=sizes))

    def softened(self, machines: int) -> CellWorkload:
        """Return the tasks without the constraints of jobs larger than half a cell of so many machines."""
        is_large = np.bincount(self.jobs)[self.jobs] * 2 > machines
        demand = self.demand
        groups = np.where(is_large, -1, demand.groups)
        sets = np.where(is_large, 0, demand.sets)
        return replace(self, demand=replace(demand, groups=groups, sets=sets))

    def without_constraints(self) -> CellWorkload:
        """Return the tasks as if each could run anywhere, beside any other."""
        n = len(self.jobs)
        demand = replace(
            self.demand,
            groups=np.full(n, -1, np.int64),
            sets=np.zeros(n, np.int64),
            allowed=ANYWHERE,
        )
        return replace(self, demand=demand)


def order_of(workload: CellWorkload, rng: np.random.Generator) -> Index:
    """Return the tasks in the order of packing: by priority, jobs at random, the tasks of a job together."""
    n_jobs = int(workload.jobs.max(initial=-1)) + 1
    place = rng.permutation(n_jobs)[workload.jobs]
    keys = (np.arange(len(place)), place, -workload.priority)
    return np.lexsort(keys).astype(np.int64)


def needed(
    workload: CellWorkload,
    capacity: Index,
    seed: int,
    policy: PlacementPolicy = POLICIES["least-stranded"],
    *,
    most: int = -1,
    store: str = "STORE",
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
    store
        Where the tasks come from, for the error.

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
    limit = n // TASKS_PER_PENDING_TASK if most < 0 else most
    tasks = workload.softened(size)
    order = order_of(workload, rng)
    check_possible(tasks, capacity, limit, store)
    lower_bound = least_demand(tasks, limit)
    lines = rng.permutation(size)

    def holds(count: int) -> bool:
        nonlocal lines
        while len(lines) < count:
            lines = np.append(lines, rng.permutation(size))
        part = lines[:count]
        # What surely is too small is not packed.
        if (capacity[part, :EXTENDED].sum(axis=0) < lower_bound).any():
            return False
        n_pending = count_pending(
            tasks,
            order,
            capacity,
            lines=part,
            policy=policy,
            limit=limit,
            seed=seed,
        )
        return n_pending <= limit

    return least_size(holds, size, describe=f"at most {limit:,} of {n:,} (0.2 %)")


def least_size(holds: Callable[[int], bool], size: int, *, describe: str) -> int:
    """Return the least number of machines that is enough: grow by quarters from `size`, then bisect.

    Parameters
    ----------
    holds
        Whether so many machines are enough.
    size
        Machines of the cell.
    describe
        What is enough, for the message.

    Raises
    ------
    UsageError
        Where no size is.
    """
    low = 0
    high = size
    while not holds(high):
        if high > size * LARGEST:
            raise UsageError(
                "compact",
                "tasks stay pending however large the cell is",
                expected=describe,
                way_out="they are too large for the machines that meet their constraints: try --what-if no-constraints",
            )
        low = high
        high = high + (high + 3) // 4
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high


def least_demand(tasks: CellWorkload, limit: int) -> Index:
    """Return the CPU and memory that all tasks take at least, if those that may stay pending are the largest ones."""
    sizes = tasks.demand.sizes
    least = sizes
    if tasks.reserved is not None:
        smaller = np.minimum(sizes, tasks.reserved)
        least = np.where(tasks.is_production[:, None], smaller, sizes)
    n_placed = len(sizes) - limit
    return np.sort(least, axis=0)[:n_placed].sum(axis=0)


def count_pending(
    tasks: CellWorkload,
    order: Index,
    capacity: Index,
    *,
    lines: Index,
    policy: PlacementPolicy,
    limit: int,
    seed: int,
) -> int:
    """Return how many tasks some machines (lines of the cell, perhaps repeated) leave pending, up to one too many."""
    rank = np.empty(len(lines), np.int64)
    # Ties go to the lowest machine id, and among clones to the first: the sort is stable.
    rank[np.argsort(lines, kind="stable")] = np.arange(len(lines))
    allowed = ANYWHERE
    if len(tasks.demand.allowed):
        allowed = tasks.demand.allowed[:, lines]
    attributes = tasks.demand.attributes
    if len(attributes):
        attributes = attributes[lines]
    reserved = None
    if tasks.reserved is not None:
        # All of production comes first; the rest goes where production leaves room by what is reserved for it.
        order = order[np.argsort(~tasks.is_production[order], kind="stable")]
        sizes = np.where(tasks.is_production[:, None], tasks.reserved, tasks.demand.sizes)
        reserved = Reservations(
            sizes=np.ascontiguousarray(sizes),
            n_first=int(tasks.is_production.sum()),
        )
    packing = pack(
        replace(tasks.demand, allowed=allowed, attributes=attributes),
        order,
        capacity[lines],
        rank,
        policy,
        most=limit,
        seed=seed,
        reserved=reserved,
        jobs=tasks.jobs if tasks.is_whole else None,
    )
    return packing.n_pending


def check_possible(
    tasks: CellWorkload,
    capacity: Index,
    limit: int,
    store: str,
) -> None:
    """Refuse a workload of which no cell of such machines leaves few enough tasks pending."""
    demand = tasks.demand
    shapes = np.unique(capacity, axis=0)
    is_enough = demand.taken[:, None, :] <= shapes[None]
    fits = np.asarray(np.all(is_enough, axis=2).any(axis=1))
    is_met = np.append(True, demand.allowed.any(axis=1))[demand.sets]
    n_impossible = int((~fits | ~is_met).sum())
    if n_impossible > limit:
        cpu, memory = demand.sizes[~fits].max(axis=0, initial=0) / UNIT
        n_large = int((~fits).sum())
        n_unmet = int((~is_met).sum())
        raise UsageError(
            "compact",
            f"{n_impossible:,} of {len(fits):,} tasks fit no machine or no machine meets their constraints",
            expected=f"at most {limit:,} pending tasks (0.2 %)",
            got=f"{n_large:,} too large (up to CPU {cpu:.3g}, memory {memory:.3g}), "
            f"{n_unmet:,} with constraints that no machine meets",
            way_out="look at them: "
            + sql_command(store, "select * from tasks order by cpu_request desc limit 9"),
        )


def bound(workload: CellWorkload, capacity: Index) -> int:
    """Return how many machines of the mean shape have as much CPU and memory as the tasks take."""
    total = workload.demand.sizes.sum(axis=0)
    mean = capacity[:, :EXTENDED].mean(axis=0)
    return int(np.ceil((total / mean).max(initial=0)))
