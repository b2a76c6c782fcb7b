"""How many tasks use more than they requested, and how much more?

*Over* compares the mean of a window with the request (on the last SCHEDULE of the task); *peak*
compares the largest maximum with it. Tasks of jobs with a request above zero.

Reference: Zhu et al. (over-consumption).
"""

import ibis

from borgtrace.analyses._attempts import TASK, of_jobs
from borgtrace.analyses._windows import RESOURCES, int_sum, of_request, regular, task_tiers
from borgtrace.question import Recipe, Tables


def compute(tables: Tables) -> ibis.Table:
    """Return how many tasks, and how much time, exceed the request."""
    usage = of_jobs(regular(tables.instance_usage))
    measured = [f"{kind}_{name}" for name in RESOURCES for kind in ("average", "maximum")]
    tasks = task_tiers(tables, "cpu_request", "memory_request")
    # An inner join: usage of a task that no event names has no request to exceed.
    rows = usage.select(*TASK, "seconds", *measured).inner_join(tasks, list(TASK))
    return ibis.union(*(_over(rows, resource) for resource in RESOURCES))


def _over(rows: ibis.Table, resource: str) -> ibis.Table:
    measured = {"ratio": rows[f"average_{resource}"], "peak": rows[f"maximum_{resource}"]}
    known = rows.mutate(
        **{name: of_request(rows, used, resource) for name, used in measured.items()}
    )
    # A task without a request has nothing to exceed; comparisons with NULL would count it as kept.
    known = known.filter(known.ratio.notnull())
    # Per task first: the counts are of tasks, and a task has many windows.
    tasks = known.group_by([*TASK, "tier"]).aggregate(
        seconds=int_sum(known.seconds),
        seconds_over=int_sum(known.seconds, known.ratio > 1.0).fill_null(0),
        largest=known.ratio.max(),
        peak=known.peak.max(),
    )
    return tasks.group_by("tier").aggregate(
        resource=ibis.literal(resource),
        n_tasks=tasks.count(),
        n_over=tasks.count(where=tasks.largest > 1.0),
        n_over_150=tasks.count(where=tasks.largest > 1.5),
        n_over_200=tasks.count(where=tasks.largest > 2.0),
        n_peak_over=tasks.count(where=tasks.peak > 1.0),
        seconds=int_sum(tasks.seconds),
        seconds_over=int_sum(tasks.seconds_over),
        largest=tasks.largest.max(),
    )


RECIPE = Recipe.declared(compute, reads=("instance_usage", "tasks"), order=111)
