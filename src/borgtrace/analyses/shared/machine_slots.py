"""When machines are there, with which capacity, and what ran on them slot by slot."""

import ibis

from borgtrace.analyses.shared.windows import RESOURCES, amount, int_sum
from borgtrace.lifecycle.order import SOURCE_ORDER
from borgtrace.schema.time import AFTER_TRACE, TRACE_START, WINDOW


def present_intervals(machine_events: ibis.Table) -> ibis.Table:
    """Return ``machine_id``, ``start``, ``end`` (µs) and the capacities that hold from start to end.

    A machine whose capacity is not published, or is zero, is left out.
    """
    order = ibis.window(group_by="machine_id", order_by=list(SOURCE_ORDER))
    # A machine keeps what its last event gave it until the next, or until the end of the trace.
    rows = machine_events.mutate(end=machine_events.time.lead().over(order).fill_null(AFTER_TRACE))
    rows = rows.filter(
        (rows.type != "REMOVE") & (rows.cpu_capacity > 0) & (rows.memory_capacity > 0)
    )
    return rows.select("machine_id", "end", "cpu_capacity", "memory_capacity", start="time")


def used_per_slot(usage: ibis.Table, *by: str) -> ibis.Table:
    """Return the amounts of CPU and memory that windows of each 300 s slot use together, for each of `by`."""
    amounts = {name: int_sum(amount(usage[f"average_{name}"], usage.seconds)) for name in RESOURCES}
    return usage.group_by([*by, "slot"]).aggregate(**amounts)


def machine_slots(usage: ibis.Table, present: ibis.Table) -> ibis.Table:
    """Return what ran on each machine in each 300 s slot, with the capacity at its start.

    Parameters
    ----------
    usage
        Windows from :func:`borgtrace.analyses.shared.windows.regular`, alloc sets counted once.
    present
        Intervals from :func:`present_intervals`.

    Returns
    -------
    ibis.Table
        ``machine_id``, ``slot``, amounts ``cpu`` and ``memory``, ``cpu_capacity``, ``memory_capacity``.
    """
    # Usage on a dedicated machine names none (2019: machine −1, stored as NULL).
    on_machine = usage.filter(usage.machine_id.notnull())
    held = with_capacity(used_per_slot(on_machine, "machine_id"), present)
    return held.select("machine_id", "slot", *RESOURCES, "cpu_capacity", "memory_capacity")


def with_capacity(sums: ibis.Table, present: ibis.Table) -> ibis.Table:
    """Add to rows of ``machine_id`` and ``slot`` the capacity at the start of the slot; without one they are left out.

    Parameters
    ----------
    sums
        One row per machine and slot.
    present
        Intervals from :func:`present_intervals`.
    """
    sums = sums.mutate(at=sums.slot * WINDOW + TRACE_START)
    # What a machine has at the start of a slot counts for all of it, as if changed only at its end.
    then = (sums.at >= present.start) & (sums.at < present.end)
    return sums.inner_join(present, [sums.machine_id == present.machine_id, then])
