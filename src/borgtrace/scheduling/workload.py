"""What a store says of tasks and machines, as arrays that a scheduler reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import ibis
import ibis.expr.types as ir
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.lifecycle.order import SOURCE_ORDER
from borgtrace.question import NotApplicable, Tables
from borgtrace.question.constraints import Constraint, fingerprints
from borgtrace.question.eligibility import Eligibility
from borgtrace.scheduling.machines import EXTENDED, UNIT, to_units
from borgtrace.schema import Dialect

TASK = ("collection_id", "instance_index")
"""What names a task."""
_TIMES = ("submit_time", "queue_time", "enable_time", "schedule_time", "left_time")
_USED = ("weighted_mean_average_cpu", "weighted_mean_average_memory")
_EXTENDED = ("gpu",)
"""Resources beside CPU and memory of which traces may have requests and capacities."""
_PARTS = {"gpu_request": 1, "gpu_capacity": 1000}
"""What is counted of a column that is no fraction of the largest machine: GPUs in thousandths of a device."""
NONE = -1
"""A time, a machine or a code that is not known."""


@dataclass(frozen=True, eq=False)
class Machines:
    """Machines that are there: int64 ids (machines,), ascending, and capacities (machines, 2 + extended)."""

    ids: Index
    capacity: Index
    without_capacity: int = 0

    @classmethod
    def at(cls, tables: Tables, time: int) -> Machines:
        """Read the machines that are there at a time (µs), those without a capacity left out and counted."""
        events = tables.machine_events
        rows = tables.fetch(
            events.filter(events.time <= time)
            .order_by(["machine_id", *SOURCE_ORDER])
            .select("machine_id", "type", *(names := columns_of(tables.dialect, "capacity")))
        )
        ids = rows["machine_id"].to_numpy()
        is_last = np.append(ids[1:] != ids[:-1], True)[: len(ids)]
        is_up = is_last & (rows["type"].to_numpy(zero_copy_only=False) != "REMOVE")
        NotApplicable.unless(is_up.any(), "no machine is there at that time (machine_events)")
        capacity = quantities(rows, names)
        is_known = is_up & (capacity[:, :EXTENDED] > 0).all(axis=1)
        NotApplicable.unless(is_known.any(), "no machine has a published capacity at that time")
        return cls(ids[is_known], capacity[is_known], int((is_up & ~is_known).sum()))


@dataclass(frozen=True, eq=False)
class Tasks:
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

    def of(self, chosen: Flags | Index) -> Tasks:
        """Return some of the tasks."""
        whole = {each.name: getattr(self, each.name) for each in fields(self)}
        parts: dict[str, Any] = {
            name: part[chosen] for name, part in whole.items() if isinstance(part, np.ndarray)
        }
        return replace(
            self, **parts, times={name: values[chosen] for name, values in self.times.items()}
        )


def read_tasks(tables: Tables, *, at: int | None = None) -> Tasks:
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
    named = _named(tables, rows)
    keys = [*TASK, "attempt"]
    sets: dict[int, tuple[Constraint, ...]] = {}
    if tables.has("instance_constraints"):
        events, sets = fingerprints(tables)
        named = named.left_join(_in_force(rows, events), keys).select(*named.columns, "fingerprint")
    return _tasks(tables.fetch(named.order_by(keys)), tables.dialect, sets)


def _named(tables: Tables, rows: ir.Table) -> ir.Table:
    """Add ``user`` and ``is_apart``, each from where the trace publishes it."""
    known = ("user", *_USED, *columns_of(tables.dialect, "request")[EXTENDED:])
    tasks = tables.tasks.select(*TASK, *known)
    joined = rows.left_join(tasks, list(TASK)).select(
        *TASK,
        "attempt",
        "priority",
        "cpu_request",
        "memory_request",
        "machine_id",
        *_TIMES,
        "end_type",
        *known,
    )
    flag = "needs_different_machine"
    if tables.dialect.publishes(flag):
        events = tables.instance_events
        flagged = (
            events.filter(events[flag]).select(*TASK).distinct().mutate(is_apart=ibis.literal(True))
        )
        keys = list(TASK)
    else:
        events = tables.collection_events
        flagged = events.filter(events.max_per_machine == 1).select("collection_id").distinct()
        flagged = flagged.mutate(is_apart=ibis.literal(True))
        keys = ["collection_id"]
    return joined.left_join(flagged, keys).select(*joined.columns, "is_apart")


def _in_force(rows: ir.Table, events: ir.Table) -> ir.Table:
    """Return per constrained attempt the ``fingerprint`` of its last event with any, up to its start or its end."""
    until = ibis.coalesce(rows.schedule_time, rows.left_time, ibis.literal(2**63 - 1))
    asked = rows.select(*TASK, "attempt", "begin_time", until=until)
    joined = asked.inner_join(events.rename(demanded="time"), list(TASK))
    joined = joined.filter(joined.demanded.between(joined.begin_time, joined.until))
    latest = ibis.row_number().over(group_by=[*TASK, "attempt"], order_by=ibis.desc("demanded"))
    last = joined.mutate(place=latest)
    return last.filter(last.place == 0).select(*TASK, "attempt", "fingerprint")


def _tasks(rows: pa.Table, dialect: Dialect, demanded: dict[int, tuple[Constraint, ...]]) -> Tasks:
    whole = {
        name: _integers(rows, name)
        for name in (*TASK, "attempt", "priority", "machine_id", *_TIMES)
    }
    requests = _two(rows, "cpu_request", "memory_request")
    usage = _two(rows, *_USED)
    asked = quantities(rows, columns_of(dialect, "request"))
    is_measured = np.asarray(np.isfinite(usage).all(axis=1), np.bool_)
    tier = np.full(rows.num_rows, NONE, np.int64)
    for place, (_, low, high) in enumerate(dialect.tiers):
        tier[(whole["priority"] >= low) & (whole["priority"] <= high)] = place
    sets = np.zeros(rows.num_rows, np.int64)
    if demanded:
        # Fingerprints are above 0, and those of the sets ascend.
        code = _integers(rows, "fingerprint")
        sets = np.where(code == NONE, 0, np.searchsorted(list(demanded), code) + 1)
    user = rows["user"].combine_chunks().fill_null("").dictionary_encode().indices.to_numpy()
    return Tasks(
        *(
            whole["collection_id"],
            whole["instance_index"],
            whole["attempt"],
            whole["priority"],
            tier,
        ),
        tuple(name for name, _, _ in dialect.tiers),
        asked[:, :EXTENDED],
        rows["is_apart"].fill_null(False).to_numpy().astype(np.bool_),
        *(sets, tuple(demanded.values()), user.astype(np.int64)),
        *(
            {name: whole[name] for name in _TIMES},
            whole["machine_id"],
            int(np.isnan(requests).any(axis=1).sum()),
        ),
        *(to_units(np.where(is_measured[:, None], usage, requests)), int((~is_measured).sum())),
        rows["end_type"].fill_null("LOST").to_numpy().astype(np.str_),
        asked[:, EXTENDED:],
    )


def matched(rows: pa.Table, tasks: Tasks) -> Index:
    """Return the line of `rows` (one for each of some tasks) of each attempt, −1 where it has none."""
    place = {
        key: line
        for line, key in enumerate(zip(*(rows[name].to_pylist() for name in TASK), strict=True))
    }
    keys = zip(tasks.collection.tolist(), tasks.instance.tolist(), strict=True)
    return np.array([place.get(key, NONE) for key in keys], np.int64)


def values_of(rows: pa.Table, tasks: Tasks) -> Numbers:
    """Return what a table, its keys first, says of each attempt's task: float64 (n, columns), NaN where it has none."""
    names = rows.column_names[len(TASK) :]
    return np.vstack([_two(rows, *names), np.full(len(names), np.nan)])[matched(rows, tasks)]


def _two(rows: pa.Table, *names: str) -> Numbers:
    return np.column_stack([rows[name].to_numpy().astype(np.float64) for name in names])


def columns_of(dialect: Dialect, what: str) -> list[str]:
    """Return the columns of what tasks of a trace ask for, or machines have: CPU, memory, then what both tables tell.

    Parameters
    ----------
    dialect
        Of the trace.
    what
        ``"request"`` or ``"capacity"``.
    """
    told = (("instance_events", "request"), ("machine_events", "capacity"))
    extended = (
        name
        for name in _EXTENDED
        if all(dialect.can_fill(table, f"{name}_{kind}") for table, kind in told)
    )
    return [f"{name}_{what}" for name in ("cpu", "memory", *extended)]


def quantities(rows: pa.Table, names: Sequence[str]) -> Index:
    """Return columns as whole numbers, 0 where nothing is known: int64 (rows, columns)."""
    parts = [_PARTS.get(name, UNIT) for name in names]
    return np.rint(np.nan_to_num(_two(rows, *names)) * parts).astype(np.int64)


def _integers(rows: pa.Table, name: str) -> Index:
    return rows[name].fill_null(NONE).to_numpy().astype(np.int64)


def eligible(
    tables: Tables,
    tasks: Tasks,
    machines: Machines,
    time: int,
) -> tuple[Flags, Index]:
    """Return which machines meet each set of constraints at a time, and what changes after that.

    Whether a machine is there is told elsewhere: attributes decide here, and those of a machine that comes later are
    known from when the trace has them.

    Parameters
    ----------
    tables, tasks, machines
        Of one store.
    time
        In µs.

    Returns
    -------
    tuple of ndarray
        bool (sets, machines), and int64 (changes, 4): time (µs), machine, whether it is met, 1 + the set.
    """
    found = np.ones((len(tasks.demanded), len(machines.ids)), np.bool_)
    later = [np.empty((0, 4), np.int64)]
    cell = Eligibility(tables) if tasks.demanded else None
    for place, constraints in enumerate(tasks.demanded):
        if cell is not None:
            times, lines, states = cell.changes(constraints, machines.ids)
            # By machine and time: of those of one machine the last stays.
            found[place, lines[times <= time]] = states[times <= time]
            rows = np.column_stack(
                [
                    times,
                    lines,
                    states,
                    np.full(len(times), place + 1),
                ]
            )
            later.append(rows[times > time].astype(np.int64))
    return found, np.concatenate(later)
