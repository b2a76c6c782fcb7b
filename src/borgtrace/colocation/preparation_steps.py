"""Which tasks does the colocation study look at, and what was dropped?

The preparation of Janus & Rzadca (SoCC'17, §2.2), step by step, with what each step touched of what the steps
before it left: failing tasks, tasks that never used CPU, short tasks; then a random sample of at most N.
The last rows count windows: left out for want of a value, or mended because their average was above 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from borgtrace.colocation.preparation import Instantaneous
from borgtrace.colocation.source import pool_of
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

RESULT = Table(
    "colocation_preparation",
    "step of the preparation",
    ("step",),
    (
        Column("step", "int64", "rank", "Order of the step.", nullable=False),
        Column("name", "string", "id", "What was dropped, kept or replaced.", nullable=False),
        Column("unit", "string", "id", "Whether tasks or windows are counted.", nullable=False),
        Column("n_touched", "int64", "count", "How many the step touched.", nullable=False),
        Column("n_before", "int64", "count", "How many there were before the step.", nullable=False),
    ),
)


def compute(
    tables: Tables, *, tasks: int = 100_000, seed: int = 0, instantaneous: Instantaneous = "sampled"
) -> pa.Table:
    """Return what each step of the preparation touched."""
    steps = pool_of(tables, tasks, seed, instantaneous).steps
    return pa.table(
        {
            "step": pa.array(range(1, len(steps) + 1), pa.int64()),
            "name": pa.array([step.name for step in steps], pa.string()),
            "unit": pa.array([step.unit for step in steps], pa.string()),
            "n_touched": pa.array([step.count for step in steps], pa.int64()),
            "n_before": pa.array([step.of for step in steps], pa.int64()),
        }
    )


def plot(result: pa.Table) -> alt.Chart:
    """Draw the share that each step touched."""
    import altair as alt

    from borgtrace.colocation._charts import HEIGHT, WIDTH, data

    rows = [{**row, "share": row["n_touched"] / max(row["n_before"], 1)} for row in result.to_pylist()]
    chart: alt.Chart = (
        alt.Chart(data(rows), title="Preparation of the tasks")
        .mark_bar()
        .encode(
            x=alt.X(
                "share:Q",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format="%"),
                title="share of what was there before the step",
            ),
            y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=380)),
            color=alt.Color("unit:N", title=None),
            tooltip=["name:N", "n_touched:Q", "n_before:Q"],
        )
        .properties(width=WIDTH, height=HEIGHT)
    )
    return chart


def _share(result: pa.Table, start: str) -> float:
    for row in result.to_pylist():
        if row["name"].startswith(start) and row["n_before"]:
            return float(row["n_touched"] / row["n_before"])
    raise NotApplicable("the pool does not say")


def _n_mended(result: pa.Table) -> Any:
    for row in result.to_pylist():
        if row["name"].startswith("averages above"):
            return row["n_touched"]
    raise NotApplicable("the pool does not say")


_SOURCE = "Janus & Rzadca, SoCC'17, §2.2"
CLAIMS = (
    Claim(
        "S1-zero",
        "1.2 % of the tasks never use CPU in a sample",
        0.012,
        lambda r: _share(r, "that never used"),
        lambda v: 0.006 <= v <= 0.024,
        _SOURCE,
    ),
    Claim(
        "S1-short-tasks",
        "95 % of the remaining tasks are shorter than 2 hours",
        0.95,
        lambda r: _share(r, "fewer than"),
        lambda v: 0.93 <= v <= 0.97,
        _SOURCE,
    ),
    Claim(
        "S1-above-one",
        "averages above the whole machine are rare: 13 windows of the trace",
        13,
        _n_mended,
        lambda v: v <= 13,
        _SOURCE,
    ),
)

RECIPE = Recipe(
    "colocation_preparation",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("tasks", "instance_usage"),
    reference="Janus & Rzadca, SoCC'17, §2.2",
    order=200,
)
