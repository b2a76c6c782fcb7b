"""How many jobs arrive per hour?

Jobs whose first SUBMIT lies within the trace, per hour since its start; the last hour is left out where the
trace ends within it.

Reference: Tirmazi et al., EuroSys'20, Fig. 8.
"""

import numpy as np
import pyarrow as pa

from borgtrace.analyses._attempts import last_time, new_jobs
from borgtrace.analyses._histograms import period
from borgtrace.question import NotApplicable, Recipe, Tables
from borgtrace.schema.time import HOUR, TRACE_START


def compute(tables: Tables) -> pa.Table:
    """Return the number of new jobs per whole hour."""
    new = new_jobs(tables.collection_attempts)
    per_hour = new.group_by(hour=period(new.submit_time, HOUR, TRACE_START)).aggregate(
        n=new.count()
    )
    found = tables.fetch(per_hour, "hours")
    last = tables.fetch(last_time(tables.collection_events), "horizon").to_pylist()
    NotApplicable.unless(found.num_rows, "no job arrives within the trace")
    # Whole hours only: the last one would count as a quiet hour.
    n_hours = max((last[0]["last"] - TRACE_START) // HOUR, 0)
    NotApplicable.unless(n_hours, "the trace is shorter than an hour")
    # Hours without a job have no group and count 0.
    counts = np.bincount(found["hour"].to_numpy(), found["n"].to_numpy(), n_hours)[:n_hours].astype(
        np.int64
    )
    return pa.table({"hour": np.arange(n_hours, dtype=np.int64), "n_jobs": counts})


RECIPE = Recipe.declared(compute, reads=("collection_events",), order=51)
