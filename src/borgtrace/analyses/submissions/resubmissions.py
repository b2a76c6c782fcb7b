"""When are tasks submitted again?

New and repeated submissions per hour. A *lump* is a run of consecutive days, each with more than twice
the resubmissions of the median day.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses.shared.attempts import counted_events
from borgtrace.analyses.shared.histograms import period
from borgtrace.analyses.shared.windows import int_sum
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    Question,
    Tables,
    charts,
    equals,
    near,
    sql,
)
from borgtrace.question.scopes import LIKE_2011, OF_2011, OF_2019
from borgtrace.schema.time import HOUR, TRACE_START

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="hour",
    key=[Column("hour", "int64", "h", "Hour since the start of the trace, from 0.")],
    columns=[
        Column("n_new", "int64", "count", "First submissions of tasks."),
        Column("n_again", "int64", "count", "Resubmissions."),
    ],
)


SERIES = {"n_new": "new", "n_again": "resubmitted"}


def compute(tables: Tables) -> ir.Table:
    """Return first submissions and resubmissions per hour."""
    events = counted_events(tables.instance_attempts)
    events = events.filter((events.submitted == 1) & (events.time >= TRACE_START))
    per_hour = events.group_by(hour=period(events.time, HOUR, TRACE_START))
    return per_hour.aggregate(
        n_new=int_sum(events.new), n_again=int_sum(events.submitted - events.new)
    )


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the number of new tasks and of resubmissions per hour."""
    import altair as alt

    rows = charts.melted(answer.to_pylist(), SERIES)
    return (
        charts.base(rows, title="Submissions per hour")
        .mark_line()
        .encode(
            x=charts.hour_axis(rows),
            y=alt.Y("value:Q", title="tasks per hour"),
            color=alt.Color("series:N", title=None, sort=list(SERIES.values())),
            tooltip=charts.tooltips(rows),
        )
    )


def count_lumps(answer: pa.Table) -> int:
    """Count the lumps."""
    days = answer["hour"].to_numpy() // 24
    # The median of a few days is no measure of a usual day.
    if max(days, default=0) < 6:
        raise NotApplicable("the trace is shorter than a week")
    # By day: hours are too noisy for twice the median to mean anything.
    resubmissions = np.bincount(days, weights=answer["n_again"].to_numpy())
    median = np.median(resubmissions)
    if not median:
        raise NotApplicable("no task is resubmitted on most days")
    is_busy = resubmissions > 2 * median
    # A lump begins on a busy day that follows one that is not.
    was_busy = np.concatenate([[False], is_busy[:-1]])
    return int((is_busy & ~was_busy).sum())


RATIO_OF_MEDIANS = sql(
    "select median(n_again) / nullif(median(n_new), 0) from answer",
    otherwise="no new task arrives in most hours",
)


CLAIMS = [
    Claim(
        "S4-obs3",
        statement="resubmissions concentrate in two periods",
        source="Zhu et al., Observation 3",
        scope=LIKE_2011.needing(days=28),
        measure=count_lumps,
        criterion=equals(2, published="2 lumps"),
    ),
    Claim(
        "TIR-resubmitted-2011",
        statement="ratio of resubmitted to new tasks, medians of hours",
        source="Tirmazi et al., EuroSys'20, Fig. 9",
        scope=OF_2011.needing(days=14, tasks=10_000),
        measure=RATIO_OF_MEDIANS,
        criterion=near(0.66, relative=0.05),
    ),
    Claim(
        "TIR-resubmitted-2019",
        statement="ratio of resubmitted to new tasks, medians of hours",
        source="Tirmazi et al., EuroSys'20, Fig. 9",
        scope=OF_2019,
        measure=RATIO_OF_MEDIANS,
        criterion=near(2.26, relative=0.05),
    ),
]

QUESTION = Question(
    name="resubmissions",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["instance_events"],
    reference="Zhu et al., Observation 3",
)
