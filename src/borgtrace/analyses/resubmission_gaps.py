"""What happens after an attempt ends: is the task submitted again, and how soon?

One row per way to end and tier: attempts that ended, those that were followed by another attempt, and
quantiles of the gap between the two.

Reference: 2011 format document, job and task life cycles.
"""

from borgtrace.analyses._attempts import is_known, of_jobs
from borgtrace.analyses._quantiles import fetch_counts
from borgtrace.analyses._windows import tier
from borgtrace.question import NotApplicable, Recipe, Row, Tables

_PERCENTS = (50.0, 90.0, 99.0)
_NEVER = -1
"""Stands for "not submitted again" while gaps are counted."""


def compute(tables: Tables) -> list[Row]:
    """Return how often and how soon tasks are submitted again."""
    ended = of_jobs(tables.instance_attempts)
    # What ended before the trace may have been submitted again before it too.
    ended = ended.filter(ended.end_type.notnull() & is_known(ended.end_time)).mutate(
        tier=tier(tables, ended.priority)
    )
    # A number for "never": `counts` leaves NULLs out, and these attempts are the denominator.
    gap = (ended.next_time - ended.end_time).fill_null(_NEVER)
    groups = fetch_counts(tables, ended, gap, "gaps", ("end_type", "tier"))
    NotApplicable.unless(groups, "no attempt ended within the trace")
    rows = []
    for (end_type, name), found in groups.items():
        again = found.chosen(found.values != _NEVER)
        key = {"end_type": end_type, "tier": name, "n": len(found), "n_again": len(again)}
        rows.append({**key, **again.per(1e6).columns("gap_p", _PERCENTS)})
    return rows


RECIPE = Recipe.declared(compute, reads=("instance_events",), order=24)
