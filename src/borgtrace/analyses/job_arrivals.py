"""How many jobs arrive per hour?

Jobs whose first SUBMIT lies within the trace, per hour since its start; the last hour is left out where the
trace ends within it.

Reference: Tirmazi et al., EuroSys'20, Fig. 8.
"""

import numpy as np
import pyarrow as pa

from borgtrace.analyses._answers import MONTH_2011, MONTH_2019
from borgtrace.analyses._attempts import last_time, new_jobs
from borgtrace.analyses._histograms import period
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables, from_source, near
from borgtrace.recipe.charts import Chart, Plot, axis, hour_axis, line
from borgtrace.schema.time import HOUR, TRACE_START


def compute(tables: Tables) -> pa.Table:
    """Return the number of new jobs per whole hour."""
    new = new_jobs(tables.collection_attempts)
    per_hour = new.group_by(hour=period(new.submit_time, HOUR, TRACE_START)).aggregate(n=new.count())
    found = tables.fetch(per_hour, "hours")
    last = tables.fetch(last_time(tables.collection_events), "horizon").to_pylist()
    NotApplicable.unless(found.num_rows, "no job arrives within the trace")
    # Whole hours only: the last one would count as a quiet hour.
    n_hours = max((last[0]["last"] - TRACE_START) // HOUR, 0)
    NotApplicable.unless(n_hours, "the trace is shorter than an hour")
    # Hours without a job have no group and count 0.
    counts = np.bincount(found["hour"].to_numpy(), found["n"].to_numpy(), n_hours)[:n_hours].astype(np.int64)
    return pa.table({"hour": np.arange(n_hours, dtype=np.int64), "n_jobs": counts})


def plot(result: pa.Table) -> Chart:
    """Draw arrivals per hour."""
    return Plot(result, x=hour_axis(), y=axis("n_jobs", "jobs")).add(line()).draw("New jobs per hour")


def _mean(result: pa.Table) -> float:
    return float(np.mean(result["n_jobs"].to_numpy()))


def _median(result: pa.Table) -> float:
    return float(np.median(result["n_jobs"].to_numpy()))


def _days(result: pa.Table) -> float:
    return result.num_rows / 24


# Hours of a day differ from those of a week: a mean is that of the month.
_PER_HOUR = (
    ("mean-2011", 964, _mean, MONTH_2011),
    ("median-2011", 885, _median, MONTH_2011),
    ("mean-2019", 3360, _mean, MONTH_2019),
    ("median-2019", 3309, _median, MONTH_2019),
)
_TIRMAZI = "Tirmazi et al., EuroSys'20"
CLAIMS = from_source(
    f"{_TIRMAZI}, Fig. 8",
    *(
        Claim(f"TIR-jobs-{id_}", f"{id_[:-5]} number of jobs per hour", near(n, relative=0.02), measure, scope=scope)
        for id_, n, measure, scope in _PER_HOUR
    ),
    # Two authors, two lengths: at most one can be right.
    Claim("G11-days", "the trace of 2011 lasts 29 days", near(29, 0.5), _days, source="ClusterData2011_2.md"),
    Claim("TIR-days", "the trace of 2011 lasts 30 days", near(30, 0.5), _days, source=f"{_TIRMAZI}, Table 1"),
    scope=MONTH_2011,
)

RECIPE = Recipe.declared(compute, plot, CLAIMS, reads=("collection_events",), order=51)
