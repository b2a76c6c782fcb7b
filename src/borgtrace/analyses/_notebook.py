"""What the queries of Google's notebook of 2019 read, and in what way.

They keep outermost windows of 300 s or more, each counted as 300 s, and take the largest capacity that a machine ever
had, machines that were removed included.
"""

import ibis.expr.types as ir

from borgtrace.analyses._windows import RESOURCES, fixed, int_sum, outermost
from borgtrace.recipe import Tables
from borgtrace.schema.time import WINDOW


def long_windows(tables: Tables) -> ir.Table:
    """Keep the outermost windows of 300 s or more, wherever they lie."""
    usage = outermost(tables.instance_usage)
    return usage.filter(usage.end_time - usage.start_time >= WINDOW)


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
        **{name: int_sum(fixed(rows[f"average_{name}"]) * weight).fill_null(0) for name in RESOURCES}
    )


def largest_capacities(tables: Tables) -> ir.Table:
    """Return ``machine_id`` and the largest capacity that each machine ever had, as ``cpu`` and ``memory``."""
    events = tables.machine_events
    return events.group_by("machine_id").aggregate(**{n: events[f"{n}_capacity"].max() for n in RESOURCES})
