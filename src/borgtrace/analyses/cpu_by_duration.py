"""Which tasks use the CPU: many short ones or a few long ones?

The duration of a task is the summed length of its usage windows; its CPU is the window-weighted
mean of ``average_cpu`` times that. Bins double from one minute. Only tasks of jobs: what runs in an
alloc set is a task, the alloc itself is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses._windows import fixed, tier
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

EDGES = tuple(60 * 2**k for k in range(16))
"""Upper edges of the bins, s: 1 min, 2 min, … 22.8 d; what is longer falls into the last bin."""
_BITS = 20

RESULT = Table(
    "cpu_by_duration",
    "tier and duration",
    ("tier", "at_most"),
    (
        Column("tier", "string", "id", "Tier of the tasks.", nullable=False),
        Column("at_most", "int64", "s", "Longest duration of the bin; the one before is excluded.", nullable=False),
        Column("n_tasks", "int64", "count", "Tasks with usage in the bin.", nullable=False),
        Column("cpu_seconds", "float64", "s", "CPU time of these tasks, on the largest machine.", nullable=False),
    ),
)


def compute(tables: Tables) -> ir.Table:
    """Return tasks and CPU time by duration and tier."""
    tasks = tables.tasks
    tasks = tasks.filter((tasks.collection_type == "JOB") & (tasks.n_windows > 0))
    longer = [(tasks.seconds <= float(edge), ibis.literal(edge, "int64")) for edge in EDGES[:-1]]
    used = fixed(tasks.weighted_mean_average_cpu.fill_null(0.0) * tasks.seconds, _BITS)
    rows = tasks.select(
        tier=tier(tasks.priority, tables.generation),
        at_most=ibis.cases(*longer, else_=ibis.literal(EDGES[-1], "int64")),
        used=used,
    )
    return rows.group_by(["tier", "at_most"]).aggregate(
        n_tasks=rows.count(), cpu_seconds=rows.used.sum().cast("int64").cast("float64") / float(2**_BITS)
    )


def plot(result: pa.Table) -> alt.Chart:
    """Draw the cumulative share of tasks beside that of CPU time."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, duration_axis

    curves = [
        {"seconds": edge, "share": share, "series": name}
        for name, column in (("tasks", "n_tasks"), ("CPU time", "cpu_seconds"))
        for edge, share in _cumulative(result, column)
    ]
    scale = alt.Scale(type="log")
    return (
        alt.Chart(alt.Data(values=curves), title="Share of tasks and of CPU time up to a duration")
        .mark_line(point=True)
        .encode(
            x=alt.X("seconds:Q", scale=scale, axis=duration_axis(), title="duration of the task at most"),
            y=alt.Y("share:Q", scale=alt.Scale(domain=[0, 1]), title="cumulative share"),
            color=alt.Color("series:N", title=None),
            tooltip=["series:N", "seconds:Q", "share:Q"],
        )
        .properties(width=WIDTH, height=HEIGHT)
    )


def _cumulative(result: pa.Table, column: str) -> list[tuple[int, float]]:
    """Return (edge, share of `column` up to it), over all tiers."""
    rows = result.to_pylist()
    total = float(sum(row[column] for row in rows))
    if total <= 0:
        return []
    edges = sorted({row["at_most"] for row in rows})
    return [(edge, sum(row[column] for row in rows if row["at_most"] <= edge) / total) for edge in edges]


def _upto(result: pa.Table, column: str, seconds: int) -> float:
    shares = [share for edge, share in _cumulative(result, column) if edge <= seconds]
    if not _cumulative(result, column):
        raise NotApplicable("no task used any CPU")
    return max(shares, default=0.0)


CLAIMS = (
    Claim(
        "S4-fig11",
        "tasks of up to 4 minutes use a tiny portion of the CPU",
        "a tiny portion (< 0.05)",
        lambda r: _upto(r, "cpu_seconds", 240),
        lambda v: v < 0.05,
        "Zhu et al., Fig. 11",
    ),
    Claim(
        "REISS-short",
        "tasks of up to 2 hours use less than a tenth of the CPU",
        "< 0.1 (of jobs under 2 h)",
        lambda r: _upto(r, "cpu_seconds", 7680),
        lambda v: v < 0.1,
        "Reiss et al., SoCC'12",
    ),
)

RECIPE = Recipe(
    "cpu_by_duration",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("tasks", "instance_usage"),
    reference="Zhu et al., Fig. 11",
    order=63,
    topic="Utilization",
)
