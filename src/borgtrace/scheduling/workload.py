"""Read tasks and machines of a store, as arrays for a scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import ibis
import ibis.expr.types as ir
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.lifecycle.order import SOURCE_ORDER
from borgtrace.lifecycle.requests import last_in_force, with_positions
from borgtrace.question import NotApplicable, Tables
from borgtrace.question.constraints import Constraint, fingerprints
from borgtrace.question.eligibility import Eligibility
from borgtrace.scheduling.changes import make_changes, no_changes
from borgtrace.scheduling.machines import EXTENDED, UNIT, to_units
from borgtrace.schema import Dialect

TASK = ("collection_id", "instance_index")
"""Columns that name a task."""
TIMES = ("submit_time", "queue_time", "enable_time", "schedule_time", "left_time")
USED = ("weighted_mean_average_cpu", "weighted_mean_average_memory")
EXTENDED_RESOURCES = ("gpu",)
"""Resources beside CPU and memory of which traces may have requests and capacities."""
PARTS = {"gpu_request": 1, "gpu_capacity": 1000}
"""Units per value of a column that is no fraction of the largest machine: GPUs in thousandths of a device."""
NONE = -1
"""A time, a machine or a code that is not known."""


@dataclass(frozen=True, eq=False)
class KnownMachines:
    """Machines that are there: int64 ids (machines,), ascending, and capacities (machines, 2 + extended)."""

    ids: Index
    capacity: Index
    without_capacity: int = 0

    @classmethod
    def at(cls, tables: Tables, time: int) -> KnownMachines:
        """Read the machines that are there at a time (µs), those without a capacity left out and counted."""
        events = tables.machine_events
        capacity_columns = columns_of(tables.dialect, "capacity")
        rows = tables.fetch(
            events.filter(events.time <= time)
            .order_by(["machine_id", *SOURCE_ORDER])
            .select("machine_id", "type", *capacity_columns)
        )
        ids = rows["machine_id"].to_numpy()
        is_last_event = np.append(ids[1:] != ids[:-1], True)[: len(ids)]
        is_up = is_last_event & (rows["type"].to_numpy(zero_copy_only=False) != "REMOVE")
        NotApplicable.unless(is_up.any(), "no machine is there at that time (machine_events)")
        capacity = quantities(rows, capacity_columns)
        has_capacity = is_up & (capacity[:, :EXTENDED] > 0).all(axis=1)
        NotApplicable.unless(has_capacity.any(), "no machine has a published capacity at that time")
        return cls(
            ids=ids[has_capacity],
            capacity=capacity[has_capacity],
            without_capacity=int((is_up & ~has_capacity).sum()),
        )


@dataclass(frozen=True, eq=False)
class TaskAttempts:
    """Attempts to run a task, sorted by job, task and attempt; arrays of shape (n,).

    Attributes
    ----------
    collection, instance, attempt
        Whose attempt it is.
    priority, tier
        Its priority, and the place of its tier in `tiers`; −1: unknown.
    tiers
        Names of the tiers, the lowest first.
    sizes
        int64 (n, 2): requests of CPU and memory in units; 0 where there is none.
    is_apart
        Whether it may share a machine with no other such task of its job.
    sets
        0, or 1 + its place in `demanded`.
    demanded
        Sets of constraints.
    user
        Code of who submitted it.
    times
        By name, µs; −1: none.
    machine
        Where it ran; −1: nowhere, or not known.
    without_request
        How many have no request.
    used
        int64 (n, 2): mean usage of the task in units; its request where none was measured.
    without_usage
        How many have no usage.
    ends
        Text (n,): how it ended; LOST where the trace does not tell.
    extended
        int64 (n, extended): requests of other resources; 0 where there is none.
    """

    collection: Index
    instance: Index
    attempt: Index
    priority: Index
    tier: Index
    tiers: tuple[str, ...]
    sizes: Index
    is_apart: Flags
    sets: Index
    demanded: tuple[Sequence[Constraint], ...]
    user: Index
    times: dict[str, Index]
    machine: Index
    without_request: int
    used: Index
    without_usage: int
    ends: npt.NDArray[np.str_]
    extended: Index

    def __len__(self) -> int:
        return len(self.collection)

    @cached_property
    def jobs(self) -> Index:
        """Place of each task's job among the jobs."""
        return np.unique(self.collection, return_inverse=True)[1].astype(np.int64)

    def tier_name(self, tier: int) -> str:
        """Return the name of a tier by its place."""
        return self.tiers[tier] if tier >= 0 else "unknown"

    @property
    def groups(self) -> Index:
        """Group of anti-affinity: the job, −1 where there is none."""
        return np.where(self.is_apart, self.jobs, -1)

    @property
    def is_production(self) -> Flags:
        """Whether a task is of production or above; none is where the trace has no such tier."""
        if "production" not in self.tiers:
            return np.zeros(len(self), np.bool_)
        return np.asarray(self.tier >= self.tiers.index("production"))

    def of(self, chosen: Flags | Index) -> TaskAttempts:
        """Return some of the tasks."""
        columns: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                columns[field.name] = value[chosen]
        times = {name: values[chosen] for name, values in self.times.items()}
        return replace(self, **columns, times=times)


def read_tasks(tables: Tables, *, at: int | None = None) -> TaskAttempts:
    """Read the attempts of a trace, or those that run at a time.

    What runs inside an alloc set is left out: the instance of the alloc set asks for its room.

    Parameters
    ----------
    tables
        Of a store.
    at
        Time in µs.
    """
    attempts = tables.instance_attempts
    rows = attempts.filter(attempts.alloc_collection_id.isnull())
    if at is not None:
        is_there = rows.left_time.isnull() | (rows.left_time > at)
        rows = rows.filter((rows.schedule_time <= at) & is_there)
    attributed = with_attributes(tables, rows)
    keys = [*TASK, "attempt"]
    sets: dict[int, tuple[Constraint, ...]] = {}
    if tables.has("instance_constraints"):
        events, sets = fingerprints(tables)
        in_force = constraints_in_force(rows, events)
        joined = attributed.left_join(in_force, keys)
        attributed = joined.select(*attributed.columns, "fingerprint")
    return tasks_of(tables.fetch(attributed.order_by(keys)), tables.dialect, sets)


def with_attributes(tables: Tables, attempts: ir.Table) -> ir.Table:
    """Return attempts with ``user``, usage and other requests of their task, and with ``is_apart``."""
    columns_of_task = ("user", *USED, *columns_of(tables.dialect, "request")[EXTENDED:])
    tasks = tables.tasks.select(*TASK, *columns_of_task)
    joined = with_anti_affinity(tables, attempts).left_join(tasks, list(TASK))
    return joined.select(
        *TASK,
        "attempt",
        "priority",
        "cpu_request",
        "memory_request",
        "machine_id",
        *TIMES,
        "end_type",
        *columns_of_task,
        "is_apart",
    )


def with_anti_affinity(tables: Tables, attempts: ir.Table) -> ir.Table:
    """Add ``is_apart`` from where the trace publishes it: of tasks, or of whole jobs."""
    flag = "needs_different_machine"
    if tables.dialect.publishes(flag):
        return attempts.mutate(is_apart=attempts[flag])
    key = ["collection_id"]
    events = with_positions(tables.collection_events, key, tables.dialect)
    limits = events.group_by(key).aggregate(
        max_per_machine=last_in_force(events, "max_per_machine")
    )
    joined = attempts.left_join(limits, key)
    return joined.select(*attempts.columns, is_apart=joined.max_per_machine == 1)


def constraints_in_force(attempts: ir.Table, events: ir.Table) -> ir.Table:
    """Return per constrained attempt the ``fingerprint`` of its last event with any, up to its start or its end."""
    until = ibis.coalesce(attempts.schedule_time, attempts.left_time, ibis.literal(2**63 - 1))
    spans = attempts.select(
        *TASK,
        "attempt",
        "begin_time",
        until=until,
    )
    joined = spans.inner_join(events.rename(demanded="time"), list(TASK))
    joined = joined.filter(joined.demanded.between(joined.begin_time, joined.until))
    latest_first = ibis.row_number().over(
        group_by=[*TASK, "attempt"],
        order_by=ibis.desc("demanded"),
    )
    ranked = joined.mutate(place=latest_first)
    return ranked.filter(ranked.place == 0).select(*TASK, "attempt", "fingerprint")


def tasks_of(
    rows: pa.Table,
    dialect: Dialect,
    demanded: dict[int, tuple[Constraint, ...]],
) -> TaskAttempts:
    """Return attempts as arrays; `demanded` has the sets of constraints by their fingerprint, ascending."""
    priority = integers(rows, "priority")
    user = rows["user"].combine_chunks().fill_null("").dictionary_encode().indices.to_numpy()
    requests = float_columns(rows, "cpu_request", "memory_request")
    requested = quantities(rows, columns_of(dialect, "request"))
    usage = float_columns(rows, *USED)
    is_measured = np.asarray(np.isfinite(usage).all(axis=1))
    return TaskAttempts(
        collection=integers(rows, "collection_id"),
        instance=integers(rows, "instance_index"),
        attempt=integers(rows, "attempt"),
        priority=priority,
        tier=tiers_of(priority, dialect),
        tiers=tuple(name for name, _, _ in dialect.tiers),
        sizes=requested[:, :EXTENDED],
        is_apart=rows["is_apart"].fill_null(False).to_numpy().astype(np.bool_),
        sets=sets_of(rows, demanded),
        demanded=tuple(demanded.values()),
        user=user.astype(np.int64),
        times={name: integers(rows, name) for name in TIMES},
        machine=integers(rows, "machine_id"),
        without_request=int(np.isnan(requests).any(axis=1).sum()),
        used=to_units(np.where(is_measured[:, None], usage, requests)),
        without_usage=int((~is_measured).sum()),
        ends=rows["end_type"].fill_null("LOST").to_numpy().astype(np.str_),
        extended=requested[:, EXTENDED:],
    )


def tiers_of(priority: Index, dialect: Dialect) -> Index:
    """Return the place of each priority's tier among those of the format, −1 where it has none."""
    tier = np.full(len(priority), NONE, np.int64)
    for place, (_, low, high) in enumerate(dialect.tiers):
        tier[(priority >= low) & (priority <= high)] = place
    return tier


def sets_of(rows: pa.Table, demanded: dict[int, tuple[Constraint, ...]]) -> Index:
    """Return the number of each row's set of constraints, from 1 in the order of `demanded`; 0: it has none."""
    if not demanded:
        return np.zeros(rows.num_rows, np.int64)
    # Fingerprints are above 0.
    fingerprint = integers(rows, "fingerprint")
    places = np.searchsorted(list(demanded), fingerprint)
    return np.where(fingerprint == NONE, 0, places + 1)


def matched(rows: pa.Table, tasks: TaskAttempts) -> Index:
    """Return the line of `rows` (one for each of some tasks) of each attempt, −1 where it has none."""
    keys_of_rows = zip(*(rows[name].to_pylist() for name in TASK), strict=True)
    line_of_task = {key: line for line, key in enumerate(keys_of_rows)}
    keys = zip(
        tasks.collection.tolist(),
        tasks.instance.tolist(),
        strict=True,
    )
    return np.array([line_of_task.get(key, NONE) for key in keys], np.int64)


def values_of(rows: pa.Table, tasks: TaskAttempts) -> Numbers:
    """Return the values of each attempt's task in a table whose keys come first: float64 (n, columns), else NaN."""
    names = rows.column_names[len(TASK) :]
    # Line −1 is the last one.
    missing = np.full(len(names), np.nan)
    lines = np.vstack([float_columns(rows, *names), missing])
    return lines[matched(rows, tasks)]


def float_columns(rows: pa.Table, *names: str) -> Numbers:
    """Return columns side by side: float64 (rows, columns)."""
    return np.column_stack([rows[name].to_numpy().astype(np.float64) for name in names])


def columns_of(dialect: Dialect, quantity: str) -> list[str]:
    """Return the columns of requests or capacities: CPU, memory, then what both tasks and machines have.

    Parameters
    ----------
    dialect
        Of the trace.
    quantity
        ``"request"`` or ``"capacity"``.
    """
    resources = ["cpu", "memory"]
    for name in EXTENDED_RESOURCES:
        has_requests = dialect.can_fill("instance_events", f"{name}_request")
        if has_requests and dialect.can_fill("machine_events", f"{name}_capacity"):
            resources.append(name)
    return [f"{name}_{quantity}" for name in resources]


def quantities(rows: pa.Table, names: Sequence[str]) -> Index:
    """Return columns as whole numbers, 0 where nothing is known: int64 (rows, columns)."""
    parts = [PARTS.get(name, UNIT) for name in names]
    values = np.nan_to_num(float_columns(rows, *names))
    return np.rint(values * parts).astype(np.int64)


def integers(rows: pa.Table, name: str) -> Index:
    """Return a column of whole numbers, `NONE` where nothing is known."""
    return rows[name].fill_null(NONE).to_numpy().astype(np.int64)


class EligibleMachines(NamedTuple):
    """Which machines meet constraints.

    Attributes
    ----------
    allowed
        bool (sets, machines): which machines meet each set at a time.
    later
        What changes after it: see :mod:`borgtrace.scheduling.changes`.
    """

    allowed: Flags
    later: Index


def eligible(
    tables: Tables,
    tasks: TaskAttempts,
    machines: KnownMachines,
    time: int,
) -> EligibleMachines:
    """Return which machines meet each set of constraints at a time, and what changes after that.

    Attributes decide here, not whether a machine is there: those of a machine that comes later are known from when the
    trace has them.

    Parameters
    ----------
    tables, tasks, machines
        Of one store.
    time
        In µs.
    """
    allowed = np.ones((len(tasks.demanded), len(machines.ids)), np.bool_)
    later = [no_changes()]
    if not tasks.demanded:
        return EligibleMachines(allowed, no_changes())
    eligibility = Eligibility(tables)
    for place, constraints in enumerate(tasks.demanded):
        times, lines, states = eligibility.changes(constraints, machines.ids)
        is_past = times <= time
        # By machine and time: of those of one machine the last stays.
        allowed[place, lines[is_past]] = states[is_past]
        changes = make_changes(times, lines, states, 1 + place)
        later.append(changes[~is_past])
    return EligibleMachines(allowed, np.concatenate(later))
