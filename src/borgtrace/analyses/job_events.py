"""What happens to jobs?

One row per event type: how many such events there are, and how many jobs have one.  Alloc sets are left
out.

Reference: 2011 format document, job events table.
"""

import ibis

from borgtrace.analyses._attempts import of_jobs
from borgtrace.question import Recipe, Tables

ANY = "any"


def compute(tables: Tables) -> ibis.Table:
    """Return events and jobs per event type."""
    events = of_jobs(tables.collection_events)
    numbers = {"n_events": events.count(), "n_jobs": events.collection_id.nunique()}
    # Not the sum of the rows: a job has events of several types.
    total = events.aggregate(**numbers).select(
        type=ibis.literal(ANY), n_events="n_events", n_jobs="n_jobs"
    )
    return events.group_by("type").aggregate(**numbers).union(total)


RECIPE = Recipe.declared(compute, reads=("collection_events",), order=50)
