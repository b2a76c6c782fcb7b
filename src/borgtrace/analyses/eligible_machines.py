"""On how many machines can a task run, given its placement constraints?

One row per day: tasks submitted (resubmissions included), the share of them that carry constraints,
and, over those, quantiles of the share of machines that meet all their constraints at the end of the
day.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from borgtrace.analyses._placement import fingerprints, shares_by_day
from borgtrace.analyses._processes import jobs_only
from borgtrace.analyses._quantiles import quantiles
from borgtrace.recipe import NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table
from borgtrace.schema.time import AFTER_TRACE, DAY, TRACE_START

if TYPE_CHECKING:
    import altair as alt

_PERCENTS = (0.0, 10.0, 50.0, 90.0)

RESULT = Table(
    "eligible_machines",
    "day",
    ("day",),
    (
        Column("day", "int64", "d", "Day since the start of the trace, from 0; −1 is before it.", nullable=False),
        Column("n_submitted", "int64", "count", "Submissions of tasks.", nullable=False),
        Column("n_constrained", "int64", "count", "Of these, with placement constraints.", nullable=False),
        Column("n_machines", "int64", "count", "Machines at the end of the day.", nullable=False),
        *(
            Column(
                f"share_p{percent:g}",
                "float64",
                "1",
                f"Share of machines eligible, {percent:g}th percentile over constrained submissions.",
            )
            for percent in _PERCENTS
        ),
    ),
)


def compute(tables: Tables) -> pa.Table:
    """Return the share of eligible machines per day."""
    events, sets = fingerprints(tables)
    tasks = jobs_only(tables.instance_attempts)
    tasks = tasks.filter(tasks.submit_time.notnull() & (tasks.submit_time < AFTER_TRACE))
    since = (tasks.submit_time - TRACE_START) // DAY
    dated = tasks.select(
        "collection_id",
        "instance_index",
        time="submit_time",
        day=(tasks.submit_time < TRACE_START).ifelse(-1, since).cast("int64"),
    )
    demands = dated.left_join(events, ["collection_id", "instance_index", "time"]).select("day", "fingerprint")
    found = tables.fetch(demands.group_by(["day", "fingerprint"]).aggregate(n=demands.count()), "demands")
    states = shares_by_day(tables, sets)
    if not found.num_rows:
        raise NotApplicable("no task is submitted")
    last = max(states)
    rows = []
    for day in sorted(set(found["day"].to_pylist())):
        share = states[min(day, last)].share
        demand = [row for row in found.to_pylist() if row["day"] == day]
        constrained = [(share[row["fingerprint"]], row["n"]) for row in demand if row["fingerprint"] in share]
        values = np.array([value for value, _ in constrained])
        n = np.array([number for _, number in constrained], np.int64)
        points = quantiles(values, n, _PERCENTS)
        rows.append(
            {
                "day": day,
                "n_submitted": sum(row["n"] for row in demand),
                "n_constrained": sum(row["n"] for row in demand if row["fingerprint"] is not None),
                "n_machines": states[min(day, last)].n_machines,
                **{f"share_p{p:g}": None if np.isnan(v) else float(v) for p, v in zip(_PERCENTS, points, strict=True)},
            }
        )
    return pa.Table.from_pylist(rows, schema=pa.schema([(c.name, _ARROW[c.type]) for c in RESULT.columns]))


_ARROW = {"int64": pa.int64(), "float64": pa.float64()}


def plot(result: pa.Table) -> alt.Chart:
    """Draw the share of eligible machines per day."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, long

    series = {f"share_p{percent:g}": f"{percent:g}th percentile" if percent else "lowest" for percent in _PERCENTS}
    before = "datum.value < 0 ? 'before' : datum.label"
    chart: alt.Chart = (
        alt.Chart(
            long(result, ["day"], series), title="Machines a constrained task may use", width=WIDTH, height=HEIGHT
        )
        .mark_line(point=True)
        .encode(
            x=alt.X("day:O", title="day of the trace", axis=alt.Axis(labelExpr=before, labelAngle=0)),
            y=alt.Y("value:Q", title="share of the machines"),
            color=alt.Color("series:N", title=None),
            tooltip=["day:Q", "series:N", "value:Q"],
        )
    )
    return chart


RECIPE = Recipe(
    "eligible_machines",
    compute,
    plot,
    RESULT,
    reads=("instance_constraints", "instance_events", "machine_events", "machine_attributes"),
    reference="2011 format document, task constraints; Sharma et al., SoCC'11",
    order=90,
    topic="Placement constraints",
)
