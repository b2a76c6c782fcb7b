"""Which policy would have been chosen for each period, and did it keep its promises?

The value of an advice comes from a walk through the trace, shown here period by period: each policy is chosen by the
periods before, and judged on a period that it has not seen.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from borgtrace.advice.judging import JudgedPolicies
from borgtrace.overcommit.walk_forward import Choice, savings, violation_rate
from borgtrace.question import Answer, Column, Question, Row, charts
from borgtrace.question.promises import is_kept
from borgtrace.schema.time import DAY, HOUR, TRACE_START

ANSWER = Answer(
    grain="resource and period",
    key=[
        Column("resource", "string", "id", "Resource: cpu or memory."),
        Column("begin", "int64", "us", "Begin of the period."),
    ],
    columns=[
        Column("end", "int64", "us", "End of the period."),
        Column(
            "policy",
            "string",
            "id",
            "Policy that the periods before advise; NULL where nothing tested keeps the target.",
            nullable=True,
        ),
        Column(
            "learned_high",
            "float64",
            "fraction",
            "Upper end of its rate in the periods before.",
            nullable=True,
        ),
        Column("windows", "int64", "count", "Judged windows of machines."),
        Column(
            "rate", "float64", "fraction", "Its rate in the period; of the requests where NULL."
        ),
        Column(
            "rate_low",
            "float64",
            "fraction",
            "Lower end of the rate's interval; NULL with fewer than two machines.",
            nullable=True,
        ),
        Column("rate_high", "float64", "fraction", "Upper end of the rate's interval."),
        Column("target", "float64", "fraction", "Rate that is aimed at."),
        Column(
            "savings",
            "float64",
            "fraction",
            "Share of the requests that was not promised; NULL without requests.",
            nullable=True,
        ),
        Column(
            "is_kept",
            "bool",
            "1",
            "Whether the period kept the target, by that interval; NULL where it cannot tell.",
            nullable=True,
        ),
    ],
)


def compute(judged: Sequence[JudgedPolicies]) -> list[Row]:
    """Return a row for each judged period of each resource.

    Parameters
    ----------
    judged
        What a walk through the trace shows of each resource.
    """
    rows = []
    for one in judged:
        rows += [row_of(one, choice) for choice in one.choices]
    return rows


def row_of(judged: JudgedPolicies, choice: Choice) -> Row:
    """Return one period of one resource."""
    schedule = judged.schedule
    rate = violation_rate(choice.judged, schedule.horizon_slots)
    begin = TRACE_START + choice.period * schedule.period
    return {
        "resource": judged.resource,
        "begin": begin,
        "end": begin + schedule.period,
        "policy": None if choice.policy is None else judged.policies[choice.policy].label,
        "learned_high": choice.learned.high,
        "windows": choice.instants,
        "rate": rate.value,
        "rate_low": rate.low,
        "rate_high": rate.high,
        "target": judged.target,
        "savings": savings(choice.judged),
        "is_kept": is_kept(rate.low, rate.high, judged.target),
    }


def chart(answer: pa.Table) -> charts.Chart:
    """Draw the rate of broken promises of each period, with the target as a line."""
    import altair as alt

    periods = answer.to_pylist()
    is_short = any(row["end"] - row["begin"] < DAY for row in periods)
    unit, name = (HOUR, "h") if is_short else (DAY, "days")
    rows = [{**row, "start": (row["begin"] - TRACE_START) / unit} for row in periods]
    base = charts.base(rows, height=160)
    target = base.mark_rule(strokeDash=[4, 3]).encode(
        y=alt.Y("mean(target):Q", title="broken promises"),
    )
    rates = base.encode(
        x=alt.X("start:Q", title=f"begin of the period ({name})"),
        y=alt.Y("rate:Q", title="broken promises"),
    )
    points = rates.mark_line(point=True).encode(tooltip=charts.tooltips(rows))
    return (
        alt.layer(target, points)
        .facet(row=charts.rows_of_panels("resource"))
        .properties(title="Broken promises, period by period (dashed: target)")
    )


PERIODS = Question(
    name="advice_periods",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    reads=["instance_usage", "instance_events"],
    reference="Bashir et al., EuroSys'21 (Take it to the limit)",
)
"""The walk behind the value."""
