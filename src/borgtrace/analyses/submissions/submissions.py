"""How fast are tasks submitted, scheduled and completed?

Cumulative numbers of new tasks, submissions (resubmissions included), schedulings and completions, at
the end of every step; what happened before the trace is left out.  A curve divided by its last value is
the CDF of Zhu et al., Fig. 2; divided by the last value of *new*, the weighted one of Fig. 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
import pyarrow as pa

from borgtrace.analyses.shared.attempts import PROCESSES, counted_events
from borgtrace.analyses.shared.histograms import period
from borgtrace.analyses.shared.windows import int_sum
from borgtrace.question import Answer, Claim, Column, NotApplicable, Question, Tables, above, charts
from borgtrace.question.scopes import LIKE_2011
from borgtrace.schema.bounds import Bounds
from borgtrace.schema.time import DAY, HOUR, SECOND, WINDOW, Microseconds

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="step of time",
    key=[Column("time", "int64", "us", "End of the step.")],
    columns=[
        Column("new", "int64", "count", "New tasks until then."),
        Column("submitted", "int64", "count", "Submissions until then."),
        Column("scheduled", "int64", "count", "Schedulings until then."),
        Column("completed", "int64", "count", "Completions until then."),
    ],
)


def compute(
    tables: Tables, *, step: Annotated[Microseconds, Bounds(SECOND, 31 * DAY)] = WINDOW
) -> pa.Table:
    """Return the four cumulative counts at the end of every `step` (µs)."""
    events = counted_events(tables.instance_attempts)
    sums = {name: int_sum(events[name]) for name in PROCESSES}
    counts_by_step = events.group_by(step=period(events.time, step)).aggregate(**sums)
    steps = tables.fetch(counts_by_step, "steps")
    if not steps.num_rows:
        raise NotApplicable("nothing was submitted, scheduled or completed within the trace")
    step_numbers = steps["step"].to_numpy()
    first = int(step_numbers.min())
    last = int(step_numbers.max())
    columns = {"time": (np.arange(first, last + 1, dtype=np.int64) + 1) * step}
    for name in PROCESSES:
        # Steps without an event have no row; counts stay whole numbers as floats, too.
        counts = np.bincount(step_numbers - first, steps[name].to_numpy())
        columns[name] = counts.cumsum().astype(np.int64)
    return pa.table(columns)


def chart(answer: pa.Table) -> alt.HConcatChart:
    """Draw the CDFs (left) and the weighted CDFs (right)."""
    import altair as alt

    # At least 1: a trace may have no completion to divide by.
    totals = {name: max(answer[name][-1].as_py(), 1) for name in PROCESSES}
    total_new = dict.fromkeys(PROCESSES, totals["new"])
    return alt.hconcat(
        cumulative_shares(answer, totals, title="CDF (Zhu et al., Fig. 2)", y_title="share"),
        cumulative_shares(
            answer,
            total_new,
            title="Weighted CDF (Zhu et al., Fig. 3)",
            y_title="share of the total of new tasks",
        ),
    )


def cumulative_shares(
    answer: pa.Table, totals: dict[str, int], *, title: str, y_title: str
) -> alt.Chart:
    """Draw each of the four counts over its total."""
    import altair as alt

    rows = [
        {"hour": step["time"] / HOUR, "series": name, "share": step[name] / totals[name]}
        for step in evenly_thinned(answer).to_pylist()
        for name in PROCESSES
    ]
    return (
        charts.base(rows, title=title)
        .mark_line()
        .encode(
            x=charts.hour_axis(rows),
            y=alt.Y("share:Q", title=y_title),
            color=alt.Color("series:N", title=None, sort=list(PROCESSES)),
            tooltip=charts.tooltips(rows, "hour", "share", "series"),
        )
    )


def evenly_thinned(answer: pa.Table, n: int = 600) -> pa.Table:
    """Keep about `n` rows: the curves never fall, so nothing is lost between two of them."""
    last = answer.num_rows - 1
    row_numbers = np.linspace(0, last, min(n, answer.num_rows)).astype(int)
    return answer.take(np.unique(row_numbers))


def lag_at_end(answer: pa.Table) -> float:
    """Return how far schedulings trail submissions at the end, over the 95th percentile before."""
    # Steps of 300 s in a day.
    if answer.num_rows < 288:
        raise NotApplicable("the trace is shorter than a day")
    lag = answer["submitted"].to_numpy() - answer["scheduled"].to_numpy()
    # The observation is about the last tenth: it must not set its own measure.
    first_nine_tenths = lag[: len(lag) * 9 // 10]
    usual_lag = np.percentile(first_nine_tenths, 95)
    if usual_lag <= 0:
        raise NotApplicable("scheduling never lags behind submission")
    return float(lag[-1] / usual_lag)


CLAIMS = [
    Claim(
        "S4-obs6",
        statement="scheduling falls behind submission at the end of the trace",
        source="Zhu et al., Observation 6",
        scope=LIKE_2011,
        measure=lag_at_end,
        criterion=above(
            1.0,
            published="the gap at the end exceeds the 95th percentile of the first nine tenths (ratio > 1)",
        ),
    ),
]

QUESTION = Question(
    name="submissions",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["instance_events"],
    reference="Zhu et al., Methods 3 and 3-1, Fig. 2 and 3",
)
