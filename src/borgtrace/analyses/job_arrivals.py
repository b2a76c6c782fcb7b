"""How many jobs arrive per hour?

Jobs whose first SUBMIT lies within the trace, per hour since its start; the last hour is left out where the
trace ends within it.

Reference: Tirmazi et al., EuroSys'20, Fig. 8.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from borgtrace.analyses._attempts import last_time, new_jobs
from borgtrace.analyses._histograms import period
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables, from_source
from borgtrace.recipe.charts import Chart, Plot, axis, hour_axis, line
from borgtrace.recipe.columns import count, declare, whole
from borgtrace.recipe.criteria import any_of, near
from borgtrace.schema.time import HOUR, TRACE_START

RESULT = declare(
    "job_arrivals",
    "hour",
    ("hour",),
    whole("hour", "h", "Hour since the start of the trace, from 0."),
    count("n_jobs", "Jobs submitted for the first time."),
)


def compute(tables: Tables) -> pa.Table:
    """Return the number of new jobs per whole hour."""
    new = new_jobs(tables.collection_attempts)
    per_hour = new.group_by(hour=period(new.submit_time, HOUR, TRACE_START)).aggregate(n=new.count())
    found = tables.fetch(per_hour, "hours")
    last = tables.fetch(last_time(tables.collection_events), "horizon").to_pylist()
    NotApplicable.unless(found.num_rows, "no job arrives within the trace")
    # Whole hours only: the last one would count as a quiet hour.
    n_hours = max((last[0]["last"] - TRACE_START) // HOUR, 0)
    if n_hours == 0:
        raise NotApplicable("the trace is shorter than an hour")
    # Hours without a job have no group and count 0.
    counts = np.bincount(found["hour"].to_numpy(), found["n"].to_numpy(), n_hours)[:n_hours].astype(np.int64)
    return pa.table({"hour": np.arange(n_hours, dtype=np.int64), "n_jobs": counts})


def plot(result: pa.Table) -> Chart:
    """Draw arrivals per hour."""
    return Plot(result, RESULT, x=hour_axis(), y=axis("n_jobs", "jobs")).add(line()).draw("New jobs per hour")


CLAIMS = from_source(
    "Tirmazi et al., EuroSys'20, Fig. 8",
    Claim(
        "TIR-jobs-mean",
        "mean number of jobs per hour",
        # A result does not say which trace it is of: either number confirms.
        any_of(near(964, relative=0.02), near(3360, relative=0.02), published="964 in 2011, 3360 in 2019"),
        lambda r: float(np.mean(r["n_jobs"].to_numpy())),
    ),
    Claim(
        "TIR-jobs-median",
        "median number of jobs per hour",
        any_of(near(885, relative=0.02), near(3309, relative=0.02), published="885 in 2011, 3309 in 2019"),
        lambda r: float(np.median(r["n_jobs"].to_numpy())),
    ),
)

RECIPE = Recipe(RESULT, compute, plot, CLAIMS, reads=("collection_events",), order=51)
