"""What are alloc sets used for?

Shares, each with its numerator and denominator: alloc sets among collections, jobs that run in an
alloc set, production jobs among these, requests held by alloc instances (request × time, over all
outermost requests), and how much of its memory request a task uses inside and outside alloc sets
(time-weighted, over tasks with usage and a request).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared.attempts import TASK, of_jobs, time_running
from borgtrace.analyses.shared.windows import RESOURCES, amount, outermost, regular, tier
from borgtrace.question import Answer, Claim, Column, Question, Tables, charts, near, sql
from borgtrace.question.scopes import OF_2019
from borgtrace.schema.time import AFTER_TRACE, SECOND

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="quantity",
    key=[Column("quantity", "string", "id", "What is counted.")],
    columns=[
        Column("n", "int64", "count", "Collections, or resource-seconds."),
        Column("of", "int64", "count", "Collections, or resource-seconds, in all."),
        Column(
            "share",
            "float64",
            "fraction",
            "Share `n` ÷ `of`; NULL where there is nothing.",
            nullable=True,
        ),
    ],
)


_BITS = 10
"""Binary digits of amounts here: requests of a whole cell over a whole month must fit into 63 bits."""


def compute(tables: Tables) -> ir.Table:
    """Return the part that alloc sets play."""
    tables.require_published("alloc sets", column="alloc_collection_id")
    rows = ibis.union(*_collections(tables), *_allocated(tables), *_memory(tables))
    return rows.mutate(share=rows.n.cast("float64") / rows["of"].cast("float64").nullif(0.0))


def _pair(source: ir.Table, name: str, n: ir.IntegerScalar, of: ir.IntegerScalar) -> ir.Table:
    counted = source.aggregate(n=n.fill_null(0).cast("int64"), of=of.fill_null(0).cast("int64"))
    return counted.select(quantity=ibis.literal(name), n="n", of="of")


def _collections(tables: Tables) -> list[ir.Table]:
    events = tables.collection_events
    rows = events.group_by("collection_id").aggregate(
        is_job=(events.collection_type == "JOB").cast("int64").max(),
        # Every event of a collection repeats its columns, but some are missing: one that names the alloc set is
        # enough.
        is_inside=events.alloc_collection_id.notnull().cast("int64").max(),
        tier=tier(tables, events.priority.max()),
    )
    job, inside = rows.is_job == 1, (rows.is_job == 1) & (rows.is_inside == 1)
    production = inside & (rows.tier == "production")
    return [
        _pair(rows, "collections", rows.count(where=~job), rows.count()),
        _pair(rows, "jobs_inside", rows.count(where=inside), rows.count(where=job)),
        _pair(rows, "production_inside", rows.count(where=production), rows.count(where=inside)),
    ]


def _allocated(tables: Tables) -> list[ir.Table]:
    """Return request × time of alloc instances over that of everything outermost."""
    attempts = tables.instance_attempts
    # The trace has no end of its own in the store: it lasts until the last thing that is known to have happened.
    left = attempts.left_time.max(where=attempts.left_time < AFTER_TRACE).fill_null(0)
    last = attempts.filter(attempts.begin_time < AFTER_TRACE).aggregate(
        # Filled with 0 above: on BigQuery greatest() of a NULL is NULL.
        last=ibis.greatest(attempts.begin_time.max(), left)
    )
    ran = outermost(attempts.filter(attempts.schedule_time < AFTER_TRACE)).cross_join(last)
    # What still runs at the end holds its request until then, so that long-lived alloc sets are not left out.
    seconds = time_running(ran) // SECOND
    held = {name: amount(ran[f"{name}_request"], seconds, _BITS).fill_null(0) for name in RESOURCES}
    ran = ran.mutate(is_set=ran.collection_type == "ALLOC_SET", **held)
    pairs = {name: (ran[name].sum(where=ran.is_set), ran[name].sum()) for name in RESOURCES}
    return [
        _pair(ran, f"{name}_allocated", n // 2**_BITS, of // 2**_BITS)
        for name, (n, of) in pairs.items()
    ]


def _memory(tables: Tables) -> list[ir.Table]:
    usage = of_jobs(regular(tables.instance_usage))
    usage = usage.filter(usage.average_memory.notnull())
    # The share of a request of 0 is no number.
    tasks = tables.tasks.filter(tables.tasks.memory_request > 0)
    windows = usage.select(*TASK, "seconds", "alloc_collection_id", "average_memory")
    rows = windows.inner_join(tasks.select(*TASK, "memory_request"), list(TASK))
    rows = rows.mutate(
        # Both sums over the same windows: the share is weighted by time, as the published one.
        used=amount(rows.average_memory, rows.seconds, _BITS),
        asked=amount(rows.memory_request, rows.seconds, _BITS),
        is_inside=rows.alloc_collection_id.notnull(),
    )
    places = {"inside": rows.is_inside, "outside": ~rows.is_inside}
    sums = {
        name: [rows[n].sum(where=test) for n in ("used", "asked")] for name, test in places.items()
    }
    return [
        _pair(rows, f"memory_used_{name}", n // 2**_BITS, of // 2**_BITS)
        for name, (n, of) in sums.items()
    ]


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the shares, each called by what is claimed about it."""
    import altair as alt

    labels = {claim.id.removeprefix("TIR-alloc-"): claim.statement for claim in CLAIMS}
    rows = [
        {**row, "label": labels.get(row["quantity"], row["quantity"])}
        for row in answer.to_pylist()
        if row["share"] is not None
    ]
    return (
        charts.base(rows, title="Alloc sets", height=180)
        .mark_bar()
        .encode(
            x=alt.X("share:Q", title="share"),
            y=alt.Y(
                "label:N",
                title=None,
                sort=list(labels.values()),
                axis=alt.Axis(labelLimit=300),
            ),
            tooltip=charts.tooltips(rows, "share", "label", "n", "of"),
        )
    )


_READS = ("collection_events", "instance_events", "instance_usage", "tasks")
CLAIMS = [
    Claim(
        "TIR-alloc-collections",
        statement="alloc sets among collections",
        source="Tirmazi et al., EuroSys'20 (alloc sets)",
        scope=OF_2019,
        measure=sql(
            "select share from answer where quantity = 'collections'",
            otherwise="nothing to take the share of: alloc sets among collections",
        ),
        criterion=near(0.02, within=0.005),
    ),
    Claim(
        "TIR-alloc-jobs_inside",
        statement="jobs that run in alloc sets",
        source="Tirmazi et al., EuroSys'20 (alloc sets)",
        scope=OF_2019,
        measure=sql(
            "select share from answer where quantity = 'jobs_inside'",
            otherwise="nothing to take the share of: jobs that run in alloc sets",
        ),
        criterion=near(0.15, within=0.02),
    ),
    Claim(
        "TIR-alloc-production_inside",
        statement="production among the jobs in alloc sets",
        source="Tirmazi et al., EuroSys'20 (alloc sets)",
        scope=OF_2019,
        measure=sql(
            """
            select share
            from answer
            where quantity = 'production_inside'
            """,
            otherwise="nothing to take the share of: production among the jobs in alloc sets",
        ),
        criterion=near(0.95, within=0.02),
    ),
    Claim(
        "TIR-alloc-cpu_allocated",
        statement="CPU requests held by alloc sets",
        source="Tirmazi et al., EuroSys'20 (alloc sets)",
        scope=OF_2019,
        measure=sql(
            "select share from answer where quantity = 'cpu_allocated'",
            otherwise="nothing to take the share of: CPU requests held by alloc sets",
        ),
        criterion=near(0.2, within=0.02),
    ),
    Claim(
        "TIR-alloc-memory_allocated",
        statement="memory requests held by alloc sets",
        source="Tirmazi et al., EuroSys'20 (alloc sets)",
        scope=OF_2019,
        measure=sql(
            """
            select share
            from answer
            where quantity = 'memory_allocated'
            """,
            otherwise="nothing to take the share of: memory requests held by alloc sets",
        ),
        criterion=near(0.18, within=0.02),
    ),
    Claim(
        "TIR-alloc-memory_used_inside",
        statement="memory used of the request, in alloc sets",
        source="Tirmazi et al., EuroSys'20 (alloc sets)",
        scope=OF_2019,
        measure=sql(
            """
            select share
            from answer
            where quantity = 'memory_used_inside'
            """,
            otherwise="nothing to take the share of: memory used of the request, in alloc sets",
        ),
        criterion=near(0.73, within=0.05),
    ),
    Claim(
        "TIR-alloc-memory_used_outside",
        statement="memory used of the request, outside",
        source="Tirmazi et al., EuroSys'20 (alloc sets)",
        scope=OF_2019,
        measure=sql(
            """
            select share
            from answer
            where quantity = 'memory_used_outside'
            """,
            otherwise="nothing to take the share of: memory used of the request, outside",
        ),
        criterion=near(0.41, within=0.05),
    ),
]

QUESTION = Question(
    name="alloc_sets",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=_READS,
    reference="Tirmazi et al., EuroSys'20 (alloc sets)",
)
