"""When are tasks submitted again?

New and repeated submissions per hour.  A *lump* is a run of days each of which sees more than twice the
resubmissions of the median day (a run that spans neighbouring days is one lump).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses._processes import moments
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table
from borgtrace.schema.time import HOUR, TRACE_START

if TYPE_CHECKING:
    import altair as alt

RESULT = Table(
    "resubmissions",
    "hour",
    ("hour",),
    (
        Column("hour", "int64", "h", "Hour since the start of the trace, from 0.", nullable=False),
        Column("n_new", "int64", "count", "First submissions of tasks.", nullable=False),
        Column("n_again", "int64", "count", "Resubmissions.", nullable=False),
    ),
)


def compute(tables: Tables) -> ir.Table:
    """Return first submissions and resubmissions per hour."""
    rows = moments(tables.instance_attempts)
    rows = rows.filter((rows.submitted == 1) & (rows.time >= TRACE_START))
    return rows.group_by(hour=((rows.time - TRACE_START) // HOUR).cast("int64")).aggregate(
        n_new=rows.new.sum().cast("int64"), n_again=(rows.submitted - rows.new).sum().cast("int64")
    )


def plot(result: pa.Table) -> alt.Chart:
    """Draw both rates."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, long

    series = {"n_new": "new", "n_again": "resubmitted"}
    chart: alt.Chart = (
        alt.Chart(long(result, ["hour"], series), title="Submissions per hour", width=WIDTH, height=HEIGHT)
        .mark_line()
        .encode(
            x=alt.X("hour:Q", title="hour of the trace", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("value:Q", title="tasks per hour"),
            color=alt.Color("series:N", title=None),
            tooltip=["hour:Q", "series:N", "value:Q"],
        )
    )
    return chart


def _lumps(result: pa.Table) -> int:
    days = result["hour"].to_numpy() // 24
    if not len(days) or days.max() < 6:
        raise NotApplicable("the trace is shorter than a week")
    per_day = np.bincount(days, weights=result["n_again"].to_numpy())
    median = np.median(per_day)
    if median == 0:
        raise NotApplicable("no task is resubmitted on most days")
    busy = np.concatenate([[False], per_day > 2 * median])
    return int((busy[1:] & ~busy[:-1]).sum())


def _ratio(result: pa.Table) -> float:
    new = result["n_new"].to_numpy()
    if not np.median(new):
        raise NotApplicable("no new task arrives in most hours")
    return float(np.median(result["n_again"].to_numpy()) / np.median(new))


CLAIMS = (
    Claim(
        "S4-obs3",
        "resubmissions concentrate in two periods",
        "2 lumps",
        _lumps,
        lambda n: n == 2,
        "Zhu et al., Observation 3",
    ),
    Claim(
        "TIR-resubmitted",
        "resubmitted to new tasks, medians of hours",
        "0.66 in 2011, 2.26 in 2019",
        _ratio,
        lambda v: 0.6 <= v <= 0.72 or 2.0 <= v <= 2.5,
        "Tirmazi et al., EuroSys'20",
    ),
)

RECIPE = Recipe(
    "resubmissions",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_events",),
    reference="Zhu et al., Observation 3",
    order=23,
    topic="Submissions and completions",
)
