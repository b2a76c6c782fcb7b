"""How long do jobs wait until the first of their tasks runs?

From the moment a job is ready (2019: its first ENABLE, that is when no queue and no other job holds it back; 2011: its
first SUBMIT) to the first SCHEDULE of one of its tasks. Jobs that were ready before the trace, or ran before they were
ready, are left out. The tier is that of the highest priority of its tasks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared.attempts import is_inside, of_jobs
from borgtrace.analyses.shared.quantiles import (
    NOTHING,
    PERCENTS,
    Curve,
    fetch_counts,
    percents_of_curve,
)
from borgtrace.analyses.shared.windows import tier
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    Question,
    Row,
    Tables,
    below,
    charts,
    sql,
)
from borgtrace.question.scopes import OF_2019

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="tier and percentile",
    key=[
        Column("tier", "string", "id", "Tier of the jobs, or all."),
        Column("percent", "float64", "1", "Percentile; 100 is the maximum."),
    ],
    columns=[
        Column("seconds", "float64", "s", "Time from ready to the first running task."),
        Column("mean", "float64", "s", "Mean of the tier."),
        Column("n", "int64", "count", "Jobs of the tier."),
    ],
)


REPORTED_PERCENTS = (*PERCENTS, 100.0)


def compute(tables: Tables, *, curve: Curve = "few") -> list[Row]:
    """Return quantiles of the delays, for all jobs and per tier.

    Parameters
    ----------
    tables
        The store's tables.
    curve
        At how many percentiles: ``"few"`` for a table, ``"full"`` for every tenth of a percent.
    """
    percents = percents_of_curve(REPORTED_PERCENTS, curve)
    jobs = first_runs(tables).inner_join(ready_times(tables), "collection_id")
    # After the minimum: a job that was enabled before the trace is not ready at its second ENABLE within it.
    jobs = jobs.filter(is_inside(jobs.ready_time) & (jobs.run_time >= jobs.ready_time))
    jobs = jobs.select(delay=jobs.run_time - jobs.ready_time, tier=tier(tables, jobs.priority))
    tiers = fetch_counts(tables, jobs, jobs.delay, "delays", ["tier"], per=1e6)
    if not tiers:
        raise NotApplicable("no job gets ready and runs within the trace")
    all_jobs = sum(tiers.values(), NOTHING)
    rows = []
    for (tier_name,), delays in {("all",): all_jobs, **tiers}.items():
        rows += delays.rows(percents, tier=tier_name, mean=delays.mean(), n=len(delays))
    return rows


def ready_times(tables: Tables) -> ir.Table:
    """Return when each job gets ready: at its first ENABLE, or SUBMIT where the format has no ENABLE."""
    has_enable = "ENABLE" in tables.dialect.codes["event_type"].values()
    events = of_jobs(tables.collection_events)
    events = events.filter(events.type == ("ENABLE" if has_enable else "SUBMIT"))
    return events.group_by("collection_id").aggregate(ready_time=events.time.min())


def first_runs(tables: Tables) -> ir.Table:
    """Return when the first task of each job runs, and the highest priority of its tasks that ran."""
    attempts = of_jobs(tables.instance_attempts)
    attempts = attempts.filter(attempts.schedule_time.notnull())
    return attempts.group_by("collection_id").aggregate(
        run_time=attempts.schedule_time.min(), priority=attempts.priority.max()
    )


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the distribution of the delays, by tier."""
    import altair as alt

    rows = answer.to_pylist()
    return (
        charts.base(rows, title="Time from ready to the first running task")
        .mark_line(**charts.steps(rows))
        .encode(
            x=alt.X(
                "seconds:Q",
                title="time from ready to the first running task",
                **charts.duration_scale(),
            ),
            y=alt.Y("percent:Q", title="percent of jobs"),
            color=charts.tier_color(rows),
            tooltip=charts.tooltips(rows, "seconds", "percent", "tier", "n"),
        )
    )


CLAIMS = [
    Claim(
        "TIR-delay-production",
        statement="production jobs start sooner than best-effort ones",
        source="Tirmazi et al., EuroSys'20 (scheduling delay)",
        kind="criterion",
        scope=OF_2019,
        measure=sql(
            """
            select
                production - beb,
                if(production is null, 'no production job starts', 'no beb job starts')
            from (
                select
                    max(seconds) filter (tier = 'production') as production,
                    max(seconds) filter (tier = 'beb') as beb
                from answer
                where percent = 50
            )
            """
        ),
        criterion=below(0.0, published="production waits less (median difference < 0 s)"),
    ),
]

QUESTION = Question(
    name="job_delay",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["collection_events", "instance_events"],
    reference="Tirmazi et al., Borg: the Next Generation, EuroSys'20 (scheduling delay)",
)
