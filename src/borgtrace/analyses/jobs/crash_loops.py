"""Which jobs fail again and again?

The twenty jobs whose tasks have the most FAIL events, and their share of all FAIL events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import ibis
import numpy as np
import pyarrow as pa

from borgtrace.analyses.shared.attempts import is_within, of_jobs
from borgtrace.analyses.shared.windows import tier
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    Question,
    Tables,
    charts,
    near,
    sql,
)
from borgtrace.question.scopes import OF_2011

if TYPE_CHECKING:
    import altair as alt

from borgtrace.schema.bounds import Bounds

ANSWER = Answer(
    grain="job among those that fail most",
    key=[Column("rank", "int64", "rank", "Rank by the number of FAILs, from 1.")],
    columns=[
        Column("collection_id", "int64", "id", "The job."),
        Column("tier", "string", "id", "Its tier."),
        Column("n_fail", "int64", "count", "FAILs of its tasks."),
        Column("n_tasks", "int64", "count", "Tasks of it that failed."),
        Column("share", "float64", "1", "Share of all FAILs that the jobs up to this rank make."),
    ],
)


def compute(tables: Tables, *, n: Annotated[int, Bounds(1, 1_000_000)] = 20) -> pa.Table:
    """Return the `n` jobs whose tasks fail most."""
    tasks = of_jobs(tables.instance_attempts)
    failures = tasks.filter((tasks.end_type == "FAIL") & is_within(tasks.end_time))
    jobs = failures.group_by("collection_id").aggregate(
        n_fail=failures.count(),
        n_tasks=failures.instance_index.nunique(),
        tier=tier(tables, failures.priority.max()),
    )
    # Ties are broken by the id: every engine picks the same jobs.
    most_failing = jobs.order_by([ibis.desc("n_fail"), "collection_id"]).limit(n)
    top_jobs = tables.fetch(most_failing, "jobs")
    totals = tables.fetch(failures.aggregate(n=failures.count()), "total")
    if not top_jobs.num_rows:
        raise NotApplicable("no task fails")
    # The engine chooses the jobs in order, but may return the rows in another.
    top_jobs = top_jobs.sort_by([("n_fail", "descending"), ("collection_id", "ascending")])
    n_failures = totals["n"][0].as_py()
    share = np.cumsum(top_jobs["n_fail"].to_numpy()) / n_failures
    rank = np.arange(1, top_jobs.num_rows + 1)
    return top_jobs.append_column("share", pa.array(share)).append_column("rank", pa.array(rank))


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the share of all failures that the jobs up to each rank make."""
    import altair as alt

    rows = answer.to_pylist()
    return (
        charts.base(rows, title="Failures by the jobs that fail most")
        .mark_line(point=True)
        .encode(
            x=alt.X("rank:Q", title="jobs", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("share:Q", title="share of all FAILs"),
            tooltip=charts.tooltips(rows),
        )
    )


CLAIMS = [
    # Where at most ten jobs fail, the share of ten is 1 and says nothing.
    Claim(
        "TE-crash-loops",
        statement="ten jobs make about half of all failures",
        source="count over the first 19.65 h of 2011",
        kind="criterion",
        scope=OF_2011.needing(days=28),
        measure=sql(
            """
            select any_value(share) filter (rank = 10)
            from answer
            having count(*) > 10
            """,
            otherwise="fewer than eleven jobs fail",
        ),
        criterion=near(0.498, within=0.1),
    ),
]

QUESTION = Question(
    name="crash_loops",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["instance_events"],
    reference="2011 format document, job and task life cycles",
)
