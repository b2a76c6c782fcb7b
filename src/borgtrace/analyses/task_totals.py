"""How many tasks are there, and what happened to them in all?

One row per tier and one for all: tasks that were submitted, their jobs and their events. What was there before
the trace counts too (time 0), as in the published totals. A task counts in the tier of its last SCHEDULE. *Alive*
is submissions minus all ends: what is pending or running at the end of the trace.

Reference: Zhu et al., Methods 3 and 3-1; Fig. 3.
"""

import ibis

from borgtrace.analyses._answers import RESULTS
from borgtrace.analyses._attempts import of_jobs
from borgtrace.analyses._windows import tier
from borgtrace.question import Recipe, Tables
from borgtrace.schema import TERMINAL_EVENTS

_ENDS = tuple(f"n_{name.lower()}" for name in TERMINAL_EVENTS)
_EVENTS = ("n_submit", "n_schedule", *_ENDS)
RESULT = RESULTS["task_totals"]


def compute(tables: Tables) -> ibis.Table:
    """Return tasks and their events, in all and per tier."""
    tasks = of_jobs(tables.tasks)
    tasks = tasks.mutate(tier=tier(tables, tasks.priority))
    is_new = tasks.n_submit > 0  # the index also holds instances that are seen in usage alone
    numbers = {
        "n_jobs": is_new.ifelse(tasks.collection_id, ibis.null("int64")).nunique(),
        "n_tasks": tasks.count(where=is_new),
        **{name: tasks[name].cast("int64").sum().fill_null(0).cast("int64") for name in _EVENTS},
    }
    # Not the sum of the tiers: a job may have tasks in two.
    total = tasks.aggregate(**numbers).mutate(tier=ibis.literal("all"))
    rows = tasks.group_by("tier").aggregate(**numbers).select(RESULT.names[:-1])
    rows = rows.union(total.select(RESULT.names[:-1]))
    return rows.mutate(
        n_alive=rows.n_submit - sum((rows[name] for name in _ENDS[1:]), rows[_ENDS[0]])
    )


RECIPE = Recipe.declared(compute, reads=("instance_events", "tasks"), order=25)
