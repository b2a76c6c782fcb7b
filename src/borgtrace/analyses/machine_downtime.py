"""How long are machines away?

Quantiles of the time from a REMOVE to the next ADD of the same machine. Machines that never come
back are counted by *machine_removals*.

Reference: 2011 format document, machine events.
"""

import ibis
import pyarrow as pa

from borgtrace.analyses._answers import MONTH_2011, Measure, value
from borgtrace.analyses._quantiles import PERCENTS, fetch_counts
from borgtrace.lifecycle.order import SOURCE_ORDER
from borgtrace.recipe import Claim, Criterion, NotApplicable, Recipe, Row, Tables, at_least, from_source, near
from borgtrace.recipe.charts import Chart, Plot, axis, duration_axis, step

_ENOUGH = 100
"""Absences, before their quantiles are compared."""


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


def plot(result: pa.Table) -> Chart:
    """Draw the quantile curve, time on a logarithmic axis."""
    plotted = Plot(result, x=duration_axis("seconds"), y=axis("percent", "percent of absences"))
    return plotted.add(step(point=True)).draw("How long machines are away")


def _away(percent: float) -> Measure:
    return value("seconds", f"fewer than {_ENOUGH} absences", percent=percent, n=at_least(_ENOUGH))


def _near(seconds: int) -> Criterion:
    return near(seconds, relative=0.01, published=f"{seconds:,} s")


CLAIMS = from_source(
    "count over the machine events of 2011",
    Claim("ME-away-median", "half of the absences last less than 17 minutes", _near(998), _away(50.0), format=",.0f"),
    Claim("ME-away-day", "one absence in twenty lasts longer than a day", _near(94_522), _away(95.0), format=",.0f"),
    kind="criterion",
    scope=MONTH_2011,
)

RECIPE = Recipe.declared(compute, plot, CLAIMS, reads=("machine_events",), order=12)
