"""When machines are present, with which capacity, and what ran on them in each slot of 300 s."""

import ibis

from borgtrace.analyses.shared.slot_pages import slot_sums_in_parts
from borgtrace.analyses.shared.windows import RESOURCES, amount, int_sum, regular
from borgtrace.lifecycle.order import SOURCE_ORDER
from borgtrace.question import SharedTable, Tables
from borgtrace.schema.time import AFTER_TRACE, TRACE_START, WINDOW


def present_intervals(machine_events: ibis.Table, *, needs_both: bool = True) -> ibis.Table:
    """Return ``machine_id``, ``start``, ``end`` (µs) and the capacities that hold from start to end.

    A machine whose capacity is not published, or is zero, is left out.

    Parameters
    ----------
    machine_events
        Events of machines.
    needs_both
        Whether a machine of which one capacity is unknown is left out, too; else that one is NULL.
    """
    history = ibis.window(group_by="machine_id", order_by=list(SOURCE_ORDER))
    next_time = machine_events.time.lead().over(history)
    # A machine keeps the capacity of its last event until the next one, or until the end of the trace.
    intervals = machine_events.mutate(end=next_time.fill_null(AFTER_TRACE))
    has_cpu = intervals.cpu_capacity > 0
    has_memory = intervals.memory_capacity > 0
    has_any = has_cpu.fill_null(False) | has_memory.fill_null(False)
    has_capacity = has_cpu & has_memory if needs_both else has_any
    intervals = intervals.filter((intervals.type != "REMOVE") & has_capacity)
    # Of nothing there is no share.
    intervals = intervals.mutate(
        cpu_capacity=intervals.cpu_capacity.nullif(0),
        memory_capacity=intervals.memory_capacity.nullif(0),
    )
    return intervals.select("machine_id", "end", "cpu_capacity", "memory_capacity", start="time")


def sum_slots(tables: Tables) -> ibis.Table:
    """Return what windows add up to on each machine in each 300 s slot.

    The machine's CPU and memory count an alloc set as a whole; the tasks on it are counted one by one, in alloc sets or
    not. Usage on a dedicated machine names no machine (2019: machine −1, stored as NULL): all of it is one row a slot.

    Returns
    -------
    ibis.Table
        ``machine_id``, ``slot``; ``n_outermost`` windows outside alloc sets and their amounts ``cpu`` and ``memory``;
        ``task_seconds``, the summed length of the windows of tasks.
    """
    usage = regular(tables.instance_usage)
    is_outermost = usage.alloc_collection_id.isnull()
    amounts = {}
    for name in RESOURCES:
        used = amount(usage[f"average_{name}"], usage.seconds)
        amounts[name] = int_sum(used, is_outermost)
    # All in one pass: finding the slot of a machine among millions takes longest.
    return usage.group_by(["machine_id", "slot"]).aggregate(
        n_outermost=usage.count(where=is_outermost),
        **amounts,
        # Time, not rows: two attempts of 100 s in a slot are not two neighbors.
        task_seconds=int_sum(usage.seconds, usage.collection_type == "JOB"),
    )


SLOT_SUMS = SharedTable("slot_sums", sum_slots, slot_sums_in_parts)
"""What ran on each machine in each slot: see :func:`sum_slots`."""


def slots_used(tables: Tables) -> ibis.Table:
    """Return the rows of `SLOT_SUMS` in which something ran."""
    sums = tables.shared(SLOT_SUMS)
    return sums.filter(sums.n_outermost > 0)


def slots_of_machines(tables: Tables) -> ibis.Table:
    """Return the rows of `SLOT_SUMS` in which something ran on a machine that is named."""
    sums = slots_used(tables)
    return sums.filter(sums.machine_id.notnull())


def machine_slots(tables: Tables, present: ibis.Table) -> ibis.Table:
    """Return what ran on each machine in each 300 s slot, with the capacity at its start.

    Parameters
    ----------
    tables
        The store's tables.
    present
        Intervals from :func:`present_intervals`.

    Returns
    -------
    ibis.Table
        ``machine_id``, ``slot``, amounts ``cpu`` and ``memory``, ``cpu_capacity``, ``memory_capacity``.
    """
    slots = with_capacity(slots_of_machines(tables), present)
    return slots.select("machine_id", "slot", *RESOURCES, "cpu_capacity", "memory_capacity")


def with_capacity(
    sums: ibis.Table,
    present: ibis.Table,
    *,
    drops_unknown: bool = True,
) -> ibis.Table:
    """Add the capacity at the start of the slot to rows of ``machine_id`` and ``slot``.

    Parameters
    ----------
    sums
        One row per machine and slot.
    present
        Intervals from :func:`present_intervals`.
    drops_unknown
        Whether rows without a capacity are dropped; else they keep a capacity of NULL.
    """
    sums = sums.mutate(slot_start=sums.slot * WINDOW + TRACE_START)
    # The capacity at the start of a slot counts for all of it, as if it changed only at its end.
    holds = (sums.slot_start >= present.start) & (sums.slot_start < present.end)
    is_there = [sums.machine_id == present.machine_id, holds]
    if drops_unknown:
        return sums.inner_join(present, is_there)
    return sums.left_join(present, is_there)
