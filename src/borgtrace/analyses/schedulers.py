"""What does each scheduler handle?

Collections by scheduler, tier and type; how many were held in the batch queue, and how many have
ended by themselves (FINISH). Scheduler and priority are the last ones known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses._dependencies import require_2019
from borgtrace.analyses._windows import tier
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

RESULT = Table(
    "schedulers",
    "scheduler, tier and type",
    ("scheduler", "tier", "collection_type"),
    (
        Column("scheduler", "string", "enum", "DEFAULT, BATCH or unknown.", nullable=False),
        Column("tier", "string", "id", "Tier of the collections.", nullable=False),
        Column("collection_type", "string", "enum", "JOB or ALLOC_SET.", nullable=False),
        Column("n_collections", "int64", "count", "Collections.", nullable=False),
        Column("n_queued", "int64", "count", "Collections that were queued.", nullable=False),
        Column("n_finished", "int64", "count", "Collections that ended by FINISH.", nullable=False),
    ),
)


def compute(tables: Tables) -> ir.Table:
    """Return the number of collections per scheduler, tier and type."""
    require_2019(tables, "schedulers")
    events = tables.collection_events
    collections = events.group_by("collection_id").aggregate(
        scheduler=events.scheduler.max(),
        priority=events.priority.max(),
        collection_type=events.collection_type.max(),
        is_queued=(events.type == "QUEUE").cast("int64").max(),
        is_finished=(events.type == "FINISH").cast("int64").max(),
    )
    rows = collections.mutate(
        scheduler=collections.scheduler.fill_null("unknown"), tier=tier(collections.priority, "2019")
    )
    return rows.group_by(["scheduler", "tier", "collection_type"]).aggregate(
        n_collections=rows.count(),
        n_queued=rows.is_queued.sum().cast("int64"),
        n_finished=rows.is_finished.sum().cast("int64"),
    )


def plot(result: pa.Table) -> alt.Chart:
    """Draw collections per tier, coloured by scheduler."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, rows

    chart: alt.Chart = (
        alt.Chart(rows(result), title="Collections by tier and scheduler")
        .mark_bar()
        .encode(
            x=alt.X("sum(n_collections):Q", title="collections"),
            y=alt.Y("tier:N", title=None),
            color=alt.Color("scheduler:N"),
            tooltip=["scheduler:N", "tier:N", "sum(n_collections):Q", "sum(n_queued):Q", "sum(n_finished):Q"],
        )
        .properties(width=WIDTH, height=HEIGHT // 2)
    )
    return chart


def _batch_is_beb(result: pa.Table) -> float:
    rows = [row for row in result.to_pylist() if row["scheduler"] == "BATCH"]
    total = sum(row["n_collections"] for row in rows)
    if not total:
        raise NotApplicable("no collection is handled by the batch scheduler")
    return float(sum(row["n_collections"] for row in rows if row["tier"] == "beb") / total)


CLAIMS = (
    Claim(
        "TIR-batch-beb",
        "the batch scheduler handles the best-effort batch tier",
        "its tier",
        _batch_is_beb,
        lambda v: v >= 0.5,
        "Tirmazi et al., EuroSys'20",
    ),
)

RECIPE = Recipe(
    "schedulers",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("collection_events",),
    reference="Tirmazi et al., EuroSys'20",
    order=123,
    topic="Dependencies and limits",
)
