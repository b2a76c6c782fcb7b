"""How often do machines leave?

One row per number of removals: how many machines left the cell that often.

Reference: 2011 format document, machine events.
"""

import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.recipe import NotApplicable, Recipe, Tables

_ENOUGH = 100
"""Machines removed, before a share of them is compared."""


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
    gone = machines.removed.notnull() & (machines.present.isnull() | (machines.removed > machines.present))
    return machines.group_by("n_removals").aggregate(n_machines=machines.count(), n_gone=machines.count(where=gone))


def never_back(result: pa.Table) -> float:
    """Return the share of the removed machines that were gone at the end."""
    removed = sum(row["n_machines"] for row in result.to_pylist() if row["n_removals"])
    gone: int = sum(result["n_gone"].to_pylist())
    NotApplicable.unless(removed >= _ENOUGH, f"fewer than {_ENOUGH} machines were removed")
    return gone / removed


RECIPE = Recipe.declared(compute, (never_back,), reads=("machine_events",), order=11)
