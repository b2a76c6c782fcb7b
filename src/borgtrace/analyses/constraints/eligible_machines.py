"""On how many machines can a task run, given its placement constraints?

One row per day: tasks submitted (resubmissions included), the share of them that carry constraints,
and, over those, quantiles of the share of machines that meet all their constraints at the time of the
submission.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses.shared.attempts import TASK, of_jobs
from borgtrace.analyses.shared.histograms import period
from borgtrace.analyses.shared.quantiles import Counts
from borgtrace.kernels.arrays import Numbers
from borgtrace.question import Answer, Column, NotApplicable, Question, Row, Tables, charts
from borgtrace.question.constraints import fingerprints
from borgtrace.question.eligibility import READS, Eligibility, shares_of
from borgtrace.schema.time import AFTER_TRACE, DAY, TRACE_START

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="day",
    key=[Column("day", "int64", "d", "Day since the start of the trace, from 0; −1 is before it.")],
    columns=[
        Column("n_submitted", "int64", "count", "Submissions of tasks."),
        Column("n_constrained", "int64", "count", "Of these, with placement constraints."),
        Column("n_machines", "int64", "count", "Machines at the end of the day."),
        Column(
            "share_p0",
            "float64",
            "1",
            "Share of machines eligible, 0th percentile over constrained submissions.",
            nullable=True,
        ),
        Column(
            "share_p10",
            "float64",
            "1",
            "Share of machines eligible, 10th percentile over constrained submissions.",
            nullable=True,
        ),
        Column(
            "share_p50",
            "float64",
            "1",
            "Share of machines eligible, 50th percentile over constrained submissions.",
            nullable=True,
        ),
        Column(
            "share_p90",
            "float64",
            "1",
            "Share of machines eligible, 90th percentile over constrained submissions.",
            nullable=True,
        ),
    ],
)


SHARE_PERCENTS = (0.0, 10.0, 50.0, 90.0)
SERIES = {
    "share_p0": "lowest",
    "share_p10": "10th percentile",
    "share_p50": "50th percentile",
    "share_p90": "90th percentile",
}


def compute(tables: Tables) -> list[Row]:
    """Return the share of eligible machines per day."""
    events, sets = fingerprints(tables)
    attempts = of_jobs(tables.instance_attempts)
    # Time 0 stays: what was submitted before the trace makes day −1.
    attempts = attempts.filter(attempts.submit_time < AFTER_TRACE)
    submissions = attempts.select(*TASK, time="submit_time", day=day_of(attempts.submit_time))
    submissions = submissions.left_join(events, [*TASK, "time"])
    submissions = submissions.select("day", "time", "fingerprint")
    by_day = submissions.group_by("day").aggregate(
        n_submitted=submissions.count(), n_constrained=submissions.fingerprint.count()
    )
    days = tables.fetch(by_day, "days").sort_by("day").to_pylist()
    # Only over constrained submissions: the others may use every machine.
    constrained = submissions.filter(submissions.fingerprint.notnull())
    demands = tables.fetch(constrained, "demands")
    if not days:
        raise NotApplicable("no task is submitted")
    cell = Eligibility(tables)
    day_of_demand = demands["day"].to_numpy()
    shares = shares_of(cell, sets, demands)
    for row in days:
        row["n_machines"] = machines_at_end(cell, row["day"])
        row.update(quantiles_of_shares(shares[day_of_demand == row["day"]]))
    return days


def day_of(time: ir.IntegerColumn) -> ir.IntegerColumn:
    """Return the day of the trace, from 0; −1 is before it."""
    is_before = time < TRACE_START
    return is_before.ifelse(ibis.literal(-1, "int64"), period(time, DAY, TRACE_START))


def machines_at_end(cell: Eligibility, day: int) -> int:
    """Return how many machines there are at the end of a day."""
    last_microsecond = (day + 1) * DAY + TRACE_START - 1
    return int(cell.numbers((), np.array([last_microsecond]))[0])


def quantiles_of_shares(shares: Numbers) -> dict[str, float | None]:
    """Return the columns of quantiles; shares that are not known (NaN) are left out."""
    values, n = np.unique(shares[~np.isnan(shares)], return_counts=True)
    return Counts(values, n).columns("share_p", SHARE_PERCENTS)


def chart(answer: pa.Table) -> alt.Chart:
    """Draw quantiles of the share of machines that a constrained task may use, over the days."""
    import altair as alt

    rows = charts.melted(answer.to_pylist(), SERIES)
    return (
        charts.base(rows, title="Machines a constrained task may use")
        .mark_line(point=True)
        .encode(
            x=alt.X(
                "day:O",
                title="day of the trace",
                axis=alt.Axis(labelExpr="datum.value < 0 ? 'before' : datum.label", labelAngle=0),
            ),
            y=alt.Y("value:Q", title="share of the machines"),
            color=alt.Color("series:N", title=None, sort=list(SERIES.values())),
            tooltip=charts.tooltips(rows, "day", "value", "series"),
        )
    )


QUESTION = Question(
    name="eligible_machines",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    reads=READS,
    reference="2011 format document, task constraints; Sharma et al., SoCC'11",
)
