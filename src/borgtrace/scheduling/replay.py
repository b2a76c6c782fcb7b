"""Schedule a trace again: its arrivals, its machines, and the outcome of each submission."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from borgtrace.kernels.arrays import Flags, Index
from borgtrace.lifecycle.order import SOURCE_ORDER
from borgtrace.question import NotApplicable, Tables
from borgtrace.scheduling.changes import (
    CHANGE_TIME,
    CHANGED_MACHINE,
    CHANGED_SET,
    IS_THERE,
    make_changes,
)
from borgtrace.scheduling.compaction import CellWorkload
from borgtrace.scheduling.events import run
from borgtrace.scheduling.exits import make_exits
from borgtrace.scheduling.gangs import Gangs, gangs_of, no_gangs, with_stand_ins
from borgtrace.scheduling.kinds import count_alike, kinds_of
from borgtrace.scheduling.lifetimes import (
    Predictions,
    Runs,
    hours_at,
    kinds_with,
    lives_at_start,
    predictions_of,
)
from borgtrace.scheduling.machine_attributes import MachineAttributes, read_attributes
from borgtrace.scheduling.machines import (
    ANYWHERE,
    EXTENDED,
    CellState,
    Demand,
    make_cell,
    settle,
)
from borgtrace.scheduling.own_scheduler import (
    fields_of,
    own_scores_of,
    places_of_kinds,
    raise_failure,
)
from borgtrace.scheduling.packing import pack
from borgtrace.scheduling.plan import TaskPlan
from borgtrace.scheduling.policies import PlacementPolicy
from borgtrace.scheduling.queue import make_queue
from borgtrace.scheduling.state import (
    ALIVE,
    ATTEMPT,
    DONE,
    NEVER,
    NEVER_RAN,
    RAN_ON,
    SUBMITTED,
    VARIED,
    ReplayArrivals,
    ReplayRule,
    ReplayState,
)
from borgtrace.scheduling.workload import (
    KnownMachines,
    TaskAttempts,
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
STEPS = 64
"""Factors are tried in steps of one in so many."""
TASKS_PER_PENDING_TASK = 500
FAR = 2**62
UNRESERVED: Index = np.empty((0, 2, 2), np.int64)


@dataclass(frozen=True, eq=False)
class ScheduleInput:
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
        Machines that come and go, or begin or cease to meet constraints: see :mod:`borgtrace.scheduling.changes`.
    allowed
        bool (sets, machines): which machines meet each set of constraints when the trace begins.
    until
        Last event of a task, µs.
    unknown_machine, without_submit
        Attempts that ran on none of these machines, and those whose submission is not in the trace.
    attributes
        Of the machines: those that a scheduler of one's own names.
    """

    tasks: TaskAttempts
    arrivals: Index
    machines: KnownMachines
    changes: Index
    allowed: Flags
    until: int
    unknown_machine: int
    without_submit: int
    attributes: MachineAttributes = field(default_factory=MachineAttributes)

    @property
    def runs(self) -> Runs:
        """What it shows of attempts."""
        return Runs(self.tasks, self.arrivals, self.until)

    @classmethod
    def of(cls, tables: Tables, last: int, attributes: Iterable[str] = ()) -> "ScheduleInput":
        """Read a store.

        Parameters
        ----------
        tables
            Of the store.
        last
            Its last event of a task, µs.
        attributes
            Names of attributes of machines that schedulers ask for.

        Raises
        ------
        NotApplicable
            No attempt has a beginning, or no machine a capacity.
        UsageError
            No machine has an attribute of such a name.
        """
        tasks = read_tasks(tables)
        first_seen = np.full(len(tasks), FAR)
        for name in ("submit_time", "queue_time", "enable_time", "schedule_time"):
            time = tasks.times[name]
            first_seen = np.where(time >= 0, np.minimum(first_seen, time), first_seen)
        is_seen = first_seen <= last
        NotApplicable.unless(is_seen.any(), "no attempt of a task has a beginning")
        tasks = tasks.of(is_seen)
        arrivals = first_seen[is_seen]
        order = order_of_arrival(tasks, arrivals)
        tasks = tasks.of(order)
        arrivals = arrivals[order]
        machines, comings = read_machines(tables)
        eligibility = eligible(tables, tasks, machines, 0)
        has_run = tasks.times["schedule_time"] >= 0
        is_known = np.isin(tasks.machine, machines.ids)
        return cls(
            tasks=tasks,
            arrivals=arrivals,
            machines=machines,
            changes=np.concatenate([eligibility.later, comings]),
            allowed=eligibility.allowed,
            until=last,
            unknown_machine=int((has_run & ~is_known).sum()),
            without_submit=int((tasks.times["submit_time"] < 0).sum()),
            attributes=read_attributes(tables, attributes, machines.ids, 0),
        )


def order_of_arrival(tasks: TaskAttempts, arrivals: Index) -> Index:
    """Return the order of attempts by arrival; of those that are there when the trace begins, running ones first."""
    is_waiting = tasks.times["schedule_time"] != arrivals
    return np.lexsort(
        (
            tasks.attempt,
            tasks.instance,
            tasks.collection,
            # Then the higher priority goes first.
            -tasks.priority,
            is_waiting & (arrivals == 0),
            arrivals,
        )
    )


def read_machines(tables: Tables) -> tuple[KnownMachines, Index]:
    """Read all machines that ever have a capacity, each with its first one, and when they come and go."""
    events = tables.machine_events
    capacity_columns = columns_of(tables.dialect, "capacity")
    rows = tables.fetch(
        events.filter(events.time < AFTER_TRACE)
        .order_by(list(SOURCE_ORDER))
        .select("time", "machine_id", "type", *capacity_columns)
    )
    capacity = quantities(rows, capacity_columns)
    ids = rows["machine_id"].to_numpy()
    has_capacity = (capacity[:, :EXTENDED] > 0).all(axis=1)
    NotApplicable.unless(has_capacity.any(), "no machine has a published capacity")
    known_ids, first = np.unique(ids[has_capacity], return_index=True)
    is_known = np.isin(ids, known_ids)
    machines = KnownMachines(
        ids=known_ids,
        capacity=capacity[has_capacity][first],
        without_capacity=len(np.unique(ids[~is_known])),
    )
    comings = make_changes(
        time=rows["time"].to_numpy()[is_known],
        machine=np.searchsorted(known_ids, ids[is_known]),
        is_there=rows["type"].to_numpy(zero_copy_only=False)[is_known] != "REMOVE",
        constraint_set=0,
    )
    return machines, comings


def with_factor(tasks: TaskAttempts, factor: float) -> Index:
    """Return what tasks take: production what it asks for, others a share of it; int64 (n, 2)."""
    smaller = np.rint(tasks.sizes * factor).astype(np.int64)
    return np.where(tasks.is_production[:, None], tasks.sizes, smaller)


def calibrated(trace: ScheduleInput) -> float:
    """Return the largest factor (in 64ths, at most 1) with which what runs at first packs onto the first machines."""
    tasks = trace.tasks
    running = tasks.of(np.flatnonzero(tasks.times["schedule_time"] == 0))
    changes = trace.changes
    comes_first = (
        (changes[:, CHANGE_TIME] == 0)
        & (changes[:, IS_THERE] == 1)
        & (changes[:, CHANGED_SET] == 0)
    )
    first_machines = np.unique(changes[comes_first, CHANGED_MACHINE])
    order = np.lexsort((running.collection, -running.priority)).astype(np.int64)
    demand = Demand(
        sizes=running.sizes,
        groups=running.groups,
        sets=running.sets,
        allowed=trace.allowed[:, first_machines] if len(trace.allowed) else ANYWHERE,
        extended=running.extended,
    )
    workload = CellWorkload(demand, running.priority, running.jobs, running.is_production)
    softened = workload.softened(len(first_machines)).demand
    capacity = trace.machines.capacity[first_machines]
    rank = np.arange(len(first_machines))

    def pending(step: int) -> int:
        sizes = with_factor(running, step / STEPS)
        return pack(replace(softened, sizes=sizes), order, capacity, rank).n_pending

    # What production or constraints leave pending anyway is no reason for others to take less.
    limit = pending(0) + len(running) // TASKS_PER_PENDING_TASK
    low = 0
    high = STEPS
    while low < high:
        middle = (low + high + 1) // 2
        if pending(middle) <= limit:
            low = middle
        else:
            high = middle - 1
    return low / STEPS


def impossible(trace: ScheduleInput, plan: TaskPlan | None = None) -> Index:
    """Return the attempts that no machine of the trace takes, whatever runs there, as they ask or are planned."""
    sizes = plan.sizes if plan else trace.tasks.sizes
    taken = np.hstack([sizes, trace.tasks.extended])
    shapes, shape_of_machine = np.unique(
        trace.machines.capacity,
        axis=0,
        return_inverse=True,
    )
    # Which machines ever meet each set of constraints; all of them meet none.
    n_sets, n_machines = trace.allowed.shape
    is_ever_allowed = np.ones((1 + n_sets, n_machines), np.bool_)
    is_ever_allowed[1:] = trace.allowed
    changes = trace.changes
    begins = changes[(changes[:, IS_THERE] > 0) & (changes[:, CHANGED_SET] > 0)]
    is_ever_allowed[begins[:, CHANGED_SET], begins[:, CHANGED_MACHINE]] = True
    # Which shapes of machines meet each set.
    is_met = np.ones((1 + n_sets, len(shapes)), np.bool_)
    for place in range(1, 1 + n_sets):
        counts = np.bincount(shape_of_machine.ravel(), is_ever_allowed[place], len(shapes))
        is_met[place] = counts > 0
    fits = np.zeros(len(trace.tasks), np.bool_)
    for shape, capacity in enumerate(shapes):
        fits |= (taken <= capacity).all(axis=1) & is_met[trace.tasks.sets, shape]
    return np.flatnonzero(~fits)


def recorded(trace: ScheduleInput) -> Index:
    """Return the rows of :func:`borgtrace.scheduling.events.run` as the trace has them."""
    tasks = trace.tasks
    left = tasks.times["left_time"]
    ended = np.where(left <= trace.until, left, NEVER)
    started = tasks.times["schedule_time"]
    line = np.searchsorted(trace.machines.ids, tasks.machine)
    is_placed = np.isin(tasks.machine, trace.machines.ids) & (started >= 0)
    return np.column_stack(
        [
            np.arange(len(tasks)),
            trace.arrivals,
            started,
            ended,
            np.where(is_placed, line, NEVER),
            np.where(ended >= 0, DONE, ALIVE),
        ]
    )


def replayed(
    trace: ScheduleInput,
    policy: PlacementPolicy,
    factor: float,
    seed: int = 0,
    plan: TaskPlan | None = None,
    *,
    whole_jobs: bool = False,
    predictions: Predictions | None = None,
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
    predictions
        How long tasks last, for a policy that asks; None: as it says, without names of jobs.
    """
    demand = demand_of(trace, factor)
    capacity = trace.machines.capacity
    if plan:
        demand = plan.of(demand)
        capacity = plan.of_machines(capacity)
    reserved = UNRESERVED
    if plan and plan.is_decaying:
        reserved = np.stack([demand.sizes, plan.lasting], axis=1)
    jobs = arrivals_of(trace, demand)
    if not policy.lifetimes:
        predictions = None
    elif predictions is None:
        predictions = predictions_of(policy.lifetimes, trace.runs)
    jobs = with_own_precedence(jobs, policy, demand, predictions, has_gpus=has_gpus(trace.tasks))
    tasks = demand
    gangs = no_gangs(len(trace.tasks))
    if whole_jobs:
        jobs, gangs = gather_gangs(trace, jobs)
        demand = with_stand_ins(demand, gangs)
    keeps_changes = policy.scheduler is not None or bool(policy.lifetimes)
    cell, lines = cell_before_machines(capacity, demand, keeps_changes=keeps_changes)
    exits = make_exits(predictions, cell) if predictions is not None else None
    attributes = trace.attributes.of(policy.scheduler.attributes if policy.scheduler else ())
    state = make_state(trace, cell, lines, jobs, gangs, reserved, attributes.changes)
    own = own_scores_of(
        policy.scheduler,
        cell,
        tasks,
        has_gpus=has_gpus(trace.tasks),
        attributes=attributes.in_order(lines),
        values=attributes.values,
        exits=exits,
    )
    rule = ReplayRule(policy.kind, policy.k, policy.preempts, PAUSE, own, exits)
    rows = run(state, rule, trace.until, seed)
    raise_failure(policy.scheduler, own)
    set_first_arrivals(rows, gangs, trace.arrivals)
    ran_on = rows[:, RAN_ON]
    rows[:, RAN_ON] = np.where(ran_on >= 0, lines[ran_on], NEVER)
    return rows


def cell_before_machines(
    capacity: Index, demand: Demand, *, keeps_changes: bool
) -> tuple[CellState, Index]:
    """Return the cell before any of its machines has come, and their lines, as :func:`make_cell` does."""
    cell, lines = make_cell(capacity, np.arange(len(capacity)), demand, keeps_changes=keeps_changes)
    cell.is_up[:] = False
    for machine in range(len(lines)):
        settle(cell, machine)
    return cell, lines


def demand_of(trace: ScheduleInput, factor: float) -> Demand:
    """Return what the tasks of a trace take, those below production so much of what they ask for."""
    tasks = trace.tasks
    return Demand(
        sizes=with_factor(tasks, factor),
        groups=tasks.groups,
        sets=tasks.sets,
        allowed=trace.allowed,
        extended=tasks.extended,
        priority=tasks.priority,
    )


def has_gpus(tasks: TaskAttempts) -> bool:
    """Whether the trace says how many GPUs tasks request and machines have."""
    return tasks.extended.shape[1] > 0


def with_own_precedence(
    jobs: ReplayArrivals,
    policy: PlacementPolicy,
    demand: Demand,
    predictions: Predictions | None,
    *,
    has_gpus: bool,
) -> ReplayArrivals:
    """Return arrivals with the queue order and the choice of victims of a scheduler of one's own, where it has them."""
    scheduler = policy.scheduler
    if scheduler is None:
        return jobs
    hours = None
    if scheduler.knows_lifetimes and predictions is not None:
        lives = lives_at_start(predictions)
        hours = hours_at(lives, jobs.time)
        # Who is expected to live longer is of another kind.
        kinds = kinds_with(jobs.kinds, lives)
        jobs = jobs._replace(kinds=kinds, alike=count_alike(kinds[jobs.firsts]))
    fields = fields_of(demand, has_gpus=has_gpus)
    if scheduler.order is not None:
        jobs = jobs._replace(turn=places_of_kinds(scheduler, "order", fields, jobs.kinds, hours))
    if scheduler.victim is not None:
        jobs = jobs._replace(worth=places_of_kinds(scheduler, "victim", fields, jobs.kinds, hours))
    return jobs


def make_state(
    trace: ScheduleInput,
    cell: CellState,
    lines: Index,
    jobs: ReplayArrivals,
    gangs: Gangs,
    reserved: Index,
    of_attributes: Index,
) -> ReplayState:
    """Return the state in which a replay begins: nothing has arrived.

    Parameters
    ----------
    trace
        What arrives.
    cell, lines
        As :func:`borgtrace.scheduling.machines.make_cell` returns them.
    jobs, gangs, reserved
        As of :class:`borgtrace.scheduling.state.ReplayState`.
    of_attributes
        Changes of attributes of machines, which a scheduler of one's own asks for.
    """
    n_tasks = len(trace.tasks)
    n_kinds = int(jobs.kinds.max()) + 1
    n_tiers = len(trace.tasks.tiers) + 1
    n_held = VARIED + cell.sizes.shape[1]
    return ReplayState(
        cell=cell,
        jobs=jobs,
        queue=make_queue(n_kinds + len(gangs.closed), n_tasks),
        held=np.zeros((n_tiers, len(lines), n_held), np.int64),
        row_of=np.full(n_tasks, NEVER),
        changes=changes_of_cell(np.concatenate([of_attributes, trace.changes]), lines),
        reserved=reserved,
        gangs=gangs,
    )


def gather_gangs(trace: ScheduleInput, jobs: ReplayArrivals) -> tuple[ReplayArrivals, Gangs]:
    """Let tasks of a job that arrive together arrive with the last of them."""
    gang_arrivals = gangs_of(
        jobs.firsts,
        trace.arrivals,
        trace.tasks.collection,
        trace.tasks.priority,
        jobs.kinds,
    )
    arrivals = jobs._replace(
        time=gang_arrivals.times,
        firsts=gang_arrivals.firsts,
        alike=np.ones_like(gang_arrivals.firsts),
    )
    return arrivals, gang_arrivals.gangs


def set_first_arrivals(rows: Index, gangs: Gangs, arrivals: Index) -> None:
    """Set when tasks of gangs were submitted: before they waited for the last task of their job."""
    attempts, first_rows = np.unique(rows[:, ATTEMPT], return_index=True)
    is_member = np.isin(attempts, gangs.members)
    rows[first_rows[is_member], SUBMITTED] = arrivals[attempts[is_member]]


def changes_of_cell(changes: Index, lines: Index) -> Index:
    """Return changes by time, with machines by their place in a cell, whose `lines` are those of the trace."""
    place_of_line = np.argsort(lines)
    # Of one instant attributes and constraints come first: a machine that comes with its attributes is known by them
    # when asked.
    changes = changes[np.argsort(changes[:, CHANGE_TIME], kind="stable")]
    changes[:, CHANGED_MACHINE] = place_of_line[changes[:, CHANGED_MACHINE]]
    return changes


def arrivals_of(trace: ScheduleInput, demand: Demand) -> ReplayArrivals:
    """Return what arrives, and when; `demand` tells which attempts are alike."""
    tasks = trace.tasks
    start = tasks.times["schedule_time"]
    left = tasks.times["left_time"]
    has_end = (left >= 0) & (left <= trace.until)
    duration = np.where(has_end, left - start, NEVER)
    after = next_attempts(tasks)
    is_first = np.ones(len(tasks), np.bool_)
    is_first[after[after >= 0]] = False
    # What follows an attempt without a known end would wait for ever: it comes by itself.
    is_lost = (after >= 0) & ~has_end
    is_first[after[is_lost]] = True
    firsts = np.flatnonzero(is_first)
    firsts = firsts[np.argsort(trace.arrivals[firsts], kind="stable")]
    kinds = kinds_of(demand)
    return ReplayArrivals(
        time=trace.arrivals,
        duration=np.where(start >= 0, duration, NEVER_RAN),
        leaves=np.where(has_end, left, NEVER),
        after=np.where(is_lost, NEVER, after),
        # Only asked for where the end is known and another attempt follows.
        gap=np.maximum(trace.arrivals[after] - left, 0),
        firsts=firsts,
        alike=count_alike(kinds[firsts]),
        tier=tiers_of(tasks),
        turn=-tasks.priority,
        worth=tasks.priority,
        kinds=kinds,
    )


def next_attempts(tasks: TaskAttempts) -> Index:
    """Return the attempt of the same task that follows each; −1: none."""
    order = np.lexsort((tasks.attempt, tasks.instance, tasks.collection))
    earlier = order[:-1]
    later = order[1:]
    is_same_job = tasks.collection[earlier] == tasks.collection[later]
    is_same_task = is_same_job & (tasks.instance[earlier] == tasks.instance[later])
    after = np.full(len(tasks), -1, np.int64)
    after[earlier[is_same_task]] = later[is_same_task]
    return after


def tiers_of(tasks: TaskAttempts) -> Index:
    """Return who may evict whom: production and what is above it never evict each other; no tier is below all."""
    highest = len(tasks.tiers)
    if "production" in tasks.tiers:
        highest = tasks.tiers.index("production")
    return np.minimum(tasks.tier, highest) + 1
