"""What ``borgtrace machine`` prints: what a machine is, and its load hour by hour, or its tasks at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from borgtrace.cli.grid import TextColumn, print_grid
from borgtrace.notation import Notation, ResourceAmounts, integer, line_of_name, percent
from borgtrace.notation.amounts import RESOURCES, resource_of
from borgtrace.schema.time import HOUR, TRACE_START
from borgtrace.store.machine import MachineCapacity

Row = Mapping[str, Any]
TITLES = {
    "priority": "priority",
    "scheduling_class": "class",
    "cpu_request": "CPU requested",
    "average_cpu": "CPU used",
    "maximum_cpu": "CPU peak",
    "memory_request": "memory requested",
    "average_memory": "memory used",
}
"""Columns of tasks at a time, in order, and what they are called; one of which nothing is known is left out."""


def print_machine(
    notation: Notation,
    machine_id: int,
    capacity: MachineCapacity,
    time: int | None,
) -> None:
    """Print the line that says which machine it is, how large, and at which time.

    Parameters
    ----------
    notation
        Of the store.
    machine_id, capacity
        The machine, and what it was.
    time
        On the trace's clock, µs; None for the end of the trace.
    """
    when = "at the end" if time is None else f"at {notation.clock.moment(time)}"
    state = "up" if capacity.is_up else "down"
    size = notation.amounts.size_text(capacity.cpu, capacity.memory)
    platform = line_of_name(capacity.platform or "unknown")
    name = notation.names.machine_and_id(machine_id)
    print(f"machine {name} {when}: {state}, {size}, platform {platform}")


def print_hours(notation: Notation, rows: Sequence[Row]) -> None:
    """Print the load of a machine hour by hour.

    Parameters
    ----------
    notation
        Of the store.
    rows
        From :func:`borgtrace.store.machine.hourly_load`.
    """
    columns = []
    starts = [notation.clock.wall(row["hour"] * HOUR + TRACE_START) for row in rows]
    if all(starts):
        columns.append(TextColumn("from", [str(start) for start in starts]))
    columns.append(TextColumn("hour", [str(row["hour"]) for row in rows], is_number=True))
    columns.append(TextColumn("tasks", [integer(row["n_tasks"]) for row in rows], is_number=True))
    for resource, title in RESOURCES.items():
        cells = [notation.amounts.number(row[resource], resource) for row in rows]
        heading = notation.amounts.column(title, resource)
        columns.append(TextColumn(heading, cells, is_number=True))
    print_grid(columns)
    print_note(notation.amounts)


def print_tasks(notation: Notation, rows: Sequence[Row]) -> None:
    """Print the tasks that ran on a machine at a time.

    Parameters
    ----------
    notation
        Of the store.
    rows
        From :func:`borgtrace.store.machine.running_on`.
    """
    names = [notation.names.task(row["collection_id"], row["instance_index"]) for row in rows]
    since = [notation.clock.text(row["since"]) for row in rows]
    columns = [TextColumn("task", names)]
    for name, title in TITLES.items():
        values = [row[name] for row in rows]
        if all(value is None for value in values):
            continue
        resource = resource_of(name)
        if resource is None:
            cells = ["–" if value is None else str(value) for value in values]
            heading = title
        else:
            cells = [notation.amounts.number(value, resource) for value in values]
            heading = notation.amounts.column(title, resource)
        columns.append(TextColumn(heading, cells, is_number=True))
    columns.append(TextColumn("since", since))
    print_grid(columns)
    print_note(notation.amounts)


def print_note(amounts: ResourceAmounts) -> None:
    """Print what the amounts of a table are of, where its headings do not say it."""
    if amounts.note:
        print(amounts.note)


def used_share(
    resource: str,
    capacity: float,
    rows: Sequence[Row],
    *,
    at_time: bool,
) -> str:
    """Say which share of a capacity is used: its mean over hours, or at a time beside the requested share."""
    title = RESOURCES[resource]

    def total(column: str) -> float:
        return sum(row[column] or 0 for row in rows) / capacity

    if not at_time:
        return f"{title} {percent(total(resource) / len(rows))} used"
    used = percent(total(f"average_{resource}"))
    requested = percent(total(f"{resource}_request"))
    return f"{title} {used} used, {requested} requested"
