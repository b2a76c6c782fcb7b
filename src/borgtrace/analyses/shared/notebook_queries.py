"""Rows as the queries of Google's notebook of 2019 select them.

They keep outermost windows of 300 s or more, each counted as 300 s, and take the largest capacity that a machine ever
had, including machines that were removed.
"""

import ibis
import ibis.expr.types as ir

from borgtrace.analyses.shared.attempts import TASK
from borgtrace.analyses.shared.windows import RESOURCES, fixed, int_sum, outermost
from borgtrace.question import Tables
from borgtrace.schema.time import WINDOW

ON_MACHINE = (*TASK, "machine_id")
HIGHEST_TIER = "production"
"""The notebook counts monitoring, and whatever has no priority, as production."""
N_LOWER_TIERS = 3


def long_windows(tables: Tables) -> ir.Table:
    """Keep the outermost windows of 300 s or more, inside the trace or not."""
    usage = outermost(tables.instance_usage)
    return usage.filter(usage.end_time - usage.start_time >= WINDOW)


def priorities_by_machine(tables: Tables) -> ir.Table:
    """Return the highest priority of each outermost task on each machine that an event names."""
    events = outermost(tables.instance_events)
    # A flag of its own: the priority of an event may be NULL.
    return events.group_by(list(ON_MACHINE)).aggregate(
        priority=events.priority.max(), is_known=ibis.literal(True)
    )


def windows_with_tiers(tables: Tables) -> ir.Table:
    """Return the long windows of tasks that have an event on the machine, in their tiers."""
    windows = long_windows(tables).inner_join(priorities_by_machine(tables), list(ON_MACHINE))
    return with_notebook_tiers(tables, windows)


def with_notebook_tiers(tables: Tables, rows: ir.Table) -> ir.Table:
    """Add ``tier`` as the notebook names it: whatever is in no lower tier is production.

    Parameters
    ----------
    tables
        The store's tables.
    rows
        Rows with ``priority``.
    """
    lower_tiers = [
        (rows.priority.between(low, high), name)
        for name, low, high in tables.dialect.tiers[:N_LOWER_TIERS]
    ]
    return rows.mutate(tier=ibis.cases(*lower_tiers, else_=HIGHEST_TIER))


def sum_usage(rows: ir.Table, *by: str, weight: ir.IntegerColumn | int) -> ir.Table:
    """Add up the average usage of windows, as amounts, by some columns; NULL where no window has a value.

    Parameters
    ----------
    rows
        Usage windows.
    by
        Columns that make the groups.
    weight
        What each window counts for: its length, s.
    """
    amounts = {}
    for name in RESOURCES:
        used = fixed(rows[f"average_{name}"]) * weight
        amounts[name] = int_sum(used)
    return rows.group_by(list(by)).aggregate(**amounts)


def largest_capacities(tables: Tables) -> ir.Table:
    """Return ``machine_id`` and the largest capacity that each machine ever had, as ``cpu`` and ``memory``."""
    events = tables.machine_events
    return events.group_by("machine_id").aggregate(
        cpu=events.cpu_capacity.max(), memory=events.memory_capacity.max()
    )
