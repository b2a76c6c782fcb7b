"""What running instances were promised, as changes of a level."""

from __future__ import annotations

import ibis.expr.types as ir

from borgtrace.analyses._levels import LEVEL_BITS
from borgtrace.analyses._windows import credited, fixed, tier
from borgtrace.recipe import Tables


def allocation_changes(tables: Tables) -> ir.Table:
    """Return ``time``, ``tier`` and the change of the allocated ``cpu`` and ``memory`` in 2⁻²⁴.

    An attempt holds its request (of its SCHEDULE) from there until it leaves; alloc instances hold
    theirs, and what runs inside them counts as :func:`borgtrace.analyses._windows.credited` says.
    """
    attempts = tables.instance_attempts
    ran = attempts.filter(attempts.schedule_time.notnull())
    own = ran.select(
        "alloc_collection_id", "schedule_time", "left_time",
        tier=tier(ran.priority, tables.generation),
        cpu=fixed(ran.cpu_request.cast("float64").fill_null(0.0), LEVEL_BITS),
        memory=fixed(ran.memory_request.cast("float64").fill_null(0.0), LEVEL_BITS),
    )  # fmt: skip
    rows = credited(own, tables.tasks, tables.generation)
    rows = rows.mutate(cpu=rows.cpu * rows.sign, memory=rows.memory * rows.sign)
    begun = rows.select("tier", "cpu", "memory", time="schedule_time")
    ended = rows.filter(rows.left_time.notnull())
    left = ended.select("tier", cpu=-ended.cpu, memory=-ended.memory, time="left_time")
    return begun.union(left.select(begun.columns))
