"""What does each scheduler handle?

Collections by scheduler, tier and type; how many were held in the batch queue, and how many
finished on their own (FINISH). Scheduler and priority are the last ones known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared.attempts import is_within
from borgtrace.analyses.shared.joins import last_known, lookup
from borgtrace.analyses.shared.windows import tier
from borgtrace.question import Answer, Claim, Column, Question, Tables, above, charts, sql
from borgtrace.question.scopes import OF_2019

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="scheduler, tier and type",
    key=[
        Column("scheduler", "string", "enum", "DEFAULT, BATCH or unknown."),
        Column("tier", "string", "id", "Tier of the collections."),
        Column("collection_type", "string", "enum", "JOB or ALLOC_SET."),
    ],
    columns=[
        Column("n_collections", "int64", "count", "Collections."),
        Column("n_queued", "int64", "count", "Collections that were queued."),
        Column("n_finished", "int64", "count", "Collections that ended by FINISH."),
    ],
)


def compute(tables: Tables) -> ir.Table:
    """Return the number of collections per scheduler, tier and type."""
    tables.require_published("schedulers", column="scheduler")
    events = tables.collection_events
    has_finished = (events.type == "FINISH") & is_within(events.time)
    collections = events.group_by("collection_id").aggregate(
        collection_type=events.collection_type.max(),
        # An event of the type at any time: a queued collection is enabled later.
        is_queued=(events.type == "QUEUE").cast("int64").max(),
        is_finished=has_finished.cast("int64").max(),
    )
    # Events may change both columns, and some events leave them out.
    for column in ("scheduler", "priority"):
        collections = lookup(collections, last_known(events, column), ["collection_id"])
    collections = collections.mutate(
        scheduler=collections.scheduler.fill_null("unknown"),
        tier=tier(tables, collections.priority),
    )
    return collections.group_by(["scheduler", "tier", "collection_type"]).aggregate(
        n_collections=collections.count(),
        n_queued=collections.is_queued.sum().cast("int64"),
        n_finished=collections.is_finished.sum().cast("int64"),
    )


def chart(answer: pa.Table) -> alt.Chart:
    """Draw how many collections of each tier each scheduler handles."""
    import altair as alt

    rows = answer.to_pylist()
    return (
        charts.base(rows, title="Collections by tier and scheduler", height=120)
        .mark_bar()
        .encode(
            x=alt.X("sum(n_collections):Q", title="collections"),
            y=alt.Y("tier:N", title=None),
            color=alt.Color("scheduler:N", title="scheduler"),
            tooltip=charts.tooltips(
                rows, "sum(n_collections)", "tier", "scheduler", "sum(n_queued)", "sum(n_finished)"
            ),
        )
    )


CLAIMS = [
    Claim(
        "TIR-batch-beb",
        statement="most of what the batch scheduler handles is best-effort batch",
        source="Tirmazi et al., EuroSys'20",
        scope=OF_2019,
        measure=sql(
            """
            select sum(if(tier = 'beb', n_collections, 0)) / nullif(sum(n_collections), 0)
            from answer
            where scheduler = 'BATCH'
            """,
            otherwise="no collection is handled by the batch scheduler",
        ),
        criterion=above(0.5, published="its tier"),
    ),
]

QUESTION = Question(
    name="schedulers",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["collection_events"],
    reference="Tirmazi et al., EuroSys'20",
)
