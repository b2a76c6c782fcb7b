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
from borgtrace.engine.identifiers import literal
from borgtrace.question import Answer, Claim, Column, Measure, Question, Tables, charts, near, sql
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


BITS = 10
"""Binary digits of amounts here: requests of a whole cell over a whole month must fit into 63 bits."""
STATEMENTS = {
    "collections": "alloc sets among collections",
    "jobs_inside": "jobs that run in alloc sets",
    "production_inside": "production among the jobs in alloc sets",
    "cpu_allocated": "CPU requests held by alloc sets",
    "memory_allocated": "memory requests held by alloc sets",
    "memory_used_inside": "memory used of the request, in alloc sets",
    "memory_used_outside": "memory used of the request, outside",
}
"""What each quantity is a share of, in the order of the chart."""


def compute(tables: Tables) -> ir.Table:
    """Return the part that alloc sets play."""
    tables.require_published("alloc sets", column="alloc_collection_id")
    rows = ibis.union(
        *count_collections(tables), *sum_requests(tables), *sum_memory_of_jobs(tables)
    )
    return rows.mutate(share=rows.n.cast("float64") / rows["of"].cast("float64").nullif(0.0))


def row_of_quantity(
    source: ir.Table, quantity: str, n: ir.IntegerScalar, of: ir.IntegerScalar
) -> ir.Table:
    """Return the row of a quantity from two aggregates of a table."""
    sums = source.aggregate(n=n.fill_null(0).cast("int64"), of=of.fill_null(0).cast("int64"))
    return sums.select(quantity=ibis.literal(quantity), n="n", of="of")


def count_collections(tables: Tables) -> list[ir.Table]:
    """Return the rows that count alloc sets, and jobs inside them."""
    events = tables.collection_events
    collections = events.group_by("collection_id").aggregate(
        is_job=(events.collection_type == "JOB").cast("int64").max(),
        # Every event of a collection repeats its columns, but some are missing: one that names the alloc set is
        # enough.
        is_inside=events.alloc_collection_id.notnull().cast("int64").max(),
        tier=tier(tables, events.priority.max()),
    )
    is_job = collections.is_job == 1
    is_inside = is_job & (collections.is_inside == 1)
    is_production = is_inside & (collections.tier == "production")
    n_jobs = collections.count(where=is_job)
    n_inside = collections.count(where=is_inside)
    n_production = collections.count(where=is_production)
    n_alloc_sets = collections.count(where=~is_job)
    return [
        row_of_quantity(collections, "collections", n_alloc_sets, collections.count()),
        row_of_quantity(collections, "jobs_inside", n_inside, n_jobs),
        row_of_quantity(collections, "production_inside", n_production, n_inside),
    ]


def sum_requests(tables: Tables) -> list[ir.Table]:
    """Return request × time of alloc instances over that of everything outermost."""
    attempts = tables.instance_attempts
    started = outermost(attempts.filter(attempts.schedule_time < AFTER_TRACE))
    started = started.cross_join(last_time_of_attempts(attempts))
    # What still runs at the end holds its request until then, so that long-lived alloc sets are not left out.
    seconds = time_running(started) // SECOND
    started = started.mutate(
        is_alloc=started.collection_type == "ALLOC_SET",
        cpu=amount(started.cpu_request, seconds, BITS).fill_null(0),
        memory=amount(started.memory_request, seconds, BITS).fill_null(0),
    )
    rows = []
    for resource in RESOURCES:
        of_allocs = started[resource].sum(where=started.is_alloc)
        of_all = started[resource].sum()
        quantity = f"{resource}_allocated"
        rows.append(row_of_quantity(started, quantity, of_allocs // 2**BITS, of_all // 2**BITS))
    return rows


def last_time_of_attempts(attempts: ir.Table) -> ir.Table:
    """Return one row: the last time (``last``, µs) at which an attempt begins or is left.

    The store has no end of its trace: it lasts until the last thing that is known to have happened.
    """
    begun = attempts.filter(attempts.begin_time < AFTER_TRACE)
    last_left = begun.left_time.max(where=begun.left_time < AFTER_TRACE)
    # Filled with 0: on BigQuery greatest() of a NULL is NULL.
    return begun.aggregate(last=ibis.greatest(begun.begin_time.max(), last_left.fill_null(0)))


def sum_memory_of_jobs(tables: Tables) -> list[ir.Table]:
    """Return the memory used over the memory requested, of tasks inside alloc sets and outside."""
    usage = of_jobs(regular(tables.instance_usage))
    usage = usage.filter(usage.average_memory.notnull())
    # The share of a request of 0 is no number.
    tasks = tables.tasks.filter(tables.tasks.memory_request > 0)
    windows = usage.select(*TASK, "seconds", "alloc_collection_id", "average_memory")
    windows = windows.inner_join(tasks.select(*TASK, "memory_request"), list(TASK))
    windows = windows.mutate(
        # Both sums over the same windows: the share is weighted by time, as the published one.
        used=amount(windows.average_memory, windows.seconds, BITS),
        requested=amount(windows.memory_request, windows.seconds, BITS),
        is_inside=windows.alloc_collection_id.notnull(),
    )
    rows = []
    for place, condition in (("inside", windows.is_inside), ("outside", ~windows.is_inside)):
        used = windows.used.sum(where=condition)
        requested = windows.requested.sum(where=condition)
        quantity = f"memory_used_{place}"
        rows.append(row_of_quantity(windows, quantity, used // 2**BITS, requested // 2**BITS))
    return rows


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the share of each quantity."""
    import altair as alt

    rows = []
    for row in answer.to_pylist():
        if row["share"] is not None:
            label = STATEMENTS.get(row["quantity"], row["quantity"])
            rows.append({**row, "label": label})
    return (
        charts.base(rows, title="Alloc sets", height=180)
        .mark_bar()
        .encode(
            x=alt.X("share:Q", title="share"),
            y=alt.Y(
                "label:N",
                title=None,
                sort=list(STATEMENTS.values()),
                axis=alt.Axis(labelLimit=300),
            ),
            tooltip=charts.tooltips(rows, "share", "label", "n", "of"),
        )
    )


def share_of(quantity: str) -> Measure:
    """Measure the share of a quantity."""
    return sql(
        f"select share from answer where quantity = {literal(quantity)}",
        otherwise=f"nothing to take the share of: {STATEMENTS[quantity]}",
    )


CLAIMS = [
    Claim(
        "TIR-alloc-collections",
        statement=STATEMENTS["collections"],
        source="Tirmazi et al., EuroSys'20 (alloc sets)",
        scope=OF_2019,
        measure=share_of("collections"),
        criterion=near(0.02, within=0.005),
    ),
    Claim(
        "TIR-alloc-jobs_inside",
        statement=STATEMENTS["jobs_inside"],
        source="Tirmazi et al., EuroSys'20 (alloc sets)",
        scope=OF_2019,
        measure=share_of("jobs_inside"),
        criterion=near(0.15, within=0.02),
    ),
    Claim(
        "TIR-alloc-production_inside",
        statement=STATEMENTS["production_inside"],
        source="Tirmazi et al., EuroSys'20 (alloc sets)",
        scope=OF_2019,
        measure=share_of("production_inside"),
        criterion=near(0.95, within=0.02),
    ),
    Claim(
        "TIR-alloc-cpu_allocated",
        statement=STATEMENTS["cpu_allocated"],
        source="Tirmazi et al., EuroSys'20 (alloc sets)",
        scope=OF_2019,
        measure=share_of("cpu_allocated"),
        criterion=near(0.2, within=0.02),
    ),
    Claim(
        "TIR-alloc-memory_allocated",
        statement=STATEMENTS["memory_allocated"],
        source="Tirmazi et al., EuroSys'20 (alloc sets)",
        scope=OF_2019,
        measure=share_of("memory_allocated"),
        criterion=near(0.18, within=0.02),
    ),
    Claim(
        "TIR-alloc-memory_used_inside",
        statement=STATEMENTS["memory_used_inside"],
        source="Tirmazi et al., EuroSys'20 (alloc sets)",
        scope=OF_2019,
        measure=share_of("memory_used_inside"),
        criterion=near(0.73, within=0.05),
    ),
    Claim(
        "TIR-alloc-memory_used_outside",
        statement=STATEMENTS["memory_used_outside"],
        source="Tirmazi et al., EuroSys'20 (alloc sets)",
        scope=OF_2019,
        measure=share_of("memory_used_outside"),
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
    reads=["collection_events", "instance_events", "instance_usage", "tasks"],
    reference="Tirmazi et al., EuroSys'20 (alloc sets)",
)
