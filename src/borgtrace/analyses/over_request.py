"""How many tasks use more than they requested, and how much more?

*Over* compares the mean of a window with the request (on the last SCHEDULE of the task); *peak* the
largest maximum. Tasks of jobs with a request above zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses._windows import RESOURCES, regular, tier
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt


def _count(name: str, doc: str) -> Column:
    return Column(name, "int64", "count", doc, nullable=False)


RESULT = Table(
    "over_request",
    "tier and resource",
    ("tier", "resource"),
    (
        Column("tier", "string", "id", "Tier of the tasks.", nullable=False),
        Column("resource", "string", "id", "Resource: cpu or memory.", nullable=False),
        _count("n_tasks", "Tasks with usage and a request."),
        _count("n_over", "Tasks with a window above the request."),
        _count("n_over_150", "Tasks with a window above 1.5 times the request."),
        _count("n_over_200", "Tasks with a window above twice the request."),
        _count("n_peak_over", "Tasks whose largest maximum is above the request."),
        Column("seconds", "int64", "s", "Time measured.", nullable=False),
        Column("seconds_over", "int64", "s", "Time in windows above the request.", nullable=False),
        Column("largest", "float64", "1", "Largest window mean, in requests."),
    ),
)


def compute(tables: Tables) -> ir.Table:
    """Return how many tasks, and how much time, exceed the request."""
    key = ["collection_id", "instance_index"]
    usage = regular(tables.instance_usage)
    usage = usage.filter(usage.collection_type == "JOB")
    tasks = tables.tasks.select(
        *key, "cpu_request", "memory_request", tier=tier(tables.tasks.priority, tables.generation)
    )
    rows = usage.select(
        *key, "seconds", *(f"{kind}_{name}" for name in RESOURCES for kind in ("average", "maximum"))
    ).inner_join(tasks, key)
    return ibis.union(*(_over(rows, key, resource) for resource in RESOURCES))


def _over(rows: ir.Table, key: list[str], resource: str) -> ir.Table:
    request = rows[f"{resource}_request"].cast("float64")
    known = rows.mutate(
        ratio=rows[f"average_{resource}"].cast("float64") / request.nullif(0.0),
        peak=rows[f"maximum_{resource}"].cast("float64") / request.nullif(0.0),
    )
    known = known.filter(known.ratio.notnull())
    tasks = known.group_by([*key, "tier"]).aggregate(
        seconds=known.seconds.sum().cast("int64"),
        seconds_over=known.seconds.sum(where=known.ratio > 1.0).fill_null(0).cast("int64"),
        largest=known.ratio.max(),
        peak=known.peak.max(),
    )
    return tasks.group_by("tier").aggregate(
        resource=ibis.literal(resource),
        n_tasks=tasks.count(),
        n_over=tasks.count(where=tasks.largest > 1.0),
        n_over_150=tasks.count(where=tasks.largest > 1.5),
        n_over_200=tasks.count(where=tasks.largest > 2.0),
        n_peak_over=tasks.count(where=tasks.peak > 1.0),
        seconds=tasks.seconds.sum().cast("int64"),
        seconds_over=tasks.seconds_over.sum().cast("int64"),
        largest=tasks.largest.max(),
    )


def plot(result: pa.Table) -> alt.Chart:
    """Draw the share of tasks over 1, 1.5 and 2 requests."""
    import altair as alt

    from borgtrace.analyses._charts import WIDTH, spoken_header

    labels = {"n_peak_over": "peak > 1 ×", "n_over": "> 1 ×", "n_over_150": "> 1.5 ×", "n_over_200": "> 2 ×"}
    values = [
        {"tier": row["tier"], "resource": row["resource"], "over": label, "share": row[name] / row["n_tasks"]}
        for row in result.to_pylist()
        for name, label in labels.items()
    ]
    chart: alt.Chart = (
        alt.Chart(alt.Data(values=values), title="Tasks over their request")
        .mark_bar()
        .encode(
            x=alt.X("share:Q", title="share of tasks"),
            y=alt.Y("over:N", sort=list(labels.values()), title=None),
            color=alt.Color("over:N", legend=None),
            column=alt.Column("tier:N", title=None),
            row=alt.Row("resource:N", title=None, header=spoken_header()),
            tooltip=["tier:N", "resource:N", "over:N", "share:Q"],
        )
        .properties(width=WIDTH // 3, height=90)
    )
    return chart


def _sum(result: pa.Table, column: str, resource: str) -> float:
    return float(sum(row[column] or 0 for row in result.to_pylist() if row["resource"] == resource))


def _share(result: pa.Table, column: str, resource: str) -> float:
    total = _sum(result, "n_tasks", resource)
    if not total:
        raise NotApplicable(f"no task has {resource} usage and a request")
    return _sum(result, column, resource) / total


def _largest(result: pa.Table) -> float:
    ratios = [row["largest"] for row in result.to_pylist() if row["largest"] is not None]
    if not ratios:
        raise NotApplicable("no task has usage and a request")
    return float(max(ratios))


CLAIMS = (
    Claim(
        "EDA-memory-peak",
        "3.36 % of the tasks exceed their memory request at the peak",
        0.0336,
        lambda r: _share(r, "n_peak_over", "memory"),
        lambda v: 0.017 <= v <= 0.05,
        "published exploration of the full 2011 trace",
    ),
    Claim(
        "S4-over-request",
        "the largest window of a task is up to twice its request",
        "up to 2",
        _largest,
        lambda v: 1.0 < v <= 2.0,
        "Zhu et al.",
    ),
    Claim(
        "S4-over-twice",
        "hardly any task (under 1 %) uses more than twice its CPU request",
        "none",
        lambda r: _share(r, "n_over_200", "cpu"),
        lambda v: v < 0.01,
        "Zhu et al.",
    ),
)

RECIPE = Recipe(
    "over_request",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_usage", "tasks"),
    reference="Zhu et al. (over-consumption)",
    order=111,
    topic="Interference",
)
