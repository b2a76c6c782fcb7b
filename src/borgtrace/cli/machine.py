"""``borgtrace machine``: what ran on a machine, and how full it was."""

from pathlib import Path


def machine(store: Path, machine_name: str, at: str = "", as_json: bool = False) -> None:
    """Show what ran on a machine, and how full it was.

    With --at, the tasks at that time; otherwise the load hour by hour.

    Example: borgtrace machine cell-2011 4155527081 --at 700s
    """
    from dataclasses import asdict

    import borgtrace
    from borgtrace.cli._printing import number, print_aligned, print_json
    from borgtrace.schema.time import parse_time
    from borgtrace.store.machine import capacity_at, hourly_load, running_on
    from borgtrace.store.names import id_of

    opened = borgtrace.open(store)
    machine_id = id_of(opened, "machine", machine_name)
    time = parse_time(at, "--at") if at else None
    capacity = capacity_at(opened, machine_id, time)
    table = (
        hourly_load(opened, machine_id) if time is None else running_on(opened, machine_id, time)
    )
    rows = table.to_pylist()
    if as_json:
        print_json({"machine": machine_id, "capacity": asdict(capacity), "rows": rows})
        return

    def text(value: object) -> str:
        return number(value, 5, missing="–")

    state, platform = "up" if capacity.is_up else "down", (capacity.platform or "unknown")[:7]
    cpu, memory = text(capacity.cpu), text(capacity.memory)
    print(f"machine {machine_id}: {state}, CPU {cpu}, memory {memory}, platform {platform}")
    print_aligned(table.column_names, [[text(value) for value in row.values()] for row in rows])
    # A share of an unknown capacity is no number (32 ADD rows of 2011 have none).
    resources = (("CPU", capacity.cpu), ("memory", capacity.memory))
    parts = [_use(name, whole, rows) for name, whole in resources if whole and rows]
    print(
        "; ".join(parts) or ("its capacity is unknown" if rows else "nothing is known to have run")
    )


def _use(name: str, whole: float, rows: list[dict[str, float]]) -> str:
    """Return the used share of a capacity: its mean over hours, or at an instant beside the requested share."""
    column = name.lower()

    def share(key: str) -> float:
        return sum(row[key] or 0 for row in rows) / whole

    if "hour" in rows[0]:
        return f"{name} {share(column) / len(rows):.1%} used"
    return (
        f"{name} {share(f'average_{column}'):.1%} used, {share(f'{column}_request'):.1%} requested"
    )
