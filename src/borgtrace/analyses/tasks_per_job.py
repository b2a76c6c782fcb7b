"""How many tasks does a job have?

One row per number of tasks: how many jobs have exactly that many, and how many have at least that
many.

Reference: Reiss et al., SoCC'12; Tirmazi et al., EuroSys'20, Fig. 11.
"""

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses._attempts import of_jobs
from borgtrace.question import NotApplicable, Recipe, Tables


def compute(tables: Tables) -> pa.Table:
    """Return the number of jobs by their number of tasks."""
    found = tables.fetch(sizes(tables.instance_attempts), "sizes").sort_by("n_tasks")
    NotApplicable.unless(found.num_rows, "there is no task")
    at_least = np.cumsum(found["n_jobs"].to_numpy()[::-1])[::-1]
    return found.append_column("n_jobs_at_least", pa.array(at_least))


def sizes(attempts: ir.Table) -> ir.Table:
    """Return jobs by their number of tasks (``n_tasks``, ``n_jobs``)."""
    tasks = of_jobs(attempts)
    # Every task has one first attempt: counting them is counting distinct tasks, without the sort.
    firsts = tasks.filter(tasks.attempt == 1)
    jobs = firsts.group_by("collection_id").aggregate(n_tasks=firsts.count())
    return jobs.group_by("n_tasks").aggregate(n_jobs=jobs.count())


RECIPE = Recipe.declared(compute, reads=("instance_events",), order=54)
