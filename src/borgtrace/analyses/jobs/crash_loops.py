"""Which jobs fail again and again?

The twenty jobs whose tasks have the most FAIL events, and their share of all FAIL events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import numpy as np
import pyarrow as pa

from borgtrace.analyses.shared.attempts import of_jobs
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


def compute(tables: Tables, *, n: int = 20) -> pa.Table:
    """Return the `n` jobs whose tasks fail most."""
    tasks = of_jobs(tables.instance_attempts)
    failed = tasks.filter(tasks.end_type == "FAIL")
    tasks, of_tier = failed.instance_index.nunique(), tier(tables, failed.priority.max())
    jobs = failed.group_by("collection_id").aggregate(
        n_fail=failed.count(), n_tasks=tasks, tier=of_tier
    )
    # Ties are broken by the id: every engine picks the same jobs.
    top = tables.fetch(jobs.order_by([ibis.desc("n_fail"), "collection_id"]).limit(n), "jobs")
    # Asked before the test for emptiness, so that a plan shows both stages.
    total = tables.fetch(failed.aggregate(n=failed.count()), "total")
    if not top.num_rows:
        raise NotApplicable("no task fails")
    # Chosen in order by the engine, which may still hand over the rows in another.
    top = top.sort_by([("n_fail", "descending"), ("collection_id", "ascending")])
    share = np.cumsum(top["n_fail"].to_numpy()) / total["n"][0].as_py()
    rank = np.arange(1, top.num_rows + 1)
    return top.append_column("share", pa.array(share)).append_column("rank", pa.array(rank))


def chart(answer: pa.Table) -> alt.Chart:
    """Draw: failures by the jobs that fail most."""
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
    # Where ten jobs fail at most, the share of ten is 1 and says nothing.
    Claim(
        "TE-crash-loops",
        statement="ten jobs make about half of all failures",
        source="count over the first 19.65 h of 2011",
        kind="criterion",
        scope=OF_2011,
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
