"""How many jobs arrive per hour?

Jobs whose first SUBMIT lies within the trace, per hour since its start; the last hour is left out where the
trace ends within it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from borgtrace.analyses._processes import new_jobs
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table
from borgtrace.schema.time import AFTER_TRACE, HOUR, TRACE_START

if TYPE_CHECKING:
    import altair as alt

RESULT = Table(
    "job_arrivals",
    "hour",
    ("hour",),
    (
        Column("hour", "int64", "h", "Hour since the start of the trace, from 0.", nullable=False),
        Column("n_jobs", "int64", "count", "Jobs submitted for the first time.", nullable=False),
    ),
)


def compute(tables: Tables) -> pa.Table:
    """Return the number of new jobs per whole hour."""
    new = new_jobs(tables.collection_attempts)
    hour = ((new.submit_time - TRACE_START) // HOUR).cast("int64")
    per_hour = tables.fetch(new.group_by(hour=hour).aggregate(n=new.count()), "hours")
    events = tables.collection_events
    last = tables.fetch(
        events.filter(events.time < AFTER_TRACE).aggregate(last=events.time.max()), "horizon"
    ).to_pylist()
    if not per_hour.num_rows:
        raise NotApplicable("no job arrives within the trace")
    n_hours = max((last[0]["last"] - TRACE_START) // HOUR, 0)
    if n_hours == 0:
        raise NotApplicable("the trace is shorter than an hour")
    counts = np.zeros(int(n_hours), np.int64)
    for row in per_hour.to_pylist():
        if row["hour"] < n_hours:
            counts[row["hour"]] = row["n"]
    return pa.table({"hour": np.arange(n_hours, dtype=np.int64), "n_jobs": counts})


def plot(result: pa.Table) -> alt.Chart:
    """Draw arrivals per hour."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, rows

    chart: alt.Chart = (
        alt.Chart(rows(result), title="New jobs per hour", width=WIDTH, height=HEIGHT)
        .mark_line()
        .encode(
            x=alt.X("hour:Q", title="hour of the trace", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("n_jobs:Q", title="jobs"),
            tooltip=["hour:Q", "n_jobs:Q"],
        )
    )
    return chart


CLAIMS = (
    Claim(
        "TIR-jobs-mean",
        "mean number of jobs per hour",
        "964 in 2011, 3360 in 2019",
        lambda r: float(np.mean(r["n_jobs"].to_numpy())),
        lambda v: abs(v / 964 - 1) <= 0.02 or abs(v / 3360 - 1) <= 0.02,
        "Tirmazi et al., EuroSys'20, Fig. 8",
    ),
    Claim(
        "TIR-jobs-median",
        "median number of jobs per hour",
        "885 in 2011, 3309 in 2019",
        lambda r: float(np.median(r["n_jobs"].to_numpy())),
        lambda v: abs(v / 885 - 1) <= 0.02 or abs(v / 3309 - 1) <= 0.02,
        "Tirmazi et al., EuroSys'20, Fig. 8",
    ),
)

RECIPE = Recipe(
    "job_arrivals",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("collection_events",),
    reference="Tirmazi et al., EuroSys'20, Fig. 8",
    order=51,
    topic="Jobs and users",
)
