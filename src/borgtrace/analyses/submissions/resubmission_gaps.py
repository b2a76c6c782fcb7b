"""What happens after an attempt ends: is the task submitted again, and how soon?

One row per way to end and tier: attempts that ended, those that were followed by another attempt, and
quantiles of the gap between the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from borgtrace.analyses.shared.attempts import is_known, of_jobs
from borgtrace.analyses.shared.quantiles import fetch_counts
from borgtrace.analyses.shared.windows import tier
from borgtrace.engine.identifiers import literal
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    Measure,
    NotApplicable,
    Question,
    Row,
    Tables,
    at_least,
    at_most,
    charts,
    near,
    query_answer,
    sql,
)
from borgtrace.question.scopes import OF_2011

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="way to end and tier",
    key=[
        Column("end_type", "enum", "enum", "How the attempt ended.", enum="event_type"),
        Column("tier", "string", "id", "Tier of the attempt."),
    ],
    columns=[
        Column("n", "int64", "count", "Attempts that ended this way."),
        Column("n_again", "int64", "count", "Of these, followed by another attempt."),
        Column(
            "gap_p50", "float64", "s", "Gap to the next attempt, 50th percentile.", nullable=True
        ),
        Column(
            "gap_p90", "float64", "s", "Gap to the next attempt, 90th percentile.", nullable=True
        ),
        Column(
            "gap_p99", "float64", "s", "Gap to the next attempt, 99th percentile.", nullable=True
        ),
    ],
)


GAP_PERCENTS = (50.0, 90.0, 99.0)
NEVER = -1
"""Stands for "not submitted again" while gaps are counted."""


def compute(tables: Tables) -> list[Row]:
    """Return how often and how soon tasks are submitted again."""
    attempts = of_jobs(tables.instance_attempts)
    # What ended before the trace may have been submitted again before it too.
    has_ended = attempts.end_type.notnull() & is_known(attempts.end_time)
    ended = attempts.filter(has_ended).mutate(tier=tier(tables, attempts.priority))
    # A number for "never": `counts` leaves NULLs out, and these attempts are the denominator.
    gap = (ended.next_time - ended.end_time).fill_null(NEVER)
    groups = fetch_counts(tables, ended, gap, "gaps", ("end_type", "tier"))
    if not groups:
        raise NotApplicable("no attempt ended within the trace")
    rows = []
    for (end_type, tier_name), gaps in groups.items():
        gaps_of_resubmitted = gaps.where(gaps.values != NEVER)
        rows.append(
            {
                "end_type": end_type,
                "tier": tier_name,
                "n": len(gaps),
                "n_again": len(gaps_of_resubmitted),
                **gaps_of_resubmitted.per(1e6).columns("gap_p", GAP_PERCENTS),
            }
        )
    return rows


def chart(answer: pa.Table) -> alt.Chart:
    """Draw which share of the attempts is repeated, by how they ended."""
    import altair as alt

    rows = query_answer(answer, "select *, n_again / n as share from answer")
    return (
        charts.base(rows, title="Attempts that are repeated")
        .mark_bar()
        .encode(
            x=alt.X("end_type:N", title="end of the attempt"),
            y=alt.Y("share:Q", title="share submitted again"),
            xOffset="tier:N",
            color=charts.tier_color(rows),
            tooltip=charts.tooltips(rows),
        )
    )


def share_resubmitted(end_type: str) -> Measure:
    """Measure which share of the attempts with an end is followed by another attempt."""
    return sql(
        f"""
        select sum(n_again) / nullif(sum(n), 0)
        from answer
        where end_type = {literal(end_type)}
        """,
        otherwise=f"no attempt ended by {end_type}",
    )


CLAIMS = [
    Claim(
        "DOC-evict-again",
        statement="at least 99 % of the evicted tasks are resubmitted",
        source="count over the first 19.65 h of 2011",
        kind="criterion",
        scope=OF_2011,
        measure=share_resubmitted("EVICT"),
        criterion=at_least(0.99, published=0.9998),
    ),
    # The largest median of the tiers.
    Claim(
        "DOC-at-once",
        statement="evicted tasks are submitted again immediately (median gap, s)",
        source="2011 format document, job and task life cycles",
        kind="criterion",
        scope=OF_2011,
        measure=sql(
            "select max(gap_p50) from answer where end_type = 'EVICT'",
            otherwise="no evicted task is submitted again",
        ),
        criterion=at_most(1.0, published="immediately"),
    ),
    Claim(
        "TE-fail-again",
        statement="about 95 % of the failed tasks are resubmitted",
        source="count over the first 19.65 h of 2011",
        kind="criterion",
        scope=OF_2011.needing(days=28),
        measure=share_resubmitted("FAIL"),
        criterion=near(0.948, within=0.05),
    ),
    Claim(
        "TE-kill-again",
        statement="a third of the killed tasks are resubmitted",
        source="count over the first 19.65 h of 2011",
        kind="criterion",
        scope=OF_2011.needing(days=7, tasks=5_000),
        measure=share_resubmitted("KILL"),
        criterion=near(0.351, within=0.1),
    ),
]

QUESTION = Question(
    name="resubmission_gaps",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["instance_events"],
    reference="2011 format document, job and task life cycles",
)
