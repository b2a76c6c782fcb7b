"""How much of its request does a task ever use?

The peak of a task is the largest ``maximum_cpu`` (``maximum_memory``) of its windows, divided by
its request (on its last SCHEDULE). Tasks of jobs only; one without usage, maximum or request has no
ratio. A second count covers only the tasks whose CPU *and* memory stayed within the request, as the
published histogram does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared.windows import RESOURCES, peaks_of_request
from borgtrace.engine.identifiers import literal
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    Measure,
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

from borgtrace.schema.bounds import Bounds

ANSWER = Answer(
    grain="resource and bin",
    key=[
        Column("resource", "string", "id", "Resource: cpu or memory."),
        Column(
            "bin",
            "int64",
            "id",
            "Bin k holds peaks from 5k up to 5(k+1) percent of the request, the last all above.",
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


def compute(tables: Tables, *, n_bins: Annotated[int, Bounds(1, 10_000)] = 40) -> ir.Table:
    """Return the histogram of peak ÷ request in steps of 5 %; the last of `n_bins` + 1 holds the rest."""
    peaks = peaks_of_request(tables)
    is_within = (peaks.cpu <= 1.0) & (peaks.memory <= 1.0)
    # A task that lacks one of the two requests cannot be said to stay within both.
    peaks = peaks.mutate(is_within=is_within.fill_null(False))
    return ibis.union(*(histogram(peaks, resource, n_bins) for resource in RESOURCES))


def histogram(peaks: ir.Table, resource: str, n_bins: int) -> ir.Table:
    """Count the tasks of each bin of one resource."""
    known = peaks.filter(peaks[resource].notnull())
    bin_number = (known[resource] * 20.0).floor().cast("int64")
    # A peak of exactly the request belongs to the last bin below it, like the published 95-100 % bin.
    bin_number = (known[resource] == 1.0).ifelse(ibis.literal(19, "int64"), bin_number)
    known = known.mutate(bin=ibis.least(bin_number, n_bins), resource=ibis.literal(resource))
    return known.group_by(["resource", "bin"]).aggregate(
        n_tasks=known.count(), n_within=known.count(where=known.is_within)
    )


def chart(answer: pa.Table) -> alt.FacetChart:
    """Draw how many tasks peak at which share of their request, for CPU and memory."""
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


def share_in_first_bin(resource: str) -> Measure:
    """Measure which share of the tasks peaks at 5 % of its request or less."""
    return sql(
        f"""
        select sum(if(bin = 0, n_within, 0)) / nullif(sum(n_within), 0)
        from answer
        where resource = {literal(resource)}
        """,
        otherwise=f"no task has a {resource} peak within its request",
    )


def mean_peak(resource: str) -> Measure:
    """Measure the mean peak as a share of the request, with the midpoints of the bins."""
    return sql(
        f"""
        select sum((bin + 5e-1) * n_within) / nullif(sum(n_within), 0) * 5e-2
        from answer
        where resource = {literal(resource)}
        """,
        otherwise=f"no task has a {resource} peak within its request",
    )


CLAIMS = [
    Claim(
        "KOR-first-bin-cpu",
        statement="about 59 % of the tasks peak at 5 % of their CPU request or less",
        source="full-trace Spark run over 2011",
        scope=OF_2011.needing(days=7, tasks=5_000),
        measure=share_in_first_bin("cpu"),
        criterion=near(0.587, within=0.05),
    ),
    Claim(
        "KOR-first-bin-memory",
        statement="about 47 % of the tasks peak at 5 % of their memory request or less",
        source="full-trace Spark run over 2011",
        scope=OF_2011.needing(days=7, tasks=5_000),
        measure=share_in_first_bin("memory"),
        criterion=near(0.466, within=0.05),
    ),
    # With midpoints of the bins, as the published means were computed.
    Claim(
        "KOR-mean-cpu",
        statement="the mean CPU peak is about 8.6 % of the request",
        source="full-trace Spark run over 2011",
        scope=OF_2011.needing(days=28),
        measure=mean_peak("cpu"),
        criterion=near(0.086, within=0.01),
    ),
    Claim(
        "KOR-mean-memory",
        statement="the mean memory peak is about a third of the request",
        source="full-trace Spark run over 2011",
        scope=OF_2011.needing(days=7, tasks=5_000),
        measure=mean_peak("memory"),
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
