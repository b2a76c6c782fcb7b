"""What happens to jobs?

One row per event type: how many such events there are, and how many jobs have one.  Alloc sets are left
out.

Reference: 2011 format document, job events table.
"""

import ibis
import pyarrow as pa

from borgtrace.analyses._answers import IN_2011, MONTH_2011, Measure, part
from borgtrace.analyses._attempts import of_jobs
from borgtrace.recipe import Claim, Recipe, Tables, above, at_most, equals, from_source, near
from borgtrace.recipe.charts import Chart, Plot, axis, bar

ANY = "any"


def compute(tables: Tables) -> ibis.Table:
    """Return events and jobs per event type."""
    events = of_jobs(tables.collection_events)
    numbers = {"n_events": events.count(), "n_jobs": events.collection_id.nunique()}
    # Not the sum of the rows: a job has events of several types.
    total = events.aggregate(**numbers).select(type=ibis.literal(ANY), n_events="n_events", n_jobs="n_jobs")
    return events.group_by("type").aggregate(**numbers).union(total)


def plot(result: pa.Table) -> Chart:
    """Draw the jobs per event type."""
    plotted = Plot(result, x=axis("n_jobs", "jobs"), y=axis("type", order="-x"))
    return plotted.add(bar()).draw("Jobs by event")


def _share(type_: str) -> Measure:
    return part("n_jobs", "there is no job", {"type": ANY}, type=type_)


def _n_jobs(result: pa.Table) -> int:
    return sum(row["n_jobs"] for row in result.to_pylist() if row["type"] == ANY)


CLAIMS = from_source(
    "count over the job events of 2011",
    Claim("JE-finish", "most jobs finish", above(0.5, published=0.574), _share("FINISH")),
    Claim("JE-kill", "two jobs in five are killed", near(0.405, 0.05), _share("KILL")),
    Claim("JE-fail", "few jobs fail", at_most(0.03, published=0.015), _share("FAIL")),
    Claim("JE-jobs", "jobs", equals(672_074), _n_jobs, scope=MONTH_2011),
    kind="criterion",
    scope=IN_2011,
)

RECIPE = Recipe.declared(compute, plot, CLAIMS, reads=("collection_events",), order=50)
