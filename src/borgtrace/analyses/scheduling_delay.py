"""How long do tasks wait to be scheduled?

Quantiles of SCHEDULE − SUBMIT per tier and per scheduling class, counted in hundredths of a second.  Waits
that began before the trace are unknown and left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from borgtrace.analyses._groups import GROUP_COLUMNS, merged, per_group
from borgtrace.analyses._processes import jobs_only
from borgtrace.analyses._quantiles import PERCENTS, quantiles
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

_HUNDREDTH = 10_000

RESULT = Table(
    "scheduling_delay",
    "group of tasks and percentile",
    ("grouping", "group", "percent"),
    (
        *GROUP_COLUMNS,
        Column("percent", "float64", "1", "Percentile; 100 is the maximum.", nullable=False),
        Column("seconds", "float64", "s", "Wait from SUBMIT to SCHEDULE.", nullable=False),
        Column("mean", "float64", "s", "Mean wait of the group.", nullable=False),
        Column("n", "int64", "count", "Attempts of the group with a wait.", nullable=False),
    ),
)


def compute(tables: Tables) -> pa.Table:
    """Return quantiles of the waits, for all tasks, per tier and per class."""
    tasks = jobs_only(tables.instance_attempts)
    groups = merged(per_group(tables, tasks, (tasks.wait // _HUNDREDTH).cast("int64"), "waits"))
    if not groups:
        raise NotApplicable("no wait lies within the trace")
    percents = (*PERCENTS, 100.0)
    rows = []
    for (grouping, group), (values, n) in groups.items():
        seconds = values / 100.0
        mean = float((seconds * n).sum() / n.sum())
        for percent, value in zip(percents, quantiles(seconds, n, percents), strict=True):
            rows.append(
                {
                    "grouping": grouping,
                    "group": group,
                    "percent": percent,
                    "seconds": float(value),
                    "mean": mean,
                    "n": int(n.sum()),
                }
            )
    return pa.Table.from_pylist(rows)


def plot(result: pa.Table) -> alt.Chart:
    """Draw the quantile curves per tier."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, duration_axis, rows, tier_colour

    shown = result.filter(np.array([g != "class" for g in result["grouping"].to_pylist()]))
    shown = shown.append_column("tier", shown["group"])
    chart: alt.Chart = (
        alt.Chart(rows(shown), title="Waits for a machine", width=WIDTH, height=HEIGHT)
        .mark_line(point=True)
        .encode(
            x=alt.X("seconds:Q", title="from SUBMIT to SCHEDULE", scale=alt.Scale(type="symlog"), axis=duration_axis()),
            y=alt.Y("percent:Q", title="percent of attempts"),
            color=tier_colour(shown["tier"].to_pylist()),
            tooltip=["tier:N", "percent:Q", "seconds:Q", "n:Q"],
        )
    )
    return chart


def _median(result: pa.Table, group: str) -> float:
    for row in result.to_pylist():
        if row["group"] == group and row["percent"] == 50.0:
            return float(row["seconds"])
    raise NotApplicable(f"no task of tier {group}")


CLAIMS = (
    Claim(
        "V-start",
        "the median start latency is about 25 s, most of it package installation, which the trace counts as running",
        "median wait ≪ 25 s",
        lambda r: _median(r, "all"),
        lambda v: v < 25.0,
        "Verma et al., EuroSys'15, section 3.2",
    ),
)

RECIPE = Recipe(
    "scheduling_delay",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_events",),
    reference="Zhu et al., Fig. 6; Tirmazi et al., EuroSys'20, Fig. 10",
    order=42,
    topic="Waiting and running times",
)
