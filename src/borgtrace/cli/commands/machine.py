"""``borgtrace machine``: what ran on a machine, and how full it was."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from borgtrace.cli.command import command
from borgtrace.cli.options import MOMENTS, JsonOption, StoreArgument

if TYPE_CHECKING:
    import pyarrow as pa

    from borgtrace.store import Store
    from borgtrace.store.machine import MachineCapacity

MachineArgument = Annotated[
    str, Argument(metavar="MACHINE", help="Name of the machine, its beginning, or its id.")
]
MomentOption = Annotated[
    str,
    Option(
        "--at",
        metavar="TIME",
        help=f"A time, {MOMENTS}; each hour by default.",
    ),
]


@command(on_interrupt="the store is as it was")
def machine(
    store: StoreArgument,
    machine_name: MachineArgument,
    at: MomentOption = "",
    as_json: JsonOption = False,
) -> None:
    """Show what ran on a machine, and how full it was.

    With --at, the tasks at that time; otherwise the load hour by hour.

    Example: borgtrace machine cell-2011 4155527081 --at 2h
    """
    import borgtrace
    from borgtrace.cli.machine_text import print_hours, print_machine, print_tasks, why_nothing
    from borgtrace.cli.printing import print_json
    from borgtrace.notation import Notation, find_machine
    from borgtrace.store.machine import capacity_at

    opened = borgtrace.open(store)
    notation = Notation.of(opened)
    machine_id = find_machine(opened, machine_name)
    time = notation.clock.parse(at, "--at") if at else None
    capacity = capacity_at(opened, machine_id, time)
    rows = load_of(opened, machine_id, time).to_pylist()
    if as_json:
        print_json(
            {
                "machine": machine_id,
                "name": notation.names.machine(machine_id),
                "capacity": asdict(capacity),
                "rows": rows,
            }
        )
        return
    print_machine(notation, machine_id, capacity, time)
    if not rows:
        print(why_nothing(opened, notation, machine_id, time))
        return
    if time is None:
        print_hours(notation, rows)
    else:
        print_tasks(notation, rows)
    print(shares_of_capacity(opened, capacity, rows, at_time=time is not None))


def shares_of_capacity(
    store: Store, capacity: MachineCapacity, rows: list[dict[str, Any]], *, at_time: bool
) -> str:
    """Say how much of a machine is used, of each resource whose size is known."""
    from borgtrace.cli.machine_text import share_at_moment, share_over_hours
    from borgtrace.question.study_times import in_words, usage_span
    from borgtrace.schema.time import HOUR

    # An hour of which a part was measured is not an hour of little use.
    span = usage_span(store.manifest)
    hours = min(len(rows), span / HOUR)
    # A share of an unknown capacity is no number (32 ADD rows of 2011 have none).
    parts = []
    for resource, size in (("cpu", capacity.cpu), ("memory", capacity.memory)):
        if size and at_time:
            parts.append(share_at_moment(resource, size, rows))
        elif size:
            parts.append(share_over_hours(resource, size, rows, hours))
    text = "; ".join(parts) or "its capacity is unknown"
    if at_time or hours == len(rows) or not parts:
        return text
    return f"in the {in_words(span)} that were measured: {text}"


def load_of(store: Store, machine_id: int, time: int | None) -> pa.Table:
    """Return the load hour by hour, or the tasks that ran at a time."""
    from borgtrace.store.machine import hourly_load, running_on

    if time is None:
        return hourly_load(store, machine_id)
    return running_on(store, machine_id, time)
