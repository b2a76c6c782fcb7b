"""Which tasks use the CPU: many short ones or a few long ones?

The duration of a task is the summed length of its usage windows; its CPU is the window-weighted
mean of ``average_cpu`` times that. Bins double from one minute. Only tasks of jobs count: what runs
in an alloc set is a task, the alloc set itself is not.

Reference: Zhu et al., Fig. 11.
"""

import ibis.expr.types as ir

from borgtrace.analyses._attempts import of_jobs
from borgtrace.analyses._histograms import bin_up_to
from borgtrace.analyses._windows import fixed, int_sum, level, tier
from borgtrace.question import Recipe, Tables

EDGES = tuple(60 * 2**k for k in range(16))
"""Upper edges of the bins, s: 1 min, 2 min, … 22.8 d; what is longer falls into the last bin."""
_BITS = 20


def compute(tables: Tables) -> ir.Table:
    """Return tasks and CPU time by duration and tier."""
    tasks = of_jobs(tables.tasks)
    tasks = tasks.filter(tasks.n_windows > 0)
    rows = tasks.select(
        tier=tier(tables, tasks.priority),
        at_most=bin_up_to(tasks.seconds, EDGES, 1.0),
        # Integers add up to the same CPU time on every engine.
        used=fixed(tasks.weighted_mean_average_cpu.fill_null(0.0) * tasks.seconds, _BITS),
    )
    used = level(int_sum(rows.used), 1, _BITS)
    return rows.group_by(["tier", "at_most"]).aggregate(n_tasks=rows.count(), cpu_seconds=used)


RECIPE = Recipe.declared(compute, reads=("tasks", "instance_usage"), order=63)
