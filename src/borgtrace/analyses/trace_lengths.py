"""How many measurements does a task have?

The trace of a task is all its usage rows, over all its attempts; its length is their number.
Lengths from 1 to 100 are counted one by one, longer ones by powers of two. Tasks without usage have
no trace.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

SINGLE = 100
RESULT = Table(
    "trace_lengths",
    "length",
    ("length",),
    (
        Column("length", "int64", "count", "Number of usage rows; above 100 the shortest of the bin.", nullable=False),
        Column("longest", "int64", "count", "Longest trace of the bin.", nullable=False),
        Column("n_tasks", "int64", "count", "Tasks with a trace of such a length.", nullable=False),
        Column("n_windows", "int64", "count", "Usage rows of these tasks.", nullable=False),
    ),
)


def compute(tables: Tables) -> ir.Table:
    """Return the distribution of trace lengths."""
    tasks = tables.tasks
    tasks = tasks.filter((tasks.collection_type == "JOB") & (tasks.n_windows > 0))
    length = tasks.n_windows.cast("int64")
    bounds = [SINGLE + 1, *(2**k for k in range(7, 31))]
    bins = [
        (length < above, (ibis.literal(low, "int64"), ibis.literal(above - 1, "int64")))
        for low, above in pairwise(bounds)
    ]
    single = length <= SINGLE
    rows = tasks.select(
        "n_windows",
        length=ibis.cases((single, length), *((test, low) for test, (low, _) in bins), else_=length),
        longest=ibis.cases((single, length), *((test, high) for test, (_, high) in bins), else_=length),
    )
    return rows.group_by(["length", "longest"]).aggregate(
        n_tasks=rows.count(), n_windows=rows.n_windows.cast("int64").sum().cast("int64")
    )


def plot(result: pa.Table) -> alt.Chart:
    """Draw the number of tasks per length on logarithmic axes."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, log_axis

    values = [
        {**row, "per_length": row["n_tasks"] / (row["longest"] - row["length"] + 1), "end": row["longest"] + 1}
        for row in result.to_pylist()
    ]
    return (
        alt.Chart(alt.Data(values=values), title="Length of task traces")
        .mark_point(filled=True, size=25)
        .encode(
            x=alt.X("length:Q", scale=alt.Scale(type="log"), axis=log_axis(), title="usage rows of a task"),
            y=alt.Y("per_length:Q", scale=alt.Scale(type="log"), axis=log_axis(), title="tasks per length"),
            tooltip=["length:Q", "longest:Q", "n_tasks:Q", "n_windows:Q"],
        )
        .properties(width=WIDTH, height=HEIGHT)
    )


def _share(result: pa.Table, low: int, high: int) -> float:
    rows = result.to_pylist()
    total = sum(row["n_tasks"] for row in rows)
    if not total:
        raise NotApplicable("no task has usage")
    return float(sum(row["n_tasks"] for row in rows if low <= row["length"] and row["longest"] <= high) / total)


CLAIMS = (
    Claim(
        "S0-5-50",
        "traces of 5 to 50 points are about 74 % of all",
        0.74,
        lambda r: _share(r, 5, 50),
        lambda v: 0.69 <= v <= 0.79,
        "data pipeline description (section on data)",
    ),
    Claim(
        "S1-short",
        "95 % of the tasks have fewer than 24 points",
        0.95,
        lambda r: _share(r, 1, 23),
        lambda v: 0.93 <= v <= 0.97,
        "Janus & Rzadca, SoCC'17, §3",
    ),
)

RECIPE = Recipe(
    "trace_lengths",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("tasks", "instance_usage"),
    reference="definition of a trace in the data pipeline the project started from",
    order=64,
    topic="Utilization",
)
