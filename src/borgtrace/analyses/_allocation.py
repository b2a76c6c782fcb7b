"""What running instances were promised, as changes of a level."""

import ibis
import ibis.expr.types as ir

from borgtrace.analyses._attempts import TASK
from borgtrace.analyses._step_functions import LEVEL_BITS
from borgtrace.analyses._windows import RESOURCES, credited, fixed, tier
from borgtrace.lifecycle.order import SOURCE_ORDER
from borgtrace.recipe import Tables
from borgtrace.schema.time import AFTER_TRACE


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
    changes = {name: inside[f"new_{name}"] - ibis.coalesce(before[name], inside[name]) for name in RESOURCES}
    return inside.select("alloc_collection_id", "tier", **changes, left_time="left_time", time="time")
