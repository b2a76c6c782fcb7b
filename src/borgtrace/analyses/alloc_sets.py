"""What are alloc sets used for?

Shares, each as n of: alloc sets among collections, jobs that run in one, production among these,
requests held by alloc instances (request × time, over all outermost requests), and how much of its
memory request a task uses inside and outside (time-weighted, over tasks with usage and a request).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses._dependencies import require_2019
from borgtrace.analyses._windows import amount, regular, tier
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table
from borgtrace.schema.time import AFTER_TRACE, SECOND, TRACE_START

if TYPE_CHECKING:
    import altair as alt

_BITS = 10
QUANTITIES = {
    "collections": "alloc sets among collections",
    "jobs_inside": "jobs that run in alloc sets",
    "production_inside": "production among the jobs in alloc sets",
    "cpu_allocated": "CPU requests held by alloc sets",
    "memory_allocated": "memory requests held by alloc sets",
    "memory_used_inside": "memory used of the request, in alloc sets",
    "memory_used_outside": "memory used of the request, outside",
}
RESULT = Table(
    "alloc_sets",
    "quantity",
    ("quantity",),
    (
        Column("quantity", "string", "id", "What is told.", nullable=False),
        Column("n", "int64", "count", "Collections, or resource-seconds.", nullable=False),
        Column("of", "int64", "count", "Collections, or resource-seconds, in all.", nullable=False),
        Column("share", "float64", "fraction", "Share `n` ÷ `of`; NULL where there is nothing."),
    ),
)


def compute(tables: Tables) -> ir.Table:
    """Return the part that alloc sets play."""
    require_2019(tables, "alloc sets")
    rows = ibis.union(*_collections(tables), *_allocated(tables), *_memory(tables))
    return rows.mutate(share=rows.n.cast("float64") / rows["of"].cast("float64").nullif(0.0))


def _pair(source: ir.Table, name: str, n: ir.IntegerScalar, of: ir.IntegerScalar) -> ir.Table:
    counted = source.aggregate(n=n.fill_null(0).cast("int64"), of=of.fill_null(0).cast("int64"))
    return counted.select(quantity=ibis.literal(name), n="n", of="of")


def _collections(tables: Tables) -> list[ir.Table]:
    events = tables.collection_events
    rows = events.group_by("collection_id").aggregate(
        is_job=(events.collection_type == "JOB").cast("int64").max(),
        is_inside=events.alloc_collection_id.notnull().cast("int64").max(),
        tier=tier(events.priority.max(), "2019"),
    )
    job, inside = rows.is_job == 1, (rows.is_job == 1) & (rows.is_inside == 1)
    return [
        _pair(rows, "collections", rows.count(where=~job), rows.count()),
        _pair(rows, "jobs_inside", rows.count(where=inside), rows.count(where=job)),
        _pair(
            rows, "production_inside", rows.count(where=inside & (rows.tier == "production")), rows.count(where=inside)
        ),
    ]


def _allocated(tables: Tables) -> list[ir.Table]:
    """Return request × time of alloc instances over that of everything outermost."""
    attempts = tables.instance_attempts
    last = attempts.filter(attempts.begin_time < AFTER_TRACE).aggregate(
        last=ibis.greatest(
            attempts.begin_time.max(), attempts.left_time.max(where=attempts.left_time < AFTER_TRACE).fill_null(0)
        )
    )
    ran = attempts.filter(
        attempts.schedule_time.notnull()
        & (attempts.schedule_time < AFTER_TRACE)
        & attempts.alloc_collection_id.isnull()
    ).cross_join(last)
    until = ibis.least(ran.left_time.fill_null(AFTER_TRACE), ran.last)
    seconds = ibis.greatest(until - ibis.greatest(ran.schedule_time, TRACE_START), 0) // SECOND
    ran = ran.mutate(
        is_set=ran.collection_type == "ALLOC_SET",
        cpu=amount(ran.cpu_request.cast("float64").fill_null(0.0), seconds, _BITS),
        memory=amount(ran.memory_request.cast("float64").fill_null(0.0), seconds, _BITS),
    )
    return [
        _pair(ran, f"{name}_allocated", ran[name].sum(where=ran.is_set) // 2**_BITS, ran[name].sum() // 2**_BITS)
        for name in ("cpu", "memory")
    ]


def _memory(tables: Tables) -> list[ir.Table]:
    usage = regular(tables.instance_usage)
    usage = usage.filter((usage.collection_type == "JOB") & usage.average_memory.notnull())
    tasks = tables.tasks.filter(tables.tasks.memory_request > 0)
    key = ["collection_id", "instance_index"]
    rows = usage.select(*key, "seconds", "alloc_collection_id", "average_memory").inner_join(
        tasks.select(*key, "memory_request"), key
    )
    rows = rows.mutate(
        used=amount(rows.average_memory, rows.seconds, _BITS),
        asked=amount(rows.memory_request, rows.seconds, _BITS),
        is_inside=rows.alloc_collection_id.notnull(),
    )
    return [
        _pair(
            rows, f"memory_used_{place}", rows.used.sum(where=test) // 2**_BITS, rows.asked.sum(where=test) // 2**_BITS
        )
        for place, test in (("inside", rows.is_inside), ("outside", ~rows.is_inside))
    ]


def plot(result: pa.Table) -> alt.Chart:
    """Draw the shares."""
    import altair as alt

    from borgtrace.analyses._charts import WIDTH

    values = [{**row, "label": QUANTITIES[row["quantity"]]} for row in result.to_pylist() if row["share"] is not None]
    chart: alt.Chart = (
        alt.Chart(alt.Data(values=values), title="Alloc sets")
        .mark_bar()
        .encode(
            x=alt.X("share:Q", title="share"),
            y=alt.Y("label:N", title=None, sort=list(QUANTITIES.values()), axis=alt.Axis(labelLimit=300)),
            tooltip=["label:N", "n:Q", "of:Q", "share:Q"],
        )
        .properties(width=WIDTH, height=180)
    )
    return chart


def _share(result: pa.Table, quantity: str) -> float:
    for row in result.to_pylist():
        if row["quantity"] == quantity and row["share"] is not None:
            return float(row["share"])
    raise NotApplicable(f"nothing to take the share of: {QUANTITIES[quantity]}")


def _claim(quantity: str, published: float) -> Claim:
    """Judge one share: it holds within half of what is published."""
    return Claim(
        f"TIR-alloc-{quantity}",
        QUANTITIES[quantity],
        published,
        lambda r: _share(r, quantity),
        lambda v: 0.5 * published <= v <= 1.5 * published,
        "Tirmazi et al., EuroSys'20",
    )


CLAIMS = (
    _claim("collections", 0.02),
    _claim("cpu_allocated", 0.20),
    _claim("memory_allocated", 0.18),
    _claim("jobs_inside", 0.15),
    _claim("production_inside", 0.95),
    _claim("memory_used_inside", 0.73),
    _claim("memory_used_outside", 0.41),
)

RECIPE = Recipe(
    "alloc_sets",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("collection_events", "instance_events", "instance_usage", "tasks"),
    reference="Tirmazi et al., EuroSys'20 (alloc sets)",
    order=125,
    topic="Dependencies and limits",
)
