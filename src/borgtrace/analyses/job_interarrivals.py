"""How much time passes between job arrivals?

Quantiles of the time between the first SUBMITs of consecutive jobs within the trace, to the
microsecond.

Reference: Tirmazi et al., EuroSys'20, section 7.
"""

import ibis

from borgtrace.analyses._attempts import new_jobs
from borgtrace.analyses._quantiles import PERCENTS, fetch_counts
from borgtrace.question import NotApplicable, Recipe, Row, Tables


def compute(tables: Tables) -> list[Row]:
    """Return quantiles of the gaps between jobs."""
    new = new_jobs(tables.collection_attempts)
    # The id settles ties, for the gap between two jobs of one µs is 0 either way round.
    before = new.submit_time.lag().over(ibis.window(order_by=["submit_time", "collection_id"]))
    gaps = new.select(gap=new.submit_time - before)
    groups = fetch_counts(tables, gaps, gaps.gap, "gaps", per=1e6)
    NotApplicable.unless(groups, "fewer than two jobs arrive within the trace")
    found = groups[()]
    mean = found.mean()
    # All jobs at one instant: no mean gap to compare with.
    squared_cv = found.variance() / mean**2 if mean else None
    return found.rows((*PERCENTS, 100.0), mean=mean, squared_cv=squared_cv, n=len(found))


RECIPE = Recipe.declared(compute, reads=("collection_events",), order=52)
