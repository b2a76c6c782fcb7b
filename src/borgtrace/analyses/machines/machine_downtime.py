"""How long are machines away?

Quantiles of the time from a REMOVE to the next ADD of the same machine. Machines that never come
back are counted by *machine_removals*.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import pyarrow as pa

from borgtrace.analyses.shared.quantiles import PERCENTS, Curve, fetch_counts, percents_of_curve
from borgtrace.lifecycle.order import SOURCE_ORDER
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    Question,
    Row,
    Tables,
    charts,
    near,
    sql,
)
from borgtrace.question.scopes import MONTH_2011

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="percentile",
    key=[Column("percent", "float64", "1", "Percentile; 0 and 100 are the extremes.")],
    columns=[
        Column("seconds", "float64", "s", "Time from REMOVE to ADD."),
        Column("n", "int64", "count", "Number of absences, the same in every row."),
    ],
)


def compute(tables: Tables, *, curve: Curve = "few") -> list[Row]:
    """Return quantiles of the absences of machines.

    Parameters
    ----------
    tables
        The store's tables.
    curve
        At how many percentiles: ``"few"`` for a table, ``"full"`` for every tenth of a percent.
    """
    percents = percents_of_curve((0.0, *PERCENTS, 100.0), curve)
    events = tables.machine_events
    history = ibis.window(group_by="machine_id", order_by=list(SOURCE_ORDER))
    # The event just before: in 2011 nothing but ADD follows a REMOVE (8,860 times).
    events = events.mutate(
        previous_type=events.type.lag().over(history),
        previous_time=events.time.lag().over(history),
    )
    returns = events.filter((events.previous_type == "REMOVE") & (events.type == "ADD"))
    absence = returns.time - returns.previous_time
    groups = fetch_counts(tables, returns, absence, "absences", per=1e6)
    if not groups:
        raise NotApplicable("no machine was removed and came back")
    absences = groups[()]
    return absences.rows(percents, n=len(absences))


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the distribution of the absences."""
    import altair as alt

    rows = answer.to_pylist()
    return (
        charts.base(rows, title="How long machines are away")
        .mark_line(**charts.steps(rows))
        .encode(
            x=alt.X("seconds:Q", title="time from REMOVE to ADD", **charts.duration_scale()),
            y=alt.Y("percent:Q", title="percent of absences"),
            tooltip=charts.tooltips(rows),
        )
    )


CLAIMS = [
    Claim(
        "ME-away-median",
        statement="the median absence lasts 998 s (17 minutes)",
        source="count over the machine events of 2011",
        kind="criterion",
        scope=MONTH_2011,
        measure=sql(
            "select seconds from answer where percent = 50 and n >= 100",
            otherwise="fewer than 100 absences",
        ),
        criterion=near(998, relative=0.01, published="998 s"),
        format=",.0f",
    ),
    Claim(
        "ME-away-day",
        statement="one absence in twenty lasts longer than 94,522 s (26 hours)",
        source="count over the machine events of 2011",
        kind="criterion",
        scope=MONTH_2011,
        measure=sql(
            "select seconds from answer where percent = 95 and n >= 100",
            otherwise="fewer than 100 absences",
        ),
        criterion=near(94_522, relative=0.01, published="94,522 s"),
        format=",.0f",
    ),
]

QUESTION = Question(
    name="machine_downtime",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["machine_events"],
    reference="2011 format document, machine events",
)
