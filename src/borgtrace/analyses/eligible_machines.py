"""On how many machines can a task run, given its placement constraints?

One row per day: tasks submitted (resubmissions included), the share of them that carry constraints,
and, over those, quantiles of the share of machines that meet all their constraints at the end of the
day.

Reference: 2011 format document, task constraints; Sharma et al., SoCC'11.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from borgtrace.analyses._attempts import TASK, of_jobs
from borgtrace.analyses._constraints import by_day, day_of, fingerprints, on_day, shares_by_day
from borgtrace.analyses._quantiles import Counts
from borgtrace.recipe import NotApplicable, Recipe, Row, Tables
from borgtrace.recipe.charts import Chart, Plot, axis, line, series
from borgtrace.recipe.columns import count, declare, number, whole
from borgtrace.schema.time import AFTER_TRACE

_PERCENTS = (0.0, 10.0, 50.0, 90.0)
RESULT = declare(
    "eligible_machines",
    "day",
    ("day",),
    whole("day", "d", "Day since the start of the trace, from 0; −1 is before it."),
    count("n_submitted", "Submissions of tasks."),
    count("n_constrained", "Of these, with placement constraints."),
    count("n_machines", "Machines at the end of the day."),
    *(
        number(
            f"share_p{p:g}",
            "1",
            f"Share of machines eligible, {p:g}th percentile over constrained submissions.",
            nullable=True,
        )
        for p in _PERCENTS
    ),
)


def compute(tables: Tables) -> list[Row]:
    """Return the share of eligible machines per day."""
    events, sets = fingerprints(tables)
    tasks = of_jobs(tables.instance_attempts)
    # Time 0 stays: what was submitted before the trace makes day −1.
    tasks = tasks.filter(tasks.submit_time < AFTER_TRACE)
    dated = tasks.select(*TASK, time="submit_time", day=day_of(tasks.submit_time))
    demands = dated.left_join(events, [*TASK, "time"]).select("day", "fingerprint")
    found = tables.fetch(demands.group_by(["day", "fingerprint"]).aggregate(n=demands.count()), "demands")
    states = shares_by_day(tables, sets)
    if not found.num_rows or not states:
        raise NotApplicable("no task is submitted, or no machine is there")
    rows = []
    for day, demand in sorted(by_day(found).items()):
        state = on_day(states, day)
        # Over constrained submissions alone: the others may use every machine.
        known = [(state.share[row["fingerprint"]], row["n"]) for row in demand if row["fingerprint"] in state.share]
        eligible = Counts(np.array([share for share, _ in known]), np.array([n for _, n in known], np.int64))
        rows.append(
            {
                "day": day,
                "n_submitted": sum(row["n"] for row in demand),
                "n_constrained": sum(row["n"] for row in demand if row["fingerprint"] is not None),
                "n_machines": state.n_machines,
                **eligible.columns("share_p", _PERCENTS),
            }
        )
    return rows


def plot(result: pa.Table) -> Chart:
    """Draw the share of eligible machines per day."""
    names = {f"share_p{p:g}": f"{p:g}th percentile" if p else "lowest" for p in _PERCENTS}
    labels = {"labelExpr": "datum.value < 0 ? 'before' : datum.label", "labelAngle": 0}
    x = axis("day", "day of the trace", type="O", axis=labels)
    plotted = Plot(result, x=x, y=series("share of the machines", **names)).add(line(point=True), tips=())
    return plotted.draw("Machines a constrained task may use")


RECIPE = Recipe(
    RESULT,
    compute,
    plot,
    reads=("instance_constraints", "instance_events", "machine_events", "machine_attributes"),
    order=90,
)
