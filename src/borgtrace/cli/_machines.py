"""What ``borgtrace machine`` prints."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from borgtrace.store.machine import Capacity


def show(machine_id: int, capacity: Capacity, rows: Any, *, as_json: bool) -> None:
    """Print a machine's capacity and the rows about it."""
    if as_json:
        print(json.dumps({"machine": machine_id, "capacity": asdict(capacity), "rows": rows.to_pylist()}))
        return
    state = "up" if capacity.is_up else "down"
    print(
        f"machine {machine_id}: {state}, CPU {_number(capacity.cpu)}, memory {_number(capacity.memory)}, "
        f"platform {(capacity.platform or 'unknown')[:7]}"
    )
    names = rows.column_names
    widths = [max(len(name), 13) for name in names]
    print("  ".join(name.rjust(width) for name, width in zip(names, widths, strict=True)))
    for row in rows.to_pylist():
        cells = (_number(row[name]).rjust(width) for name, width in zip(names, widths, strict=True))
        print("  ".join(cells))
    print(_fullness(capacity, rows))


def _fullness(capacity: Capacity, rows: Any) -> str:
    """Say in one line how full the machine was."""
    found = rows.to_pylist()
    if not found:
        return "nothing is known to have run"
    parts = []
    for what, whole, asked, used in (
        ("CPU", capacity.cpu, "cpu_request", "average_cpu" if "average_cpu" in rows.column_names else "cpu"),
        (
            "memory",
            capacity.memory,
            "memory_request",
            "average_memory" if "average_memory" in rows.column_names else "memory",
        ),
    ):
        if not whole:
            continue
        hours = "hour" in rows.column_names
        total = sum(row[used] or 0 for row in found) / (len(found) if hours else 1)
        requested = None if hours else sum(row[asked] or 0 for row in found)
        parts.append(
            f"{what} {total / whole:.1%} used" + ("" if requested is None else f", {requested / whole:.1%} asked for")
        )
    return "; ".join(parts) or "its capacity is unknown"


def _number(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.5g}" if isinstance(value, float) else str(value)
