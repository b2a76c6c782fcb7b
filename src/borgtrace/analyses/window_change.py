"""How much does usage change from one measurement to the next?

Consecutive measurements are those of adjacent 300 s slots. *Cell*: the usage summed over the cell
in each slot; *machine*: the same per machine; *task*: each task alone. Within a slot usage is the
mean over its windows, weighted by their length; at cell and machine level what runs inside an alloc
set counts once. A change from zero to something is larger than any percentage.

Reference: Zhu et al., Fig. 10.
"""

import ibis

from borgtrace.analyses._relative_change import counted, curves, slot_pairs
from borgtrace.analyses._task_changes import over_tasks
from borgtrace.analyses._windows import regular
from borgtrace.question import Recipe, Tables


def compute(tables: Tables) -> ibis.Table:
    """Return the distribution of the change between neighboring slots at three levels."""
    cell, machines = slot_pairs(regular(tables.instance_usage))
    levels = {
        # The published figure is the cell's sum; a margin per task (Measure 1) needs the change of each task.
        "cell": cell,
        "machine": machines,
        "task": over_tasks(tables, counted, "task_changes"),
    }
    return ibis.union(
        *(curves(rows).mutate(level=ibis.literal(name)) for name, rows in levels.items())
    )


RECIPE = Recipe.declared(compute, reads=("instance_usage",), order=70)
