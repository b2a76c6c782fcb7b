"""How much does a task's usage change from hour to hour?

The usage of a task in an hour is the mean over its windows, weighted by their length. Every pair of
neighboring hours counts with the time measured in both, so long tasks weigh by their duration.

Reference: Reiss et al., SoCC'12.
"""

import ibis.expr.types as ir

from borgtrace.analyses._attempts import TASK
from borgtrace.analyses._joins import lookup
from borgtrace.analyses._relative_change import curves, task_pairs
from borgtrace.analyses._windows import UNKNOWN, regular, task_tiers
from borgtrace.question import Recipe, Tables


def compute(tables: Tables) -> ir.Table:
    """Return the distribution of the change between neighboring hours, per tier."""
    rows = lookup(task_pairs(regular(tables.instance_usage), "hour"), task_tiers(tables), TASK)
    # Usage of a task that no event names is kept, under a tier of its own.
    return curves(rows.mutate(tier=rows.tier.fill_null(UNKNOWN)), ["tier"])


RECIPE = Recipe.declared(compute, reads=("instance_usage", "tasks"), order=71)
