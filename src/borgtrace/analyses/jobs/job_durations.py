"""How long do jobs last?

Quantiles of the time from the first SCHEDULE (after the start of the trace) to the last end of a job, of
all jobs and by the way they ended.
"""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared.attempts import is_known, is_within, of_jobs
from borgtrace.analyses.shared.quantiles import PERCENTS, Curve, fetch_counts, percents_of_curve
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    Question,
    Row,
    Tables,
    above,
    charts,
    near,
    sql,
)
from borgtrace.question.scopes import LIKE_2011
from borgtrace.schema import TERMINAL_EVENTS

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="way to end and percentile",
    key=[
        Column("end_type", "string", "id", "Last end of the job, or all."),
        Column("percent", "float64", "1", "Percentile; 0 and 100 are the extremes."),
    ],
    columns=[
        Column("seconds", "float64", "s", "Time from the first SCHEDULE to the last end."),
        Column("mean", "float64", "s", "Mean of the group."),
        Column("under_3min", "float64", "1", "Share of the group that lasts less than 3 minutes."),
        Column("under_2h", "float64", "1", "Share of the group that lasts less than 2 hours."),
        Column("n", "int64", "count", "Jobs of the group."),
    ],
)


ALL = "all"
THREE_MINUTES = 180
TWO_HOURS = 7200


def compute(tables: Tables, *, curve: Curve = "few") -> list[Row]:
    """Return quantiles of job durations.

    Parameters
    ----------
    tables
        The store's tables.
    curve
        At how many percentiles: ``"few"`` for a table, ``"full"`` for every tenth of a percent.
    """
    percents = percents_of_curve((0.0, *PERCENTS, 100.0), curve)
    jobs = job_durations(of_jobs(tables.collection_attempts))
    groups = fetch_counts(tables, jobs, jobs.duration, "durations", ("end_type",), per=1e6)
    if not groups:
        raise NotApplicable("no job is scheduled and ends within the trace")
    # All jobs are the sum of the ways to end: counted once.
    all_jobs = reduce(add, groups.values())
    rows = []
    for (end_type,), durations in {(ALL,): all_jobs, **groups}.items():
        rows += durations.rows(
            percents,
            end_type=end_type,
            mean=durations.mean(),
            under_3min=durations.share_below(THREE_MINUTES),
            under_2h=durations.share_below(TWO_HOURS),
            n=len(durations),
        )
    return rows


def job_durations(attempts: ir.Table) -> ir.Table:
    """Return one row per job: from its first SCHEDULE within the trace to its last end."""
    end = attempts.end_time
    has_ended = is_within(attempts.end_time)
    # EVICT and LOST are ends too: 666,432 jobs of 2011 have a duration then, 666,396 without them.
    last_ends = {
        end_type: end.max(where=has_ended & (attempts.end_type == end_type))
        for end_type in TERMINAL_EVENTS
    }
    jobs = attempts.group_by("collection_id").aggregate(
        begin=attempts.schedule_time.min(where=is_known(attempts.schedule_time)),
        end=end.max(where=has_ended),
        **last_ends,
    )
    # The way to end is that of the last end; among ends of one time the order of TERMINAL_EVENTS decides.
    end_type = ibis.cases(*((jobs[name] == jobs.end, name) for name in TERMINAL_EVENTS))
    jobs = jobs.select("begin", "end", end_type=end_type)
    # An id that is used again may have its last end before its only SCHEDULE within the trace.
    jobs = jobs.filter(jobs.begin.notnull() & jobs.end.notnull() & (jobs.end >= jobs.begin))
    return jobs.select("end_type", duration=jobs.end - jobs.begin)


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the distribution of the durations, by how jobs end."""
    import altair as alt

    rows = answer.to_pylist()
    return (
        charts.base(rows, title="Job durations")
        .mark_line(**charts.steps(rows))
        .encode(
            x=alt.X(
                "seconds:Q", title="from first SCHEDULE to last end", **charts.duration_scale()
            ),
            y=alt.Y("percent:Q", title="percent of jobs"),
            color=alt.Color("end_type:N", title="end"),
            tooltip=charts.tooltips(rows),
        )
    )


CLAIMS = [
    Claim(
        "R12-half",
        statement="half of all jobs last less than 3 minutes",
        source="Reiss et al., SoCC'12",
        scope=LIKE_2011.needing(days=28),
        measure=sql(
            "select under_3min from answer where end_type = 'all'",
            otherwise="no job ends",
        ),
        criterion=near(0.5, within=0.05, published="≈ 0.5"),
    ),
    Claim(
        "R12-2h",
        statement="more than 95 % of jobs last less than 2 hours",
        source="Reiss et al., SoCC'12",
        scope=LIKE_2011.needing(days=7, tasks=5_000),
        measure=sql(
            "select under_2h from answer where end_type = 'all'",
            otherwise="no job ends",
        ),
        criterion=above(0.95),
    ),
]

QUESTION = Question(
    name="job_durations",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["collection_events"],
    reference="Reiss et al., SoCC'12, section 4",
)
