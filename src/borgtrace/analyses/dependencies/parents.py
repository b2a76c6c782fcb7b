"""Do jobs end when their parent ends?

A collection may name a parent whose end also ends it. Jobs are counted by how their last attempt
ended, with and without a parent; of those with one, *after parent* counts the ends within `delay`
seconds after an end of the parent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared.attempts import collection_ends, is_known, of_jobs
from borgtrace.analyses.shared.joins import lookup
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    Question,
    Tables,
    charts,
    near,
    query_answer,
    sql,
)
from borgtrace.question.scopes import OF_2019
from borgtrace.schema.bounds import Bounds
from borgtrace.schema.time import DAY, SECOND, Seconds

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="parent and way of ending",
    key=[
        Column("has_parent", "bool", "1", "Whether the job names a parent."),
        Column(
            "end_type", "string", "enum", "How the job ended, NONE where it was alive at the end."
        ),
    ],
    columns=[
        Column("n_jobs", "int64", "count", "Jobs."),
        Column("n_after_parent", "int64", "count", "Jobs that ended just after their parent."),
    ],
)


def compute(
    tables: Tables, *, delay: Annotated[Seconds, Bounds(0, 366 * DAY // SECOND)] = 60
) -> ir.Table:
    """Return how jobs ended, with and without a parent."""
    tables.require_published("parents", column="parent_collection_id")
    events = of_jobs(tables.collection_events)
    # Every event repeats the parent, unless info is missing: max() ignores NULLs.
    jobs = events.group_by("collection_id").aggregate(parent_id=events.parent_collection_id.max())
    ends = collection_ends(tables.collection_attempts)
    parents = ends.select(parent_id="collection_id", parent_end="end_time")
    jobs = lookup(lookup(jobs, ends, ["collection_id"]), parents, ["parent_id"])
    # Negative where the parent ended later.
    delay_after_parent = jobs.end_time - jobs.parent_end
    # Sentinels are no times that could be compared.
    has_times = is_known(jobs.end_time) & is_known(jobs.parent_end)
    is_after_parent = delay_after_parent.between(0, delay * SECOND) & has_times
    jobs = jobs.select(
        has_parent=jobs.parent_id.notnull(),
        end_type=jobs.end_type.fill_null("NONE"),
        is_after_parent=is_after_parent.fill_null(False),
    )
    return jobs.group_by(["has_parent", "end_type"]).aggregate(
        n_jobs=jobs.count(), n_after_parent=jobs.count(where=jobs.is_after_parent)
    )


def chart(answer: pa.Table) -> alt.Chart:
    """Draw how jobs end, with and without a parent."""
    import altair as alt

    rows = query_answer(
        answer,
        """
        select *, if(has_parent, 'with a parent', 'without a parent') as "group"
        from answer
        """,
    )
    return (
        charts.base(rows, title="How jobs end", height=90)
        .mark_bar()
        .encode(
            x=alt.X("n_jobs:Q", title="share of jobs", stack="normalize"),
            y=alt.Y("group:N", title=None),
            color=alt.Color("end_type:N", title="end"),
            tooltip=charts.tooltips(rows, "n_jobs", "group", "end_type", "n_after_parent"),
        )
    )


CLAIMS = [
    # Only of jobs that ended: those alive at the end may still end in any way.
    Claim(
        "TIR-killed-with-parent",
        statement="about 87 % of the jobs with a parent end by KILL",
        source="Tirmazi et al., EuroSys'20 (job dependencies)",
        scope=OF_2019,
        measure=sql(
            """
            select sum(if(end_type = 'KILL', n_jobs, 0)) / nullif(sum(n_jobs), 0)
            from answer
            where has_parent and end_type in ('EVICT', 'FAIL', 'FINISH', 'KILL', 'LOST')
            """,
            otherwise="no job with a parent has ended",
        ),
        criterion=near(0.87, within=0.05),
    ),
    Claim(
        "TIR-killed-without-parent",
        statement="about 41 % of the jobs without a parent end by KILL",
        source="Tirmazi et al., EuroSys'20 (job dependencies)",
        scope=OF_2019,
        measure=sql(
            """
            select sum(if(end_type = 'KILL', n_jobs, 0)) / nullif(sum(n_jobs), 0)
            from answer
            where not has_parent and end_type in ('EVICT', 'FAIL', 'FINISH', 'KILL', 'LOST')
            """,
            otherwise="no job without a parent has ended",
        ),
        criterion=near(0.41, within=0.05),
    ),
]

QUESTION = Question(
    name="parents",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["collection_events"],
    reference="Tirmazi et al., EuroSys'20 (job dependencies)",
)
