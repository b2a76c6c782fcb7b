"""How long do jobs wait in the batch queue?

From the first QUEUE to the last ENABLE of an attempt of a job. Bins double from one second; the
first also holds what was enabled at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared.attempts import is_known, of_jobs
from borgtrace.analyses.shared.histograms import bin_up_to, cumulative_share
from borgtrace.analyses.shared.joins import last_known, lookup
from borgtrace.analyses.shared.windows import tier
from borgtrace.question import Answer, Claim, Column, Question, Tables, at_least, charts, sql
from borgtrace.question.scopes import OF_2019
from borgtrace.schema.time import SECOND

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="scheduler, tier and delay",
    key=[
        Column("scheduler", "string", "enum", "Scheduler of the job."),
        Column("tier", "string", "id", "Tier of the job."),
        Column("at_most", "int64", "s", "Longest delay of the bin."),
    ],
    columns=[
        Column("n_attempts", "int64", "count", "Attempts with such a delay."),
        Column(
            "share",
            "float64",
            "fraction",
            "Share of the attempts of this scheduler and tier up to here.",
        ),
    ],
)


EDGES = tuple(2**k for k in range(22))
"""Upper edges of the bins, s; the last (24 days) holds all above."""


def compute(tables: Tables) -> ir.Table:
    """Return the distribution of the delay from QUEUE to ENABLE."""
    tables.require_published("QUEUE and ENABLE", event="QUEUE")
    attempts = of_jobs(tables.collection_attempts)
    # A delay that began before the trace is unknown; where ENABLE comes first, the ENABLE of this QUEUE is lost.
    has_times = is_known(attempts.queue_time) & is_known(attempts.enable_time)
    attempts = attempts.filter(has_times & (attempts.enable_time >= attempts.queue_time))
    # A left join: a collection whose events name no scheduler stays, as unknown.
    schedulers = last_known(tables.collection_events, "scheduler")
    attempts = lookup(attempts, schedulers, ["collection_id"])
    delays = attempts.select(
        scheduler=attempts.scheduler.fill_null("unknown"),
        tier=tier(tables, attempts.priority),
        at_most=bin_up_to(attempts.enable_time - attempts.queue_time, EDGES, SECOND),
    )
    by_bin = delays.group_by(["scheduler", "tier", "at_most"])
    counts = by_bin.aggregate(n_attempts=delays.count())
    return counts.mutate(
        share=cumulative_share(counts, "n_attempts", "at_most", ["scheduler", "tier"])
    )


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the distribution of the delay for each scheduler and tier."""
    import altair as alt

    rows = answer.to_pylist()
    return (
        charts.base(rows, title="Delay from QUEUE to ENABLE")
        .mark_line(point=True)
        .encode(
            x=alt.X("at_most:Q", title="delay at most", **charts.duration_scale(type="log")),
            y=alt.Y("share:Q", title="share of attempts", scale=alt.Scale(domain=[0, 1])),
            color=charts.tier_color(rows),
            strokeDash=alt.StrokeDash("scheduler:N", title="scheduler"),
            tooltip=charts.tooltips(rows),
        )
    )


CLAIMS = [
    Claim(
        "V3-batch-queue",
        statement="queued jobs are handled by the batch scheduler (99 % or more of them)",
        source="2019 format document (batch queueing)",
        scope=OF_2019,
        measure=sql(
            """
            select sum(if(scheduler = 'BATCH', n_attempts, 0)) / nullif(sum(n_attempts), 0)
            from answer
            """,
            otherwise="no job was queued",
        ),
        criterion=at_least(0.99, published="all"),
    ),
]

QUESTION = Question(
    name="queueing",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["collection_events"],
    reference="2019 format document (QUEUE, ENABLE)",
)
