"""How many tasks does a job have?

One row per number of tasks: how many jobs have exactly that many, and how many have at least that
many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses.shared.attempts import of_jobs
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    Question,
    Tables,
    charts,
    near,
    query_answer,
    sql,
)
from borgtrace.question.scopes import LIKE_2011

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="number of tasks",
    key=[Column("n_tasks", "int64", "count", "Number of tasks of a job.")],
    columns=[
        Column("n_jobs", "int64", "count", "Jobs with this many tasks."),
        Column("n_jobs_at_least", "int64", "count", "Jobs with at least this many tasks."),
    ],
)


def compute(tables: Tables) -> pa.Table:
    """Return the number of jobs by their number of tasks."""
    jobs = tables.fetch(sizes(tables.instance_attempts), "sizes").sort_by("n_tasks")
    if not jobs.num_rows:
        raise NotApplicable("there is no task")
    n_jobs = jobs["n_jobs"].to_numpy()
    n_jobs_at_least = np.cumsum(n_jobs[::-1])[::-1]
    return jobs.append_column("n_jobs_at_least", pa.array(n_jobs_at_least))


def sizes(attempts: ir.Table) -> ir.Table:
    """Return jobs by their number of tasks (``n_tasks``, ``n_jobs``)."""
    tasks = of_jobs(attempts)
    # Every task has one first attempt: counting them is counting distinct tasks, without the sort.
    first_attempts = tasks.filter(tasks.attempt == 1)
    by_job = first_attempts.group_by("collection_id")
    jobs = by_job.aggregate(n_tasks=first_attempts.count())
    return jobs.group_by("n_tasks").aggregate(n_jobs=jobs.count())


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the share of jobs with at least so many tasks, on logarithmic axes."""
    import altair as alt

    rows = query_answer(
        answer,
        """
        select *, n_jobs_at_least / sum(n_jobs) over () as share
        from answer
        """,
    )
    return (
        charts.base(rows, title="Jobs with at least this many tasks (Tirmazi et al., Fig. 11)")
        .mark_line(point=True)
        .encode(
            x=alt.X("n_tasks:Q", title="tasks", **charts.log_scale()),
            y=alt.Y("share:Q", title="share of jobs", **charts.log_scale()),
            tooltip=charts.tooltips(rows),
        )
    )


CLAIMS = [
    Claim(
        "R12-single",
        statement="three quarters of all jobs have one task",
        source="Reiss et al., SoCC'12",
        scope=LIKE_2011.needing(days=7, tasks=5_000),
        measure=sql(
            """
            select sum(if(n_tasks = 1, n_jobs, 0)) / nullif(sum(n_jobs), 0)
            from answer
            """,
            otherwise="there is no task",
        ),
        criterion=near(0.75, within=0.05),
    ),
]

QUESTION = Question(
    name="tasks_per_job",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["instance_events"],
    reference="Reiss et al., SoCC'12; Tirmazi et al., EuroSys'20, Fig. 11",
)
