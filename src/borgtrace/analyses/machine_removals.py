"""How often do machines leave?

One row per number of removals: how many machines left the cell that often.

Reference: 2011 format document, machine events.
"""

import ibis.expr.types as ir

from borgtrace.question import Recipe, Tables


def compute(tables: Tables) -> ir.Table:
    """Return the number of machines by their number of REMOVE events."""
    events = tables.machine_events
    is_removal = events.type == "REMOVE"
    machines = events.group_by("machine_id").aggregate(
        n_removals=events.count(where=is_removal),
        removed=events.time.max(where=is_removal),
        # An UPDATE shows that a machine is there as well as an ADD does.
        present=events.time.max(where=~is_removal),
    )
    # Times alone tell which came last: no machine of 2011 has two events at one time.
    gone = machines.removed.notnull() & (
        machines.present.isnull() | (machines.removed > machines.present)
    )
    return machines.group_by("n_removals").aggregate(
        n_machines=machines.count(), n_gone=machines.count(where=gone)
    )


RECIPE = Recipe.declared(compute, reads=("machine_events",), order=11)
