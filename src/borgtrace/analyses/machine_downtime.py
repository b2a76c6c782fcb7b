"""How long are machines away?

Quantiles of the time from a REMOVE to the next ADD of the same machine.  Machines that never come
back are counted by the question on removals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import ibis
import pyarrow as pa

from borgtrace.analyses._quantiles import PERCENTS, counts, fetch_counts, quantiles
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

_ENOUGH = 100
"""Absences, before their quantiles are compared."""

RESULT = Table(
    "machine_downtime",
    "percentile",
    ("percent",),
    (
        Column("percent", "float64", "1", "Percentile; 0 and 100 are the extremes.", nullable=False),
        Column("seconds", "float64", "s", "Time from REMOVE to ADD.", nullable=False),
        Column("n", "int64", "count", "Number of absences, the same in every row.", nullable=False),
    ),
)


def compute(tables: Tables) -> pa.Table:
    """Return quantiles of the absences of machines."""
    events = tables.machine_events
    life = ibis.window(group_by="machine_id", order_by=["time", "source_part", "source_row"])
    seen = events.mutate(before=events.type.lag().over(life), since=events.time.lag().over(life))
    back = seen.filter((seen.before == "REMOVE") & (seen.type == "ADD"))
    groups = fetch_counts(tables, counts(back, back.time - back.since), (), "absences")
    if not groups:
        raise NotApplicable("no machine was removed and came back")
    values, n = groups[()]
    percents = (0.0, *PERCENTS, 100.0)
    return pa.table(
        {"percent": percents, "seconds": quantiles(values / 1e6, n, percents), "n": [int(n.sum())] * len(percents)}
    )


def plot(result: pa.Table) -> alt.Chart:
    """Draw the quantile curve, time on a logarithmic axis."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, duration_axis, rows

    chart: alt.Chart = (
        alt.Chart(rows(result), title="How long machines are away", width=WIDTH, height=HEIGHT)
        .mark_line(point=True)
        .encode(
            x=alt.X("seconds:Q", title="from REMOVE to ADD", scale=alt.Scale(type="symlog"), axis=duration_axis()),
            y=alt.Y("percent:Q", title="percent of absences"),
            tooltip=["percent:Q", "seconds:Q"],
        )
    )
    return chart


def _at(percent: float) -> Callable[[pa.Table], float]:
    def measure(result: pa.Table) -> float:
        if result["n"][0].as_py() < _ENOUGH:
            raise NotApplicable(f"fewer than {_ENOUGH} absences")
        return {row["percent"]: float(row["seconds"]) for row in result.to_pylist()}[percent]

    return measure


CLAIMS = (
    Claim(
        "ME-away-median",
        "half of the absences last less than 17 minutes",
        "998 s",
        _at(50.0),
        lambda seconds: abs(seconds / 998 - 1) <= 0.1,
        "count over the machine events of 2011",
        format=",.0f",
    ),
    Claim(
        "ME-away-day",
        "one absence in twenty lasts longer than a day",
        "94,522 s",
        _at(95.0),
        lambda seconds: abs(seconds / 94_522 - 1) <= 0.1,
        "count over the machine events of 2011",
        format=",.0f",
    ),
)
RECIPE = Recipe(
    "machine_downtime",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("machine_events",),
    reference="2011 format document, machine events",
    order=12,
    topic="Machines",
)
