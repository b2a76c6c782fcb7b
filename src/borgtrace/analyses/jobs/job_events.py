"""What happens to jobs?

One row per event type: how many such events there are, and how many jobs have one.  Alloc sets are left
out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import pyarrow as pa

from borgtrace.analyses.shared.attempts import of_jobs
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    Question,
    Tables,
    above,
    at_most,
    charts,
    equals,
    near,
    sql,
)
from borgtrace.question.scopes import MONTH_2011, OF_2011

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="event type",
    key=[Column("type", "string", "id", "Event type, or any for all of them.")],
    columns=[
        Column("n_events", "int64", "count", "Events of the type."),
        Column("n_jobs", "int64", "count", "Jobs with such an event."),
    ],
)


ANY = "any"


def compute(tables: Tables) -> ibis.Table:
    """Return events and jobs per event type."""
    events = of_jobs(tables.collection_events)
    numbers = {"n_events": events.count(), "n_jobs": events.collection_id.nunique()}
    # Not the sum of the rows: a job has events of several types.
    total = events.aggregate(**numbers).select(
        type=ibis.literal(ANY), n_events="n_events", n_jobs="n_jobs"
    )
    return events.group_by("type").aggregate(**numbers).union(total)


def chart(answer: pa.Table) -> alt.Chart:
    """Draw: jobs by event."""
    import altair as alt

    rows = answer.to_pylist()
    return (
        charts.base(rows, title="Jobs by event")
        .mark_bar()
        .encode(
            x=alt.X("n_jobs:Q", title="jobs"),
            y=alt.Y("type:N", title=None, sort="-x"),
            tooltip=charts.tooltips(rows),
        )
    )


CLAIMS = [
    Claim(
        "JE-finish",
        statement="most jobs finish",
        source="count over the job events of 2011",
        kind="criterion",
        scope=OF_2011,
        measure=sql(
            """
            select
                sum(if(type = 'FINISH', n_jobs, 0))
                    / nullif(sum(if(type = 'any', n_jobs, 0)), 0)
            from answer
            """,
            otherwise="there is no job",
        ),
        criterion=above(0.5, published=0.574),
    ),
    Claim(
        "JE-kill",
        statement="two jobs in five are killed",
        source="count over the job events of 2011",
        kind="criterion",
        scope=OF_2011,
        measure=sql(
            """
            select
                sum(if(type = 'KILL', n_jobs, 0)) / nullif(sum(if(type = 'any', n_jobs, 0)), 0)
            from answer
            """,
            otherwise="there is no job",
        ),
        criterion=near(0.405, within=0.05),
    ),
    Claim(
        "JE-fail",
        statement="few jobs fail",
        source="count over the job events of 2011",
        kind="criterion",
        scope=OF_2011,
        measure=sql(
            """
            select
                sum(if(type = 'FAIL', n_jobs, 0)) / nullif(sum(if(type = 'any', n_jobs, 0)), 0)
            from answer
            """,
            otherwise="there is no job",
        ),
        criterion=at_most(0.03, published=0.015),
    ),
    Claim(
        "JE-jobs",
        statement="jobs",
        source="count over the job events of 2011",
        kind="criterion",
        scope=MONTH_2011,
        measure=sql(
            "select sum(n_jobs) from answer where type = 'any'",
            otherwise="there is no job",
        ),
        criterion=equals(672_074),
    ),
]

QUESTION = Question(
    name="job_events",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["collection_events"],
    reference="2011 format document, job events table",
)
