"""What happens to jobs?

One row per event type: how many such events there are, and how many jobs have one.  Alloc sets are left
out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared.attempts import of_jobs
from borgtrace.engine.identifiers import literal
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    Measure,
    Question,
    Tables,
    above,
    at_most,
    charts,
    equals,
    near,
    sql,
)
from borgtrace.question.scopes import CELL_2011, OF_2011

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


def compute(tables: Tables) -> ir.Table:
    """Return events and jobs per event type."""
    events = of_jobs(tables.collection_events)
    numbers = {"n_events": events.count(), "n_jobs": events.collection_id.nunique()}
    by_type = events.group_by("type").aggregate(**numbers)
    # Not the sum of the rows: a job has events of several types.
    total = events.aggregate(**numbers).mutate(type=ibis.literal(ANY))
    return by_type.union(total.select("type", "n_events", "n_jobs"))


def chart(answer: pa.Table) -> alt.Chart:
    """Draw how many jobs have an event of each type."""
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


NO_JOB = "there is no job"


def share_of_jobs(event_type: str) -> Measure:
    """Measure which share of the jobs has an event of a type."""
    return sql(
        f"""
        select
            sum(if(type = {literal(event_type)}, n_jobs, 0))
                / nullif(sum(if(type = 'any', n_jobs, 0)), 0)
        from answer
        """,
        otherwise=NO_JOB,
    )


CLAIMS = [
    Claim(
        "JE-finish",
        statement="most jobs finish",
        source="count over the job events of 2011",
        kind="criterion",
        scope=OF_2011.needing(days=28),
        measure=share_of_jobs("FINISH"),
        criterion=above(0.5, published=0.574),
    ),
    Claim(
        "JE-kill",
        statement="two jobs in five are killed",
        source="count over the job events of 2011",
        kind="criterion",
        scope=OF_2011.needing(days=7, tasks=5_000),
        measure=share_of_jobs("KILL"),
        criterion=near(0.405, within=0.05),
    ),
    Claim(
        "JE-fail",
        statement="few jobs fail",
        source="count over the job events of 2011",
        kind="criterion",
        scope=OF_2011.needing(days=7, tasks=5_000),
        measure=share_of_jobs("FAIL"),
        criterion=at_most(0.03, published=0.015),
    ),
    Claim(
        "JE-jobs",
        statement="jobs",
        source="count over the job events of 2011",
        kind="criterion",
        scope=CELL_2011,
        with_more_data="rises",
        measure=sql(
            "select sum(n_jobs) from answer where type = 'any'",
            otherwise=NO_JOB,
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
