"""``borgtrace machine``: what ran on a machine, and how full it was."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def machine(
    store: Annotated[Path, typer.Argument(help="The store.", metavar="STORE")],
    machine_id: Annotated[int, typer.Argument(help="The machine.", metavar="MACHINE")],
    at: Annotated[
        str, typer.Option(help="One instant, in µs or as 12h, 2d3h; every hour where left out.", metavar="TIME")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print rows as JSON.")] = False,
) -> None:
    """Show what ran on a machine at an instant, or how full it was hour by hour.

    Example: borgtrace machine cell-2011 4155527081 --at 700s
    """
    import borgtrace
    from borgtrace.cli import _machines
    from borgtrace.schema.time import parse_time
    from borgtrace.store.machine import capacity_at, hourly_load, running_on

    opened = borgtrace.open(store)
    time = parse_time(at, "--at") if at else None
    capacity = capacity_at(opened, machine_id, time)
    rows = hourly_load(opened, machine_id) if time is None else running_on(opened, machine_id, time)
    _machines.show(machine_id, capacity, rows, as_json=as_json)
