"""On how many machines can a task run, given its placement constraints?

One row per day: tasks submitted (resubmissions included), the share of them that carry constraints,
and, over those, quantiles of the share of machines that meet all their constraints at the instant of the
submission.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.analyses.shared.attempts import TASK, of_jobs
from borgtrace.analyses.shared.histograms import period
from borgtrace.analyses.shared.quantiles import Counts
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


_PERCENTS = (0.0, 10.0, 50.0, 90.0)


def compute(tables: Tables) -> list[Row]:
    """Return the share of eligible machines per day."""
    events, sets = fingerprints(tables)
    tasks = of_jobs(tables.instance_attempts)
    # Time 0 stays: what was submitted before the trace makes day −1.
    tasks = tasks.filter(tasks.submit_time < AFTER_TRACE)
    dated = tasks.select(*TASK, time="submit_time", day=day_of(tasks.submit_time))
    demands = dated.left_join(events, [*TASK, "time"]).select("day", "time", "fingerprint")
    per_day = demands.group_by("day").aggregate(
        n_submitted=demands.count(), n_constrained=demands.fingerprint.count()
    )
    days = tables.fetch(per_day, "days").sort_by("day").to_pylist()
    # Over constrained submissions alone: the others may use every machine.
    constrained = demands.filter(demands.fingerprint.notnull())
    found = tables.fetch(constrained, "demands")
    if not days:
        raise NotApplicable("no task is submitted")
    cell = Eligibility(tables)
    of_day, shares = found["day"].to_numpy(), shares_of(cell, sets, found)
    return [
        {
            **row,
            "n_machines": int(
                cell.numbers((), np.array([(row["day"] + 1) * DAY + TRACE_START - 1]))[0]
            ),
            **_quantiles(shares[of_day == row["day"]]),
        }
        for row in days
    ]


def day_of(time: ir.IntegerColumn) -> ir.IntegerColumn:
    """Return the day of the trace, from 0; −1 is before it."""
    return (time < TRACE_START).ifelse(ibis.literal(-1, "int64"), period(time, DAY, TRACE_START))


def _quantiles(shares: npt.NDArray[np.float64]) -> dict[str, float | None]:
    values, n = np.unique(shares[~np.isnan(shares)], return_counts=True)
    return Counts(values, n).columns("share_p", _PERCENTS)


def chart(answer: pa.Table) -> alt.Chart:
    """Draw: machines a constrained task may use."""
    import altair as alt

    rows = answer.to_pylist()
    rows = charts.melted(
        rows,
        {
            "share_p0": "lowest",
            "share_p10": "10th percentile",
            "share_p50": "50th percentile",
            "share_p90": "90th percentile",
        },
    )
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
            color=alt.Color(
                "series:N",
                title=None,
                sort=["lowest", "10th percentile", "50th percentile", "90th percentile"],
            ),
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
