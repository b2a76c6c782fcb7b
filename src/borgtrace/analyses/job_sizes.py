"""How many tasks do the jobs of each tier have?

Percentiles of the number of tasks of a job, whose tier is that of the highest priority of its tasks.

Reference: Tirmazi et al., Borg: the Next Generation, EuroSys'20 (tasks per job).
"""

from borgtrace.analyses._attempts import of_jobs
from borgtrace.analyses._quantiles import NOTHING, PERCENTS, fetch_counts
from borgtrace.analyses._windows import int_sum, tier
from borgtrace.question import NotApplicable, Recipe, Row, Tables

_SHOWN = (*PERCENTS, 100.0)


def compute(tables: Tables) -> list[Row]:
    """Return percentiles of the tasks of a job, for all jobs and per tier."""
    tasks = of_jobs(tables.instance_attempts)
    number = int_sum(tasks.attempt == 1)
    jobs = tasks.group_by("collection_id").aggregate(n_tasks=number, priority=tasks.priority.max())
    jobs = jobs.select("n_tasks", tier=tier(tables, jobs.priority))
    groups = fetch_counts(tables, jobs, jobs.n_tasks, "sizes", ["tier"])
    NotApplicable.unless(groups, "there is no task")
    every = {("all",): sum(groups.values(), NOTHING), **groups}
    return [
        {
            "tier": name,
            "percent": percent,
            "n_tasks": n_tasks,
            "mean": found.mean(),
            "n": len(found),
        }
        for (name,), found in every.items()
        for percent, n_tasks in zip(_SHOWN, found.quantiles(_SHOWN), strict=True)
    ]


RECIPE = Recipe.declared(compute, reads=("instance_events",), order=54)
