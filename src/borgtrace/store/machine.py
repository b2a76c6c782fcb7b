"""What ran on one machine, and how full it was."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from borgtrace.errors import UsageError, sql_command
from borgtrace.schema import TERMINAL_EVENTS
from borgtrace.schema.time import AFTER_TRACE, HOUR, TRACE_START

if TYPE_CHECKING:
    import pyarrow as pa

    from borgtrace.store.store import Store


@dataclass(frozen=True)
class MachineCapacity:
    """What a machine was at one time: capacities as fractions of the largest, None where unknown."""

    is_up: bool
    cpu: float | None
    memory: float | None
    platform: str | None


def capacity_at(store: Store, machine: int, time: int | None = None) -> MachineCapacity:
    """Return a machine's state at `time` (µs), or at the end of the trace.

    Parameters
    ----------
    store
        The store.
    machine
        Its id.
    time
        On the trace's clock, in µs; the end of the trace where None.

    Raises
    ------
    UsageError
        When machine_events does not know the machine (by then).
    """
    rows = store.sql(_query("capacity_at"), {"machine": machine, "time": time}).to_pylist()
    if not rows:
        raise UsageError(
            "machine",
            "no such machine in machine_events" + ("" if time is None else " at that time"),
            got=str(machine),
            way_out="list some: "
            + sql_command(store.path, "select distinct machine_id from machine_events limit 9"),
        )
    row = rows[0]
    return MachineCapacity(
        # UPDATE and ADD both leave the machine up; only REMOVE takes it away.
        is_up=row["type"] != "REMOVE",
        cpu=row["cpu_capacity"],
        memory=row["memory_capacity"],
        platform=row["platform_id"],
    )


def first_start(store: Store, machine: int) -> int | None:
    """Return when a task was first scheduled on a machine, in µs on the trace's clock; None where none was.

    Parameters
    ----------
    store
        The store.
    machine
        Its id.
    """
    sql = """
        select min("time") as first_time
        from instance_events
        where machine_id = $machine and type = 'SCHEDULE'
    """
    (first_time,) = store.sql(sql, {"machine": machine}).column("first_time").to_pylist()
    return first_time


def running_on(store: Store, machine: int, time: int) -> pa.Table:
    """Return the instances that ran on a machine at `time`, largest request first.

    Columns: collection_id, instance_index, since (µs), priority, scheduling_class, requests, and the usage of the
    window that covers `time` (NULL where none does). An instance runs from its SCHEDULE on this machine until its next
    terminal event.

    Parameters
    ----------
    store
        The store.
    machine
        Its id.
    time
        On the trace's clock, in µs.
    """
    parameters = {
        "machine": machine,
        "time": time,
        "ended": list(TERMINAL_EVENTS),
    }
    return store.sql(_query("running_on"), parameters)


def hourly_load(store: Store, machine: int) -> pa.Table:
    """Return, per hour since the start of the trace, what the machine's tasks used (means over the hour).

    Columns: hour (from 0), n_tasks, cpu, memory; see :func:`load_by_step`.

    Parameters
    ----------
    store
        The store.
    machine
        Its id.
    """
    load = load_by_step(store, machine, HOUR, TRACE_START)
    return load.rename_columns(["hour", *load.column_names[1:]])


def load_by_step(
    store: Store,
    machine: int,
    step: int,
    start: int = 0,
) -> pa.Table:
    """Return, per step of the trace, what the machine's tasks used (means over the step).

    Columns: step (from 0), n_tasks, cpu, memory. Windows are weighted by the time they cover; tasks inside an alloc are
    counted, the alloc's own rows are not. A window that ends after the trace (2⁶³−1) counts its task but has no weight,
    since its length is not known.

    Parameters
    ----------
    store
        The store.
    machine
        Its id.
    step
        Length of a step, µs; a window belongs to the step in which it starts.
    start
        Where the first step starts, on the trace's clock, µs; what is earlier belongs to it, too.
    """
    parameters = {
        "machine": machine,
        "step": step,
        "start": start,
        "after": AFTER_TRACE,
    }
    return store.sql(_query("load_by_step"), parameters)


def _query(name: str) -> str:
    return Path(__file__).with_name(f"{name}.sql").read_text("utf-8")
