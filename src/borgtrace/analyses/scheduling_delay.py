"""How long do tasks wait to be scheduled?

Quantiles of SCHEDULE − SUBMIT per tier and per scheduling class, counted in hundredths of a second.  Waits
that began before the trace are unknown and left out.

Reference: Zhu et al., Fig. 6; Tirmazi et al., EuroSys'20, Fig. 10.
"""

from __future__ import annotations

import pyarrow as pa

from borgtrace.analyses._attempts import HUNDREDTH, of_jobs
from borgtrace.analyses._breakdown import GROUP_COLUMNS, count_by_group, tier_rows
from borgtrace.analyses._measures import value
from borgtrace.analyses._quantiles import PERCENTS
from borgtrace.recipe import Claim, NotApplicable, Recipe, Row, Tables, from_source
from borgtrace.recipe.charts import Chart, Plot, axis, duration_axis, line
from borgtrace.recipe.columns import count, declare, number, seconds
from borgtrace.recipe.criteria import below

RESULT = declare(
    "scheduling_delay",
    "group of tasks and percentile",
    ("grouping", "group", "percent"),
    *GROUP_COLUMNS,
    number("percent", "1", "Percentile; 100 is the maximum."),
    seconds("seconds", "Wait from SUBMIT to SCHEDULE."),
    seconds("mean", "Mean wait of the group."),
    count("n", "Attempts of the group with a wait."),
)


def compute(tables: Tables) -> list[Row]:
    """Return quantiles of the waits, for all tasks, per tier and per class."""
    tasks = of_jobs(tables.instance_attempts)
    # Rounded down: a wait shorter than a hundredth of a second is 0.
    groups = count_by_group(tables, tasks, (tasks.wait // HUNDREDTH).cast("int64"), "waits", per=100.0)
    NotApplicable.unless(groups, "no wait lies within the trace")
    rows = []
    for (grouping, group), found in groups.items():
        rows += found.rows((*PERCENTS, 100.0), grouping=grouping, group=group, mean=found.mean(), n=len(found))
    return rows


def plot(result: pa.Table) -> Chart:
    """Draw the quantile curves per tier."""
    x, y = duration_axis("seconds"), axis("percent", "percent of attempts")
    plotted = Plot(tier_rows(result), RESULT, x=x, y=y, color="tier")
    return plotted.add(line(point=True), tips=("n",)).draw("Waiting time until scheduled")


CLAIMS = from_source(
    "Verma et al., EuroSys'15, section 3.2",
    Claim(
        "V-start",
        "the median start latency is about 25 s, most of it package installation, which the trace counts as running",
        below(25.0, "median wait ≪ 25 s"),
        value("seconds", "no task was scheduled", group="all", percent=50.0),
    ),
)

RECIPE = Recipe(RESULT, compute, plot, CLAIMS, reads=("instance_events",), order=42)
