"""How much of its request does a task ever use?

The peak of a task is the largest ``maximum_cpu`` (``maximum_memory``) of its windows, divided by
its request (on its last SCHEDULE). Tasks of jobs only; one without usage, maximum or request has no
ratio. A second count covers only the tasks whose CPU *and* memory stayed within the request, as the
published histogram does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import pyarrow as pa

from borgtrace.analyses.shared.windows import RESOURCES, peaks_of_request
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    Question,
    Tables,
    charts,
    near,
    query_answer,
    sql,
)
from borgtrace.question.scopes import OF_2011

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="resource and bin",
    key=[
        Column("resource", "string", "id", "Resource: cpu or memory."),
        Column(
            "bin", "int64", "id", "Bin k holds peaks from 5k up to 5(k+1) percent of the request."
        ),
    ],
    columns=[
        Column("n_tasks", "int64", "count", "Tasks in the bin."),
        Column(
            "n_within",
            "int64",
            "count",
            "Tasks in the bin whose CPU and memory both stayed within.",
        ),
    ],
)


def compute(tables: Tables, *, n_bins: int = 40) -> ibis.Table:
    """Return the histogram of peak ÷ request in steps of 5 %; the last of `n_bins` + 1 holds the rest."""
    rows = peaks_of_request(tables)
    # A task that lacks one of the two requests cannot be said to stay within both.
    rows = rows.mutate(is_within=((rows.cpu <= 1.0) & (rows.memory <= 1.0)).fill_null(False))
    return ibis.union(*(_histogram(rows, name, n_bins) for name in RESOURCES))


def _histogram(rows: ibis.Table, resource: str, n_bins: int) -> ibis.Table:
    known = rows.filter(rows[resource].notnull())
    # A peak of exactly the request belongs to the last bin below it, like the published 95-100 % bin.
    number = (known[resource] * 20.0).floor().cast("int64")
    number = (known[resource] == 1.0).ifelse(ibis.literal(19, "int64"), number)
    known = known.mutate(bin=ibis.least(number, n_bins), resource=ibis.literal(resource))
    within = known.count(where=known.is_within)
    return known.group_by(["resource", "bin"]).aggregate(n_tasks=known.count(), n_within=within)


def chart(answer: pa.Table) -> alt.FacetChart:
    """Draw: peak usage as a share of the request."""
    import altair as alt

    rows = query_answer(answer, "select *, 5 * bin as low, 5 * bin + 5 as high from answer")
    return (
        charts.base(rows, height=120)
        .mark_bar(opacity=0.8)
        .encode(
            x=alt.X(
                "low:Q", title="peak (% of the request; the last bar holds all above)", bin="binned"
            ),
            x2=alt.X2("high:Q"),
            y=alt.Y("n_tasks:Q", title="tasks"),
            color=alt.Color("resource:N", title="resource", legend=None),
            tooltip=charts.tooltips(rows, "low", "high", "n_tasks", "resource", "n_within"),
        )
        .facet(row=charts.rows_of_panels("resource"))
        .resolve_scale(y="independent")
        .properties(title="Peak usage as a share of the request")
    )


CLAIMS = [
    Claim(
        "KOR-first-bin-cpu",
        statement="more than half of the tasks peak at 5 % of their CPU request or less",
        source="full-trace Spark run over 2011",
        scope=OF_2011,
        measure=sql(
            """
            select sum(if(bin = 0, n_within, 0)) / nullif(sum(n_within), 0)
            from answer
            where resource = 'cpu'
            """,
            otherwise="no task has a cpu peak within its request",
        ),
        criterion=near(0.587, within=0.05),
    ),
    Claim(
        "KOR-first-bin-memory",
        statement="nearly half of the tasks peak at 5 % of their memory request or less",
        source="full-trace Spark run over 2011",
        scope=OF_2011,
        measure=sql(
            """
            select sum(if(bin = 0, n_within, 0)) / nullif(sum(n_within), 0)
            from answer
            where resource = 'memory'
            """,
            otherwise="no task has a memory peak within its request",
        ),
        criterion=near(0.466, within=0.05),
    ),
    # Midpoints of the bins: so the published means were computed.
    Claim(
        "KOR-mean-cpu",
        statement="the mean CPU peak is below a tenth of the request",
        source="full-trace Spark run over 2011",
        scope=OF_2011,
        measure=sql(
            """
            select sum((bin + 5e-1) * n_within) / nullif(sum(n_within), 0) * 5e-2
            from answer
            where resource = 'cpu'
            """,
            otherwise="no task has a cpu peak within its request",
        ),
        criterion=near(0.086, within=0.01),
    ),
    Claim(
        "KOR-mean-memory",
        statement="the mean memory peak is about a third of the request",
        source="full-trace Spark run over 2011",
        scope=OF_2011,
        measure=sql(
            """
            select sum((bin + 5e-1) * n_within) / nullif(sum(n_within), 0) * 5e-2
            from answer
            where resource = 'memory'
            """,
            otherwise="no task has a memory peak within its request",
        ),
        criterion=near(0.324, within=0.05),
    ),
]

QUESTION = Question(
    name="peak_to_request",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["instance_usage", "tasks"],
    reference="published histogram of 20 million tasks (5 % bins)",
)
