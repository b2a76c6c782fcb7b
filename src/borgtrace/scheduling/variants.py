"""Change a trace before it is scheduled: drop constraints, or add or replace machines."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.question import Tables
from borgtrace.scheduling.changes import CHANGED_SET, make_changes
from borgtrace.scheduling.machines import EXTENDED, UNIT, to_units
from borgtrace.scheduling.replay import ScheduleInput
from borgtrace.scheduling.workload import eligible
from borgtrace.schema.bounds import Bounds

WITHOUT = " without "
ADDED = Bounds(1, 1_000_000)
"""Machines of one shape."""
CLOSE = 0.001
"""How far a capacity may be from what a user writes, in largest machines."""


class MachineDimensions(NamedTuple):
    """CPU and memory of a machine, in largest machines."""

    cpu: float
    memory: float

    @property
    def is_valid(self) -> bool:
        """Whether both are above 0 and at most 1."""
        return 0 < self.cpu <= 1 and 0 < self.memory <= 1

    @property
    def label(self) -> str:
        """The text that it is read from."""
        return f"{self.cpu:g}:{self.memory:g}"


class AddedMachines(NamedTuple):
    """Machines of one shape that are added."""

    number: int
    shape: MachineDimensions


class ReplacedMachines(NamedTuple):
    """Machines of one shape that get another."""

    old: MachineDimensions
    new: MachineDimensions

    @property
    def label(self) -> str:
        """The text that it is read from."""
        return f"{self.old.label}={self.new.label}"


def parse_machines(text: str) -> AddedMachines:
    """Read ``100:0.5:0.25``: how many machines, their CPU and their memory, in largest machines.

    Raises
    ------
    UsageError
        For anything else.

    Examples
    --------
    >>> parse_machines("100:0.5:0.25")
    AddedMachines(number=100, shape=MachineDimensions(cpu=0.5, memory=0.25))
    """
    number, _, sizes = text.partition(":")
    shape = parse_shape(sizes)
    is_number = re.fullmatch(r"[0-9]{1,100}", number) is not None
    if shape is None or not is_number or not ADDED.contain(int(number)):
        raise UsageError(
            "--add-machines",
            "no machines",
            expected=f"N:CPU:MEMORY, N from {ADDED.describe()}, the others above 0 and at most 1, the largest machine",
            got=text,
            way_out="try 100:0.5:0.5",
        )
    return AddedMachines(int(number), shape)


def parse_upgrade(text: str) -> ReplacedMachines:
    """Read ``0.5:0.25=0.5:0.5``: CPU and memory of the machines that are replaced, and of those that come instead.

    Raises
    ------
    UsageError
        For anything else.
    """
    before, _, after = text.partition("=")
    old = parse_shape(before)
    new = parse_shape(after)
    if old is None or new is None:
        raise UsageError(
            "--upgrade-machines",
            "no shapes",
            expected="CPU:MEMORY=CPU:MEMORY, above 0 and at most 1, the largest machine",
            got=text,
            way_out="try 0.5:0.25=0.5:0.5",
        )
    return ReplacedMachines(old, new)


def parse_shape(text: str) -> MachineDimensions | None:
    """Read ``0.5:0.25``; None where it is no shape."""
    try:
        shape = MachineDimensions(*map(float, text.split(":")))
    except (TypeError, ValueError):
        return None
    return shape if shape.is_valid else None


class TraceVariant(NamedTuple):
    """A trace, and what it adds to the name of a policy."""

    suffix: str
    trace: ScheduleInput


def variants(
    trace: ScheduleInput,
    tables: Tables,
    *,
    each_constraint: bool,
    machines: Sequence[str],
    upgrades: Sequence[str],
) -> Iterator[TraceVariant]:
    """Yield the trace as it is, then each change of it.

    Parameters
    ----------
    trace, tables
        What is changed, and where attributes of machines are.
    each_constraint
        Whether the constraints on each attribute are dropped in turn.
    machines, upgrades
        Machines to add, as :func:`parse_machines` reads them, and to replace, as :func:`parse_upgrade` does.
    """
    yield TraceVariant("", trace)
    if each_constraint:
        for name in attributes_of(trace):
            yield TraceVariant(f"{WITHOUT}{name}", without_attribute(trace, tables, name))
    for text in machines:
        yield TraceVariant(f" + {text}", with_machines(trace, parse_machines(text)))
    for text in upgrades:
        yield TraceVariant(f" upgraded {text}", with_upgrade(trace, parse_upgrade(text)))


def attributes_of(trace: ScheduleInput) -> list[str]:
    """Return the attributes of machines on which there are constraints, by name."""
    names = set()
    for constraint_set in trace.tasks.demanded:
        for constraint in constraint_set:
            names.add(constraint[0])
    return sorted(names)


def without_attribute(
    trace: ScheduleInput,
    tables: Tables,
    name: str,
) -> ScheduleInput:
    """Drop the constraints on one attribute."""
    demanded = []
    for constraint_set in trace.tasks.demanded:
        demanded.append([constraint for constraint in constraint_set if constraint[0] != name])
    tasks = replace(trace.tasks, demanded=tuple(demanded))
    eligibility = eligible(tables, tasks, trace.machines, 0)
    comings = trace.changes[trace.changes[:, CHANGED_SET] == 0]
    return replace(
        trace,
        tasks=tasks,
        allowed=eligibility.allowed,
        changes=np.concatenate([eligibility.later, comings]),
    )


def with_upgrade(trace: ScheduleInput, upgrade: ReplacedMachines) -> ScheduleInput:
    """Give all machines of one shape another."""
    capacity = trace.machines.capacity.copy()
    sizes = capacity[:, :EXTENDED]
    # Capacities are published with four digits, and users write fewer.
    distance = np.abs(sizes - to_units(np.array(upgrade.old)))
    is_replaced = (distance <= UNIT * CLOSE).all(axis=1)
    if not is_replaced.any():
        shapes = [f"{cpu:.4g}:{memory:.4g}" for cpu, memory in np.unique(sizes, axis=0) / UNIT]
        raise UsageError(
            "--upgrade-machines",
            "no machine has this shape",
            expected=f"one of {'; '.join(shapes)}",
            got=upgrade.label,
        )
    sizes[is_replaced] = to_units(np.array(upgrade.new))
    return replace(trace, machines=replace(trace.machines, capacity=capacity))


def with_machines(trace: ScheduleInput, added: AddedMachines) -> ScheduleInput:
    """Add machines that are there from the start on and meet all constraints, without GPUs and attributes."""
    ids = trace.machines.ids
    n_machines = len(ids)
    capacity = np.pad(trace.machines.capacity, ((0, added.number), (0, 0)))
    capacity[n_machines:, :EXTENDED] = to_units(np.array(added.shape))
    new_ids = ids[-1] + np.arange(1, added.number + 1)
    machines = replace(
        trace.machines,
        ids=np.append(ids, new_ids),
        capacity=capacity,
    )
    comings = make_changes(
        time=0,
        machine=np.arange(n_machines, n_machines + added.number),
        is_there=True,
        constraint_set=0,
    )
    allowed = np.ones((len(trace.allowed), added.number), np.bool_)
    return replace(
        trace,
        machines=machines,
        changes=np.vstack([comings, trace.changes]),
        allowed=np.hstack([trace.allowed, allowed]),
        attributes=trace.attributes.with_machines(added.number),
    )


def costliest(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say for each policy which attribute's constraints cost the most waiting; nothing where none was dropped."""
    waiting_hours: dict[str, float] = {}
    for row in rows:
        policy = row["policy"]
        waiting_hours[policy] = waiting_hours.get(policy, 0.0) + row["waiting_hours"]
    savings: dict[str, list[tuple[float, str]]] = {}
    for policy, hours in waiting_hours.items():
        base, is_dropped, name = policy.partition(WITHOUT)
        if is_dropped:
            saved = waiting_hours[base] - hours
            savings.setdefault(base, []).append((saved, name))
    lines = []
    for base, saved_by_attribute in savings.items():
        n_attributes = len(saved_by_attribute)
        most, name = max(saved_by_attribute)
        if most > 0:
            line = (
                f"{base} (simulated): of {n_attributes} attributes, constraints on {name} cost the most "
                f"waiting, {most:,.2f} of {waiting_hours[base]:,.2f} task-hours"
            )
        else:
            line = f"{base} (simulated): constraints on none of {n_attributes} attributes cost any waiting"
        lines.append(line)
    return lines
