"""How often are running tasks evicted or killed, and how often do they fail?

Ends of running attempts per hour that attempts ran within the trace, per tier and per scheduling class.
Time before the start of the trace and after its end does not count.

Reference: Verma et al., EuroSys'15, Fig. 3.
"""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

from borgtrace.analyses._attempts import is_inside, last_time, of_jobs, time_running
from borgtrace.analyses._breakdown import GROUP_COLUMNS, cuts, named, tier_rows
from borgtrace.analyses._measures import part
from borgtrace.recipe import Claim, NotApplicable, Recipe, Row, Tables, from_source
from borgtrace.recipe.charts import Chart, Plot, bar, log_axis, series
from borgtrace.recipe.columns import count, declare, number
from borgtrace.recipe.criteria import at_least
from borgtrace.schema import TERMINAL_EVENTS
from borgtrace.schema.time import AFTER_TRACE

_ENDS = {kind: kind.lower() for kind in TERMINAL_EVENTS}
RESULT = declare(
    "hazards",
    "group of tasks",
    ("grouping", "group"),
    *GROUP_COLUMNS,
    number("hours", "h", "Hours that attempts of the group ran within the trace."),
    *(count(f"n_{name}", f"Running attempts that ended by {kind}.") for kind, name in _ENDS.items()),
    *(number(f"{name}_rate", "1/h", f"{kind} per task-hour.", nullable=True) for kind, name in _ENDS.items()),
)


def compute(tables: Tables) -> list[Row]:
    """Return ends per task-hour."""
    tasks = of_jobs(tables.instance_attempts)
    # What ran already at time 0 counts, with its hours inside the trace: without it the long-running would be
    # missing.
    ran = tasks.filter(tasks.schedule_time < AFTER_TRACE).cross_join(last_time(tables.instance_events))
    # An end after the trace has no hours that belong to it.
    inside = is_inside(ran.end_time)
    numbers = {f"n_{name}": (inside & (ran.end_type == kind)).cast("int64") for kind, name in _ENDS.items()}
    # Whole milliseconds: integers add up to the same sum in every order.
    counted = named(tables, ran.mutate(milliseconds=time_running(ran) // 1000, **numbers))
    names = ("milliseconds", *numbers)
    sums = counted.group_by(["tier", "class_"]).aggregate(**{name: counted[name].sum().cast("int64") for name in names})
    found = tables.fetch(sums, "sums").to_pylist()
    NotApplicable.unless(found, "no task ever runs")
    totals: dict[tuple[str, str], Counter[str]] = {}
    for row in found:
        # Rates do not add up, their numerators and denominators do.
        for cut in cuts(row["tier"], row["class_"]):
            totals.setdefault(cut, Counter()).update({name: row[name] or 0 for name in names})
    return [_row(*cut, total) for cut, total in totals.items()]


def _row(grouping: str, group: str, total: dict[str, int]) -> Row:
    hours = total.pop("milliseconds") / 3.6e6
    rates = {f"{name}_rate": total[f"n_{name}"] / hours if hours else None for name in _ENDS.values()}
    return {"grouping": grouping, "group": group, "hours": hours, **total, **rates}


def plot(result: pa.Table) -> Chart:
    """Draw evictions, failures and kills per task-hour and tier."""
    rates = log_axis("value", "per hour of running", least=0.001, type="symlog", constant=0.001)
    ends = series(rates, evict_rate="EVICT", fail_rate="FAIL", kill_rate="KILL")
    plotted = Plot(tier_rows(result, with_all=False), x="series", y=ends, xOffset="tier", color="tier")
    return plotted.add(bar(), tips=()).draw("Ends per task-hour")


_TOP_TIERS = part("n_evict", "no task is evicted", {"grouping": "tier"}, group=("production", "monitoring"))
CLAIMS = from_source(
    "Tirmazi et al., EuroSys'20, section 6",
    Claim(
        "TIR-evictions",
        "evictions hit non-production work",
        at_least(0.95, published="0.966 of the evicted collections (2019)"),
        lambda r: 1.0 - _TOP_TIERS(r),
    ),
)

RECIPE = Recipe(RESULT, compute, plot, CLAIMS, reads=("instance_events",), order=57)
