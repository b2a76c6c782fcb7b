"""How many tasks does a job have?

One row per number of tasks: how many jobs have so many, and how many have at least so many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses._processes import jobs_only
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

RESULT = Table(
    "tasks_per_job",
    "number of tasks",
    ("n_tasks",),
    (
        Column("n_tasks", "int64", "count", "Number of tasks of a job.", nullable=False),
        Column("n_jobs", "int64", "count", "Jobs with so many tasks.", nullable=False),
        Column("n_jobs_at_least", "int64", "count", "Jobs with at least so many tasks.", nullable=False),
    ),
)


def compute(tables: Tables) -> pa.Table:
    """Return the number of jobs by their number of tasks."""
    found = tables.fetch(sizes(tables.instance_attempts), "sizes").sort_by("n_tasks")
    if not found.num_rows:
        raise NotApplicable("there is no task")
    jobs = found["n_jobs"].to_numpy()
    at_least = np.cumsum(jobs[::-1])[::-1]
    return found.append_column("n_jobs_at_least", pa.array(at_least))


def sizes(attempts: ir.Table) -> ir.Table:
    """Return jobs by their number of tasks (``n_tasks``, ``n_jobs``)."""
    firsts = jobs_only(attempts)
    firsts = firsts.filter(firsts.attempt == 1)
    jobs = firsts.group_by("collection_id").aggregate(n_tasks=firsts.count())
    return jobs.group_by("n_tasks").aggregate(n_jobs=jobs.count())


def plot(result: pa.Table) -> alt.Chart:
    """Draw the share of jobs with at least so many tasks, both axes logarithmic."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, log_axis, rows

    total = result["n_jobs"].to_numpy().sum()
    shares = result.append_column("share", pa.array(result["n_jobs_at_least"].to_numpy() / total))
    chart: alt.Chart = (
        alt.Chart(rows(shares), title="Jobs with at least so many tasks", width=WIDTH, height=HEIGHT)
        .mark_line(point=True)
        .encode(
            x=alt.X("n_tasks:Q", title="tasks", scale=alt.Scale(type="log"), axis=log_axis()),
            y=alt.Y("share:Q", title="share of jobs", scale=alt.Scale(type="log"), axis=log_axis()),
            tooltip=["n_tasks:Q", "n_jobs:Q", "share:Q"],
        )
    )
    return chart


def _single(result: pa.Table) -> float:
    first = result.to_pylist()[0]
    ones = first["n_jobs"] if first["n_tasks"] == 1 else 0
    return float(ones / first["n_jobs_at_least"])


CLAIMS = (
    Claim(
        "R12-single",
        "three quarters of all jobs have one task",
        0.75,
        _single,
        lambda v: abs(v - 0.75) <= 0.05,
        "Reiss et al., SoCC'12",
    ),
)

RECIPE = Recipe(
    "tasks_per_job",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_events",),
    reference="Reiss et al., SoCC'12; Tirmazi et al., EuroSys'20, Fig. 11",
    order=54,
    topic="Jobs and users",
)
