"""How much of its request does a task ever use?

The peak of a task is the largest ``maximum_cpu`` (``maximum_memory``) of its windows, divided by
its request (on its last SCHEDULE). Tasks of jobs only; one without usage, maximum or request has no
ratio. A second count keeps to the tasks whose CPU *and* memory stayed within the request, as the
published histogram does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

RESULT = Table(
    "peak_to_request",
    "resource and bin",
    ("resource", "bin"),
    (
        Column("resource", "string", "id", "Resource: cpu or memory.", nullable=False),
        Column("bin", "int64", "id", "Bin k holds peaks from 5k up to 5(k+1) percent of the request.", nullable=False),
        Column("n_tasks", "int64", "count", "Tasks in the bin.", nullable=False),
        Column(
            "n_within", "int64", "count", "Tasks in the bin whose CPU and memory both stayed within.", nullable=False
        ),
    ),
)


def compute(tables: Tables, *, n_bins: int = 40) -> ir.Table:
    """Return the histogram of peak ÷ request in steps of 5 %; the last of `n_bins` + 1 holds the rest."""
    usage = tables.instance_usage
    usage = usage.filter(usage.collection_type == "JOB")
    peaks = usage.group_by(["collection_id", "instance_index"]).aggregate(
        peak_cpu=usage.maximum_cpu.max(), peak_memory=usage.maximum_memory.max()
    )
    tasks = tables.tasks.select("collection_id", "instance_index", "cpu_request", "memory_request")
    rows = peaks.inner_join(tasks, ["collection_id", "instance_index"])
    rows = rows.mutate(cpu=_ratio(rows, "cpu"), memory=_ratio(rows, "memory"))
    rows = rows.mutate(is_within=((rows.cpu <= 1.0) & (rows.memory <= 1.0)).fill_null(False))
    return ibis.union(*(_histogram(rows, name, n_bins) for name in ("cpu", "memory")))


def _ratio(rows: ir.Table, resource: str) -> ir.FloatingColumn:
    request = rows[f"{resource}_request"].cast("float64")
    return rows[f"peak_{resource}"].cast("float64") / request.nullif(0.0)


def _histogram(rows: ir.Table, resource: str, n_bins: int) -> ir.Table:
    known = rows.filter(rows[resource].notnull())
    # A peak of exactly the request belongs to the last bin below it, like the published 95-100 % bin.
    number = (known[resource] * 20.0).floor().cast("int64")
    number = (known[resource] == 1.0).ifelse(ibis.literal(19, "int64"), number)
    known = known.mutate(bin=ibis.least(number, n_bins))
    return (
        known.group_by("bin")
        .aggregate(n_tasks=known.count(), n_within=known.is_within.cast("int64").sum().cast("int64"))
        .select(resource=ibis.literal(resource), bin="bin", n_tasks="n_tasks", n_within="n_within")
    )


def plot(result: pa.Table) -> alt.Chart:
    """Draw the two histograms."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, rows, spoken_header

    return (
        alt.Chart(rows(result), title="Peak usage as a share of the request")
        .transform_calculate(low="datum.bin * 5", high="datum.bin * 5 + 5")
        .mark_bar(opacity=0.8)
        .encode(
            x=alt.X("low:Q", bin="binned", title="peak, percent of the request (the last bar holds all above)"),
            x2="high:Q",
            y=alt.Y("n_tasks:Q", title="tasks"),
            color=alt.Color("resource:N", legend=None),
            row=alt.Row("resource:N", title=None, header=spoken_header()),
            tooltip=["resource:N", "low:Q", "high:Q", "n_tasks:Q", "n_within:Q"],
        )
        .properties(width=WIDTH, height=HEIGHT // 2)
        .resolve_scale(y="independent")
    )


def _within(result: pa.Table, resource: str) -> dict[int, int]:
    bins = {row["bin"]: row["n_within"] for row in result.to_pylist() if row["resource"] == resource}
    if not sum(bins.values()):
        raise NotApplicable(f"no task has a {resource} peak within its request")
    return bins


def _first_bin(result: pa.Table, resource: str) -> float:
    bins = _within(result, resource)
    return bins.get(0, 0) / sum(bins.values())


def _mean(result: pa.Table, resource: str) -> float:
    bins = _within(result, resource)
    return sum((number + 0.5) * 0.05 * n for number, n in bins.items()) / sum(bins.values())


CLAIMS = (
    Claim(
        "KOR-first-bin-cpu",
        "more than half of the tasks peak at 5 % of their CPU request or less",
        0.587,
        lambda r: _first_bin(r, "cpu"),
        lambda v: v > 0.5,
        "full-trace Spark run over 2011",
    ),
    Claim(
        "KOR-first-bin-memory",
        "nearly half of the tasks peak at 5 % of their memory request or less",
        0.466,
        lambda r: _first_bin(r, "memory"),
        lambda v: 0.4 <= v <= 0.55,
        "full-trace Spark run over 2011",
    ),
    Claim(
        "KOR-mean-cpu",
        "the mean CPU peak is below a tenth of the request",
        0.086,
        lambda r: _mean(r, "cpu"),
        lambda v: v < 0.1,
        "full-trace Spark run over 2011",
    ),
    Claim(
        "KOR-mean-memory",
        "the mean memory peak is about a third of the request",
        0.324,
        lambda r: _mean(r, "memory"),
        lambda v: 0.25 <= v <= 0.4,
        "full-trace Spark run over 2011",
    ),
)

RECIPE = Recipe(
    "peak_to_request",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_usage", "tasks"),
    reference="published histogram of 20 million tasks (5 % bins)",
    order=62,
    topic="Utilization",
)
