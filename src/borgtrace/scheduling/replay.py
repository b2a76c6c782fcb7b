"""A trace scheduled again: what arrives, what the cell is, and what came of each submission."""

from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import pyarrow as pa

from borgtrace.kernels.arrays import Flags, Index
from borgtrace.lifecycle.order import SOURCE_ORDER
from borgtrace.question import NotApplicable, Tables
from borgtrace.scheduling.compaction import Workload
from borgtrace.scheduling.events import run
from borgtrace.scheduling.gangs import gangs_of, no_gangs, with_stand_ins
from borgtrace.scheduling.machines import ANYWHERE, EXTENDED, Demand, make_cell, settle
from borgtrace.scheduling.packing import pack
from borgtrace.scheduling.plan import Plan
from borgtrace.scheduling.policies import Policy
from borgtrace.scheduling.queue import make_queue
from borgtrace.scheduling.state import (
    ALIVE,
    ATTEMPT,
    DONE,
    NEVER,
    NEVER_RAN,
    SUBMITTED,
    VARIED,
    Arrivals,
    Replay,
    Rule,
)
from borgtrace.scheduling.workload import (
    Machines,
    Tasks,
    columns_of,
    eligible,
    quantities,
    read_tasks,
)
from borgtrace.schema.time import AFTER_TRACE

PAUSE = 7
"""µs from an eviction to the next submission: the median in the 2011 trace."""
RECORDED = "recorded"
"""The policy that ignores room, and places at the times and machines of the trace."""
_STEPS = 64
"""Factors are tried in steps of one in so many."""
_PENDING = 500
_FAR = 2**62
_UNRESERVED: Index = np.empty((0, 2, 2), np.int64)


@dataclass(frozen=True, eq=False)
class Trace:
    """What a replay reads.

    Attributes
    ----------
    tasks
        Attempts, in the order of arrival.
    arrivals
        When each was submitted or first seen, µs.
    machines
        All machines that ever have a capacity, each with the first one it had.
    changes
        int64 (events, 4): time, line of the machine, whether it is there (or meets a set of constraints) from then on,
        and 1 + that set (0: whether it is there).
    allowed
        bool (sets, machines): which machines meet each set of constraints when the trace begins.
    until
        Last event of a task, µs.
    unknown_machine, without_submit
        Attempts that ran on none of these machines, and those whose submission is not in the trace.
    """

    tasks: Tasks
    arrivals: Index
    machines: Machines
    changes: Index
    allowed: Flags
    until: int
    unknown_machine: int
    without_submit: int

    @classmethod
    def of(cls, tables: Tables, last: int) -> "Trace":
        """Read a store, whose last event of a task is at `last` (µs)."""
        tasks = read_tasks(tables)
        times = [
            tasks.times[name]
            for name in ("submit_time", "queue_time", "enable_time", "schedule_time")
        ]
        arrivals = np.min([np.where(time >= 0, time, _FAR) for time in times], axis=0)
        is_seen = arrivals <= last
        NotApplicable.unless(is_seen.any(), "no attempt of a task has a beginning")
        tasks = tasks.of(is_seen)
        arrivals = arrivals[is_seen]
        # What already runs when the trace begins is there before what waits; then the higher priority goes first.
        waits = tasks.times["schedule_time"] != arrivals
        keys = (
            tasks.attempt,
            tasks.instance,
            tasks.collection,
            -tasks.priority,
            waits & (arrivals == 0),
            arrivals,
        )
        order = np.lexsort(keys)
        tasks = tasks.of(order)
        arrivals = arrivals[order]
        machines, changes = _machines(tables)
        allowed, later = eligible(tables, tasks, machines, 0)
        ran = tasks.times["schedule_time"] >= 0
        return cls(
            *(tasks, arrivals, machines, np.concatenate([later, changes]), allowed, last),
            int((ran & ~np.isin(tasks.machine, machines.ids)).sum()),
            int((tasks.times["submit_time"] < 0).sum()),
        )


def _machines(tables: Tables) -> tuple[Machines, Index]:
    events = tables.machine_events
    columns = ("time", "machine_id", "type", *(names := columns_of(tables.dialect, "capacity")))
    rows = tables.fetch(
        events.filter(events.time < AFTER_TRACE).order_by(list(SOURCE_ORDER)).select(*columns)
    )
    capacity = quantities(rows, names)
    ids = rows["machine_id"].to_numpy()
    is_known = (capacity[:, :EXTENDED] > 0).all(axis=1)
    NotApplicable.unless(is_known.any(), "no machine has a published capacity")
    known, first = np.unique(ids[is_known], return_index=True)
    is_ours = np.isin(ids, known)
    is_up = rows["type"].to_numpy(zero_copy_only=False) != "REMOVE"
    changes = np.column_stack(
        [
            rows["time"].to_numpy(),
            np.searchsorted(known, ids),
            is_up,
            0 * ids,
        ]
    )[is_ours]
    return Machines(
        known, capacity[is_known][first], len(np.unique(ids[~is_ours]))
    ), changes.astype(np.int64)


def with_factor(tasks: Tasks, factor: float) -> Index:
    """Return what tasks take: production what it asks for, others a share of it; int64 (n, 2)."""
    smaller = np.rint(tasks.sizes * factor).astype(np.int64)
    return np.where(tasks.is_production[:, None], tasks.sizes, smaller)


def calibrated(trace: Trace) -> float:
    """Return the largest factor (in 64ths, at most 1) with which what runs at first packs onto the first machines."""
    tasks = trace.tasks
    runs = np.flatnonzero(tasks.times["schedule_time"] == 0)
    there = np.unique(trace.changes[(trace.changes[:, [0, 2, 3]] == (0, 1, 0)).all(axis=1), 1])
    chosen = tasks.of(runs)
    order = np.lexsort((chosen.collection, -chosen.priority)).astype(np.int64)
    allowed = trace.allowed[:, there] if len(trace.allowed) else ANYWHERE
    demand = Demand(
        chosen.sizes,
        chosen.groups,
        chosen.sets,
        allowed,
        extended=chosen.extended,
    )
    workload = Workload(demand, chosen.priority, chosen.jobs, chosen.is_production).softened(
        len(there)
    )
    capacity = trace.machines.capacity[there]
    rank = np.arange(len(there))

    def pending(step: int) -> int:
        sized = replace(workload.demand, sizes=with_factor(chosen, step / _STEPS))
        return pack(sized, order, capacity, rank)[1]

    # What production or constraints leave pending anyway is no reason for others to take less.
    limit = pending(0) + len(runs) // _PENDING
    low = 0
    high = _STEPS
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if pending(middle) <= limit else (low, middle - 1)
    return low / _STEPS


def impossible(trace: Trace, plan: Plan | None = None) -> Index:
    """Return the attempts that no machine of the trace takes, whatever runs there, as they ask or are planned."""
    taken = np.hstack([plan.sizes if plan else trace.tasks.sizes, trace.tasks.extended])
    shapes, kinds = np.unique(trace.machines.capacity, axis=0, return_inverse=True)
    # Of each set of constraints, which shapes of machines meet it.
    met = np.ones((len(trace.allowed) + 1, len(shapes)), np.bool_)
    ever = np.vstack([np.ones_like(trace.allowed[:1]), trace.allowed])
    begins = trace.changes[(trace.changes[:, 2:] > 0).all(axis=1)]
    ever[begins[:, 3], begins[:, 1]] = True
    for place, line in enumerate(ever[1:], 1):
        met[place] = np.bincount(kinds.ravel(), line, len(shapes)) > 0
    fits = np.zeros(len(trace.tasks), np.bool_)
    for shape, room in enumerate(shapes):
        fits |= (taken <= room).all(axis=1) & met[trace.tasks.sets, shape]
    return np.flatnonzero(~fits)


def recorded(trace: Trace) -> Index:
    """Return the rows of :func:`borgtrace.scheduling.events.run` as the trace has them."""
    tasks = trace.tasks
    left = np.where(tasks.times["left_time"] <= trace.until, tasks.times["left_time"], NEVER)
    place = np.searchsorted(trace.machines.ids, tasks.machine)
    place = np.where(np.isin(tasks.machine, trace.machines.ids), place, NEVER)
    how = np.where(left >= 0, DONE, ALIVE)
    start = tasks.times["schedule_time"]
    return np.column_stack(
        [
            np.arange(len(tasks)),
            trace.arrivals,
            start,
            left,
            np.where(start >= 0, place, -1),
            how,
        ]
    )


def replayed(
    trace: Trace,
    policy: Policy,
    factor: float,
    seed: int = 0,
    plan: Plan | None = None,
    *,
    whole_jobs: bool = False,
) -> Index:
    """Schedule a trace again; return the rows of :func:`borgtrace.scheduling.events.run`, machines as lines.

    Parameters
    ----------
    trace
        What arrives.
    policy
        Where it goes.
    factor
        What tasks below production take of what they ask for.
    seed
        Of random orders.
    plan
        What tasks are planned with instead.
    whole_jobs
        Whether tasks of a job that arrive together start together or not at all.
    """
    tasks = trace.tasks
    n = len(trace.tasks)
    demand = Demand(
        with_factor(tasks, factor),
        tasks.groups,
        tasks.sets,
        trace.allowed,
        extended=tasks.extended,
    )
    capacity = trace.machines.capacity
    if plan:
        demand = plan.of(demand)
        capacity = plan.of_machines(capacity)
    jobs = _arrivals(trace, demand)
    gangs = no_gangs(n)
    if whole_jobs:
        times, firsts, gangs = gangs_of(
            jobs.firsts,
            trace.arrivals,
            tasks.collection,
            tasks.priority,
            jobs.kinds,
        )
        jobs = jobs._replace(
            time=times,
            firsts=firsts,
            alike=np.ones_like(firsts),
        )
        demand = with_stand_ins(demand, gangs)
    cell, lines = make_cell(capacity, np.arange(len(capacity)), demand)
    cell.is_up[:] = False
    for machine in range(len(lines)):
        settle(cell, machine)
    place = np.argsort(lines)
    # Of one instant constraints come first: a machine that comes with its attributes is known by them when asked.
    changes = trace.changes[np.argsort(trace.changes[:, 0], kind="stable")]
    changes[:, 1] = place[changes[:, 1]]
    queue = make_queue(int(jobs.kinds.max()) + 1 + len(gangs.closed), n)
    held = np.zeros((len(tasks.tiers) + 1, len(lines), VARIED + cell.sizes.shape[1]), np.int64)
    reserved = (
        np.stack([demand.sizes[:n], plan.lasting], axis=1)
        if plan and plan.is_decaying
        else _UNRESERVED
    )
    work = Replay(
        cell,
        jobs,
        queue,
        held,
        np.full(n, NEVER),
        changes,
        reserved,
        gangs,
    )
    rows = run(work, Rule(policy.kind, policy.k, policy.preempts, PAUSE), trace.until, seed)
    # What waited for the last task of its job was submitted before that.
    came, first = np.unique(rows[:, ATTEMPT], return_index=True)
    waited = np.isin(came, gangs.members)
    rows[first[waited], SUBMITTED] = trace.arrivals[came[waited]]
    rows[:, 4] = np.where(rows[:, 4] >= 0, lines[rows[:, 4]], NEVER)
    return rows


def _coded(values: Index) -> Index:
    """Number what is equal alike, by a table of hashes: rows are too many to be sorted."""
    return np.asarray(pa.array(values).dictionary_encode().indices, np.int64)


def _arrivals(trace: Trace, demand: Demand) -> Arrivals:
    tasks = trace.tasks
    n = len(trace.tasks)
    start = tasks.times["schedule_time"]
    left = tasks.times["left_time"]
    is_known = (left >= 0) & (left <= trace.until)
    duration = np.where(start >= 0, np.where(is_known, left - start, NEVER), NEVER_RAN)
    order = np.lexsort((tasks.attempt, tasks.instance, tasks.collection))
    one = order[:-1]
    other = order[1:]
    follows = (tasks.collection[one] == tasks.collection[other]) & (
        tasks.instance[one] == tasks.instance[other]
    )
    after = np.full(n, -1, np.int64)
    after[one[follows]] = other[follows]
    # Of those with a known end that another follows; what stands elsewhere nobody asks for.
    gap = np.maximum(trace.arrivals[after] - left, 0)
    is_first = np.ones(n, np.bool_)
    is_first[after[after >= 0]] = False
    # What an attempt without a known end is followed by would wait for ever.
    lost = (after >= 0) & ~is_known
    is_first[after[lost]] = True
    production = (
        tasks.tiers.index("production") if "production" in tasks.tiers else len(tasks.tiers)
    )
    # Production and what is above it never evict each other; what has no tier is below all.
    tier = np.minimum(tasks.tier, production) + 1
    kinds = np.zeros(n, np.int64)
    others = [part.T for part in (demand.variances, demand.extended) if len(part)]
    for column in (*demand.sizes.T, *chain(*others), demand.sets, demand.groups, tasks.priority):
        kinds = _coded(kinds * n + _coded(column))
    firsts = np.flatnonzero(is_first)
    firsts = firsts[np.argsort(trace.arrivals[firsts], kind="stable")]
    ends = np.flatnonzero(np.append(np.diff(kinds[firsts]) != 0, True)[: len(firsts)]) + 1
    alike = ends[np.searchsorted(ends, np.arange(len(firsts)), side="right")] - np.arange(
        len(firsts)
    )
    return Arrivals(
        *(
            trace.arrivals,
            duration,
            np.where(is_known, left, -1),
            np.where(lost, -1, after),
            gap,
            firsts,
            alike,
        ),
        *(tier, tasks.priority, kinds),
    )
