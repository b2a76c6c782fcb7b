"""How long are machines away?

Quantiles of the time from a REMOVE to the next ADD of the same machine. Machines that never come
back are counted by *machine_removals*.

Reference: 2011 format document, machine events.
"""

import ibis

from borgtrace.analyses._quantiles import PERCENTS, fetch_counts
from borgtrace.lifecycle.order import SOURCE_ORDER
from borgtrace.question import NotApplicable, Recipe, Row, Tables


def compute(tables: Tables) -> list[Row]:
    """Return quantiles of the absences of machines."""
    events = tables.machine_events
    life = ibis.window(group_by="machine_id", order_by=list(SOURCE_ORDER))
    # The event just before: in 2011 nothing but ADD follows a REMOVE (8,860 times).
    seen = events.mutate(before=events.type.lag().over(life), since=events.time.lag().over(life))
    back = seen.filter((seen.before == "REMOVE") & (seen.type == "ADD"))
    groups = fetch_counts(tables, back, back.time - back.since, "absences", per=1e6)
    NotApplicable.unless(groups, "no machine was removed and came back")
    return groups[()].rows((0.0, *PERCENTS, 100.0), n=len(groups[()]))


RECIPE = Recipe.declared(compute, reads=("machine_events",), order=12)
