"""What the queries of Google's notebook of 2019 read, and in what way.

They keep outermost windows of 300 s or more, each counted as 300 s, and take the largest capacity that a machine ever
had, machines that were removed included.
"""

import ibis
import ibis.expr.types as ir

from borgtrace.analyses.shared.attempts import TASK
from borgtrace.analyses.shared.windows import RESOURCES, fixed, int_sum, outermost
from borgtrace.question import Tables
from borgtrace.schema.time import WINDOW

ON_MACHINE = (*TASK, "machine_id")
_OTHER = "production"


def long_windows(tables: Tables) -> ir.Table:
    """Keep the outermost windows of 300 s or more, wherever they lie."""
    usage = outermost(tables.instance_usage)
    return usage.filter(usage.end_time - usage.start_time >= WINDOW)


def known_there(tables: Tables) -> ir.Table:
    """Return the highest priority of each outermost task on each machine that an event names."""
    events = outermost(tables.instance_events)
    # A flag of its own: the priority of an event may be NULL.
    return events.group_by(list(ON_MACHINE)).aggregate(
        priority=events.priority.max(), is_known=ibis.literal(True)
    )


def matched(tables: Tables) -> ir.Table:
    """Return the long windows of tasks that have an event on the machine, in their tiers."""
    return as_there(tables, long_windows(tables).inner_join(known_there(tables), list(ON_MACHINE)))


def as_there(tables: Tables, rows: ir.Table) -> ir.Table:
    """Name tiers as the notebook does: whatever is in none below production is production.

    Parameters
    ----------
    tables
        The store's tables.
    rows
        Rows with ``priority``.
    """
    below = [
        (rows.priority.between(low, high), name) for name, low, high in tables.dialect.tiers[:3]
    ]
    return rows.mutate(tier=ibis.cases(*below, else_=_OTHER))


def sums(rows: ir.Table, *by: str, weight: ir.IntegerColumn | int) -> ir.Table:
    """Add up the average usage of windows, as amounts, by some columns.

    Parameters
    ----------
    rows
        Usage windows.
    by
        Columns that make the groups.
    weight
        What each window counts for: its length, s.
    """
    return rows.group_by(list(by)).aggregate(
        **{
            name: int_sum(fixed(rows[f"average_{name}"]) * weight).fill_null(0)
            for name in RESOURCES
        }
    )


def largest_capacities(tables: Tables) -> ir.Table:
    """Return ``machine_id`` and the largest capacity that each machine ever had, as ``cpu`` and ``memory``."""
    events = tables.machine_events
    return events.group_by("machine_id").aggregate(
        **{n: events[f"{n}_capacity"].max() for n in RESOURCES}
    )
