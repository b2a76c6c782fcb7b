"""How many tasks does a job have?

One row per number of tasks: how many jobs have exactly that many, and how many have at least that
many.

Reference: Reiss et al., SoCC'12; Tirmazi et al., EuroSys'20, Fig. 11.
"""

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses._attempts import of_jobs
from borgtrace.recipe import NotApplicable, Recipe, Tables
from borgtrace.recipe.charts import Chart, Plot, added, line, log_axis


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


def plot(result: pa.Table) -> Chart:
    """Draw the share of jobs with at least so many tasks, both axes logarithmic."""
    total = sum(result["n_jobs"].to_pylist())
    shares = added(result, share=lambda row: row["n_jobs_at_least"] / total)
    plotted = Plot(shares, result, x=log_axis("n_tasks", "tasks"), y=log_axis("share", "share of jobs"))
    return plotted.add(line(point=True)).draw("Jobs with at least this many tasks")


RECIPE = Recipe.declared(compute, plot=plot, reads=("instance_events",), order=54)
