"""How much of the cell is used and how much is allocated, by hour and tier?

*Used* is the mean of ``average_cpu`` (``average_memory``), every window weighted by its length;
*allocated* is the mean of the requests of running instances; *capacity* that of the machines present.
What runs inside an alloc set counts once: a task for its own tier, what is left of the alloc for the
alloc's. Hours count from the start of the trace; the last one may be shorter.

Reference: Zhu et al., Fig. 9; Google's analysis notebook of the 2019 traces.
"""

import ibis
import ibis.expr.types as ir

from borgtrace.analyses._attempts import TASK
from borgtrace.analyses._histograms import period
from borgtrace.analyses._joins import lookup
from borgtrace.analyses._step_functions import LEVEL_BITS, capacity_changes, hourly, hours, span
from borgtrace.analyses._windows import (
    RESOURCES,
    amount,
    by_tier,
    credited,
    fixed,
    int_sum,
    level,
    regular,
    tier,
)
from borgtrace.lifecycle.order import SOURCE_ORDER
from borgtrace.question import Recipe, Tables
from borgtrace.schema.time import AFTER_TRACE, HOUR, TRACE_START


def allocation_changes(tables: Tables) -> ir.Table:
    """Return ``time``, ``tier`` and the change of the allocated ``cpu`` and ``memory`` in 2⁻²⁴.

    An attempt holds the request of its SCHEDULE, then that of each UPDATE_RUNNING, until it leaves.
    Alloc instances hold theirs, and what runs inside them counts as
    :func:`borgtrace.analyses._windows.credited` says.
    """
    attempts = tables.instance_attempts
    ran = attempts.filter(attempts.schedule_time.notnull())
    ran = ran.select(
        *TASK,
        "attempt",
        "alloc_collection_id",
        "schedule_time",
        "left_time",
        tier=tier(tables, ran.priority),
        **{name: _scaled(ran[f"{name}_request"]) for name in RESOURCES},
    )
    # left_time, not end_time: an attempt whose end is lost lets go when the next one begins, not never.
    held = ran.select("alloc_collection_id", "tier", *RESOURCES, "left_time", time="schedule_time")
    rows = credited(tables, held.union(_updates(tables, ran)))
    rows = rows.mutate(**{name: rows[name] * rows.sign for name in RESOURCES})
    begun = rows.select("tier", *RESOURCES, "time")
    # What is alive at the end of the trace holds its request until then: it never lets go.
    ended = rows.filter(rows.left_time.notnull())
    left = ended.select("tier", **{name: -ended[name] for name in RESOURCES}, time="left_time")
    return begun.union(left)


def _scaled(request: ir.FloatingColumn) -> ir.IntegerColumn:
    return fixed(request, LEVEL_BITS).fill_null(0)


def _updates(tables: Tables, ran: ir.Table) -> ir.Table:
    """Return by how much each UPDATE_RUNNING changes what its attempt holds until it leaves."""
    events = tables.instance_events
    # An update with missing info names no request: what was promised before still holds.
    requested = events.cpu_request.notnull() & events.memory_request.notnull()
    updates = events.filter((events.type == "UPDATE_RUNNING") & requested)
    new = {f"new_{name}": _scaled(updates[f"{name}_request"]) for name in RESOURCES}
    updates = updates.select(*TASK, *SOURCE_ORDER, **new)
    # Events name no attempt: an update belongs to the one in whose span it falls.
    inside = ran.inner_join(updates, list(TASK))
    # An update at the instant of the SCHEDULE already holds; one at the instant of leaving does not.
    until = inside.left_time.fill_null(AFTER_TRACE)
    inside = inside.filter((inside.schedule_time <= inside.time) & (inside.time < until))
    life = ibis.window(group_by=[*TASK, "attempt"], order_by=list(SOURCE_ORDER))
    before = {name: inside[f"new_{name}"].lag().over(life) for name in RESOURCES}
    # The first update changes what the SCHEDULE asked for, each later one what the update before asked for.
    changes = {
        name: inside[f"new_{name}"] - ibis.coalesce(before[name], inside[name])
        for name in RESOURCES
    }
    return inside.select(
        "alloc_collection_id", "tier", **changes, left_time="left_time", time="time"
    )


def compute(tables: Tables) -> ir.Table:
    """Return used, allocated and available resources per tier and hour."""
    return levels(tables)


def levels(tables: Tables, length: int = HOUR) -> ir.Table:
    """Return the columns of `RESULT` for periods of another length; ``hour`` is their number.

    Parameters
    ----------
    tables
        The store's tables.
    length
        Length of a period, µs: a multiple of 300 s that divides an hour.
    """
    usage = regular(tables.instance_usage)
    usage = usage.mutate(hour=period(usage.start_time, length, TRACE_START))
    # Whichever lasts longer: a store need not hold all parts of both tables.
    spine = hours(
        span(usage.select(time="end_time"), tables.instance_events.select("time")), length
    )
    allocated = hourly(allocation_changes(tables), spine, "tier", RESOURCES, length)
    # Capacity belongs to no tier; one constant name lets it be averaged like what does.
    changes = capacity_changes(tables.machine_events).mutate(tier=ibis.literal("all"))
    capacity = hourly(changes, spine, "tier", RESOURCES, length)
    used = _used(tables, usage)
    # Hours in which a tier neither uses nor holds anything are rows of 0, which the stacked areas need.
    grid = allocated.select("tier").union(used.select("tier"), distinct=True).cross_join(spine)
    rows = lookup(
        lookup(grid, used, ["tier", "hour"]), allocated.drop("hour_seconds"), ["tier", "hour"]
    )
    rows = lookup(
        rows, capacity.select("hour", cpu_capacity="cpu", memory_capacity="memory"), ["hour"]
    )
    columns = {}
    for name in RESOURCES:
        columns[f"{name}_used"] = level(rows[f"{name}_amount"].fill_null(0), rows.hour_seconds)
        columns[f"{name}_allocated"] = rows[name].fill_null(0.0)
        # Not filled: without machine events the capacity is unknown, not 0.
        columns[f"{name}_capacity"] = rows[f"{name}_capacity"]
    return rows.select("tier", "hour", **columns)


def _used(tables: Tables, usage: ir.Table) -> ir.Table:
    averages = [f"average_{name}" for name in RESOURCES]
    rows = by_tier(tables, usage.select(*TASK, "alloc_collection_id", "hour", "seconds", *averages))
    sums = {
        f"{n}_amount": int_sum(amount(rows[f"average_{n}"], rows.seconds) * rows.sign)
        for n in RESOURCES
    }
    return rows.group_by(["tier", "hour"]).aggregate(**sums)


_READS = ("instance_usage", "instance_events", "machine_events", "tasks")


RECIPE = Recipe.declared(compute, reads=_READS, order=60)
