"""How long do jobs wait in the batch queue?

From the first QUEUE to the last ENABLE of an attempt of a job. Bins double from one second; the
first also holds what was enabled at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses._dependencies import require_2019
from borgtrace.analyses._lookup import lookup
from borgtrace.analyses._windows import tier
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table
from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE, SECOND

if TYPE_CHECKING:
    import altair as alt

EDGES = tuple(2**k for k in range(22))
"""Upper edges of the bins, s; the last (24 days) holds all above."""
RESULT = Table(
    "queueing",
    "scheduler, tier and delay",
    ("scheduler", "tier", "at_most"),
    (
        Column("scheduler", "string", "enum", "Scheduler of the job.", nullable=False),
        Column("tier", "string", "id", "Tier of the job.", nullable=False),
        Column("at_most", "int64", "s", "Longest delay of the bin.", nullable=False),
        Column("n_attempts", "int64", "count", "Attempts with such a delay.", nullable=False),
        Column(
            "share",
            "float64",
            "fraction",
            "Share of the attempts of this scheduler and tier up to here.",
            nullable=False,
        ),
    ),
)


def compute(tables: Tables) -> ir.Table:
    """Return the distribution of the delay from QUEUE to ENABLE."""
    require_2019(tables, "QUEUE and ENABLE")
    attempts = tables.collection_attempts
    both = (attempts.queue_time > BEFORE_TRACE) & (attempts.enable_time >= attempts.queue_time)
    queued = attempts.filter(both & (attempts.enable_time < AFTER_TRACE) & (attempts.collection_type == "JOB"))
    events = tables.collection_events
    schedulers = events.group_by("collection_id").aggregate(scheduler=events.scheduler.max())
    rows = lookup(queued, schedulers, ["collection_id"])
    delay = rows.enable_time - rows.queue_time
    bins = [(delay <= edge * SECOND, ibis.literal(edge, "int64")) for edge in EDGES[:-1]]
    rows = rows.select(
        scheduler=rows.scheduler.fill_null("unknown"),
        tier=tier(rows.priority, "2019"),
        at_most=ibis.cases(*bins, else_=ibis.literal(EDGES[-1], "int64")),
    )
    counts = rows.group_by(["scheduler", "tier", "at_most"]).aggregate(n_attempts=rows.count())
    upto = ibis.cumulative_window(group_by=["scheduler", "tier"], order_by="at_most")
    everything = ibis.window(group_by=["scheduler", "tier"])
    total = counts.n_attempts.sum().over(everything).cast("float64")
    return counts.mutate(share=counts.n_attempts.sum().over(upto).cast("float64") / total)


def plot(result: pa.Table) -> alt.Chart:
    """Draw the cumulative delay per tier."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, duration_axis, rows, tier_colour

    chart: alt.Chart = (
        alt.Chart(rows(result), title="From QUEUE to ENABLE")
        .mark_line(point=True)
        .encode(
            x=alt.X("at_most:Q", scale=alt.Scale(type="log"), axis=duration_axis(), title="delay at most"),
            y=alt.Y("share:Q", scale=alt.Scale(domain=[0, 1]), title="share of attempts"),
            color=tier_colour(result["tier"].to_pylist()),
            strokeDash=alt.StrokeDash("scheduler:N"),
            tooltip=["scheduler:N", "tier:N", "at_most:Q", "share:Q", "n_attempts:Q"],
        )
        .properties(width=WIDTH, height=HEIGHT)
    )
    return chart


def _batch(result: pa.Table) -> float:
    rows = result.to_pylist()
    total = sum(row["n_attempts"] for row in rows)
    if not total:
        raise NotApplicable("no job was queued")
    return float(sum(row["n_attempts"] for row in rows if row["scheduler"] == "BATCH") / total)


CLAIMS = (
    Claim(
        "V3-batch-queue",
        "what is queued is handled by the batch scheduler",
        "all",
        _batch,
        lambda v: v >= 0.99,
        "2019 format document (batch queueing)",
    ),
)

RECIPE = Recipe(
    "queueing",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("collection_events",),
    reference="2019 format document (QUEUE, ENABLE)",
    order=122,
    topic="Dependencies and limits",
)
