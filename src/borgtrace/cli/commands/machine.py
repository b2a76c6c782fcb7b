"""``borgtrace machine``: what ran on a machine, and how full it was."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from borgtrace.cli.command import command
from borgtrace.cli.options import JsonOption, StoreArgument

if TYPE_CHECKING:
    import pyarrow as pa

    from borgtrace.store import Store


@command(on_interrupt="the store is as it was")
def machine(
    store: StoreArgument,
    machine_name: Annotated[str, Argument(metavar="MACHINE", help="Id or name of the machine.")],
    at: Annotated[
        str,
        Option(
            "--at", metavar="TIME", help="A time, such as 700s, 12h or 2d3h; each hour by default."
        ),
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Show what ran on a machine, and how full it was.

    With --at, the tasks at that time; otherwise the load hour by hour.

    Example: borgtrace machine cell-2011 4155527081 --at 700s
    """
    import borgtrace
    from borgtrace.cli.printing import number, print_aligned, print_json
    from borgtrace.notation import find_machine
    from borgtrace.schema.time import parse_time
    from borgtrace.store.machine import capacity_at

    opened = borgtrace.open(store)
    machine_id = find_machine(opened, machine_name)
    time = parse_time(at, "--at") if at else None
    capacity = capacity_at(opened, machine_id, time)
    table = load_of(opened, machine_id, time)
    rows = table.to_pylist()
    if as_json:
        print_json(
            {
                "machine": machine_id,
                "capacity": asdict(capacity),
                "rows": rows,
            }
        )
        return

    def text(value: object) -> str:
        return number(value, 5, missing="–")

    state = "up" if capacity.is_up else "down"
    platform = (capacity.platform or "unknown")[:7]
    amounts = f"CPU {text(capacity.cpu)}, memory {text(capacity.memory)}"
    print(f"machine {machine_id}: {state}, {amounts}, platform {platform}")
    print_aligned(table.column_names, [[text(value) for value in row.values()] for row in rows])
    if not rows:
        print("nothing is known to have run")
        return
    # A share of an unknown capacity is no number (32 ADD rows of 2011 have none).
    parts = []
    if capacity.cpu:
        parts.append(used_share("CPU", capacity.cpu, rows))
    if capacity.memory:
        parts.append(used_share("memory", capacity.memory, rows))
    print("; ".join(parts) or "its capacity is unknown")


def load_of(store: Store, machine_id: int, time: int | None) -> pa.Table:
    """Return the load hour by hour, or the tasks that ran at a time."""
    from borgtrace.store.machine import hourly_load, running_on

    if time is None:
        return hourly_load(store, machine_id)
    return running_on(store, machine_id, time)


def used_share(name: str, capacity: float, rows: list[dict[str, float]]) -> str:
    """Say which share of a capacity is used: its mean over hours, or at an instant beside the requested share."""
    column = name.lower()

    def share(key: str) -> float:
        return sum(row[key] or 0 for row in rows) / capacity

    if "hour" in rows[0]:
        return f"{name} {share(column) / len(rows):.1%} used"
    used = share(f"average_{column}")
    requested = share(f"{column}_request")
    return f"{name} {used:.1%} used, {requested:.1%} requested"
