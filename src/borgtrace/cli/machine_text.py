"""What ``borgtrace machine`` prints: what a machine is, and its load hour by hour, or its tasks at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from borgtrace.cli.console import print_prose
from borgtrace.cli.grid import TextColumn, print_grid
from borgtrace.errors import shell_word
from borgtrace.notation import (
    Notation,
    ResourceAmounts,
    integer,
    line_of_name,
    moment_option,
    percent,
)
from borgtrace.notation.amounts import RESOURCES, resource_of
from borgtrace.schema.time import HOUR, SECOND, TRACE_START
from borgtrace.store import Store
from borgtrace.store.machine import MachineCapacity, first_start

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
    name = notation.names.machine_and_id(machine_id)
    platform = f", platform {line_of_name(capacity.platform)}" if capacity.platform else ""
    print_prose(f"machine {name} {when}: {state}, {size}{platform}", is_data=True)


def why_nothing(store: Store, notation: Notation, machine_id: int, time: int | None) -> str:
    """Say that nothing ran on a machine, or that its tasks were not measured, and how to see them.

    Parameters
    ----------
    store, notation
        An open store, and how its things are written.
    machine_id
        The machine.
    time
        The moment that was asked for, µs on the trace's clock; None for all hours.
    """
    trace = store.manifest.dialect
    tables = ("instance_events", "instance_usage")
    if not any(trace.publishes("machine_id", table) for table in tables):
        return f"{trace.title} does not say on which machines tasks ran"
    first_time = None if time is not None else first_start(store, machine_id)
    if first_time is None:
        return "nothing is known to have run"
    place = shell_word(store.path)
    machine = shell_word(notation.names.machine(machine_id))
    # The next whole second: nobody types µs.
    moment = moment_option(-(-max(first_time, TRACE_START) // SECOND) * SECOND)
    return (
        "no usage was measured on it; what ran there at a moment: "
        f"borgtrace machine {place} {machine} --at {moment}"
    )


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
    clock = notation.clock
    since = [clock.wall(row["since"]) or clock.text(row["since"]) for row in rows]
    columns = [TextColumn("task", names)]
    amounts = []
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
            amounts.append(heading)
        columns.append(TextColumn(heading, cells, is_number=True, is_whole=True))
    columns.append(TextColumn("since", since, is_whole=True))
    shown_names = print_grid(columns, ("task", *amounts))
    if len(shown_names) < len(columns):
        print_prose(f"{len(shown_names)} of {len(columns)} columns; all of them: add --json")
    print_note(notation.amounts)


def print_note(amounts: ResourceAmounts) -> None:
    """Print what the amounts of a table are of, where its headings do not say it."""
    if amounts.note:
        print(amounts.note)


def share_over_hours(resource: str, capacity: float, rows: Sequence[Row], hours: float) -> str:
    """Say which share of a capacity is used on average.

    Parameters
    ----------
    resource, capacity
        The resource, and how much of it the machine has.
    rows
        From :func:`borgtrace.store.machine.hourly_load`.
    hours
        How many of them were measured.
    """
    used = sum(row[resource] or 0 for row in rows) / capacity / hours
    return f"{RESOURCES[resource]} {percent(used)} used"


def share_at_moment(resource: str, capacity: float, rows: Sequence[Row]) -> str:
    """Say which shares of a capacity are used and requested at a moment.

    Parameters
    ----------
    resource, capacity
        The resource, and how much of it the machine has.
    rows
        From :func:`borgtrace.store.machine.running_on`.
    """
    parts = []
    for word, column in (("used", f"average_{resource}"), ("requested", f"{resource}_request")):
        # What is not known of a task is not nothing.
        known = [row[column] for row in rows if row[column] is not None]
        if not known:
            parts.append("use not measured" if word == "used" else "requests not known")
            continue
        of_some = "" if len(known) == len(rows) else f" by {len(known):,} of {len(rows):,} tasks"
        parts.append(f"{percent(sum(known) / capacity)} {word}{of_some}")
    return f"{RESOURCES[resource]} {', '.join(parts)}"
