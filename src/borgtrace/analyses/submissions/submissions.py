"""How fast are tasks submitted, scheduled and completed?

Cumulative numbers of new tasks, submissions (resubmissions included), schedulings and completions at
the end of every step. The first row, of time 0, counts what was there before the trace; all others
include it, as the published totals do. A curve divided by the last value of *new* is the weighted CDF
of Zhu et al., Fig. 3: it ends at the quotients of these totals. A curve less its first row, divided by
its last value, is the CDF of what happened within the trace (Fig. 2), as the distances of curves are measured.

Submissions minus schedulings are what Observation 6 looks at. They include all tasks that ever ended
while pending; the column *pending* has only the tasks that wait at the end of the step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses.shared.attempts import PROCESSES, counted_events, is_within, of_jobs
from borgtrace.analyses.shared.histograms import period
from borgtrace.analyses.shared.windows import int_sum
from borgtrace.kernels.arrays import Index
from borgtrace.question import Answer, Claim, Column, NotApplicable, Question, Tables, above, charts
from borgtrace.question.scopes import LIKE_2011
from borgtrace.schema.bounds import Bounds
from borgtrace.schema.time import BEFORE_TRACE, DAY, HOUR, SECOND, WINDOW, Microseconds

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="step of time",
    key=[Column("time", "int64", "us", "End of the step; 0: before the trace.")],
    columns=[
        Column("new", "int64", "count", "New tasks until then."),
        Column("submitted", "int64", "count", "Submissions until then."),
        Column("scheduled", "int64", "count", "Schedulings until then."),
        Column("completed", "int64", "count", "Completions until then."),
        Column("pending", "int64", "count", "Tasks that were submitted and wait then."),
    ],
)


EARLIER = -1
"""The step of what happened before the trace."""
STEPS_OF_A_DAY = DAY // WINDOW


def compute(
    tables: Tables, *, step: Annotated[Microseconds, Bounds(SECOND, 31 * DAY)] = WINDOW
) -> pa.Table:
    """Return the four cumulative counts, and the tasks that wait, at the end of every `step` (µs)."""
    attempts = tables.instance_attempts
    events = counted_events(attempts, with_earlier=True)
    counts = tables.fetch(sum_by_step(events, step, *PROCESSES), "steps")
    changes = tables.fetch(sum_by_step(changes_of_queue(attempts), step, "pending"), "queue")
    NotApplicable.unless(
        (counts["step"].to_numpy() != EARLIER).any(),
        "nothing was submitted, scheduled or completed within the trace",
    )
    # A queue changes without a counted event, too, where a task that waits is killed.
    steps = np.concatenate([counts["step"].to_numpy(), changes["step"].to_numpy()])
    steps = steps[steps != EARLIER]
    first = int(steps.min())
    n_steps = int(steps.max()) - first + 1
    ends_of_steps = (first + np.arange(n_steps, dtype=np.int64) + 1) * step
    columns = {"time": np.concatenate([[BEFORE_TRACE], ends_of_steps])}
    for name in PROCESSES:
        columns[name] = cumulate(counts, name, first, n_steps)
    columns["pending"] = cumulate(changes, "pending", first, n_steps)
    return pa.table(columns)


def sum_by_step(events: ir.Table, step: int, *numbers: str) -> ir.Table:
    """Add up numbers of events by ``step``; that of what happened before the trace is `EARLIER`."""
    is_earlier = events.time == BEFORE_TRACE
    steps = is_earlier.ifelse(ibis.literal(EARLIER, "int64"), period(events.time, step))
    sums = {name: int_sum(events[name]) for name in numbers}
    return events.group_by(step=steps).aggregate(**sums)


def changes_of_queue(attempts: ir.Table) -> ir.Table:
    """Return when the number of ``pending`` tasks changes, and by how much: SUBMITs, and starts or ends after them."""
    tasks = of_jobs(attempts)
    submitted = tasks.filter(is_within(tasks.submit_time))
    arrivals = submitted.select(time="submit_time", pending=ibis.literal(1, "int8"))
    # What never starts leaves the queue when it ends.
    departure = ibis.coalesce(submitted.schedule_time, submitted.left_time)
    departures = submitted.select(time=departure, pending=ibis.literal(-1, "int8"))
    return arrivals.union(departures.filter(is_within(departures.time)))


def cumulate(counts: pa.Table, name: str, first: int, n_steps: int) -> Index:
    """Return the running total of a number: before the trace, then at the end of each step from the `first` one.

    Parameters
    ----------
    counts
        Rows of :func:`sum_by_step`.
    name
        The number.
    first, n_steps
        Which steps.
    """
    steps = counts["step"].to_numpy()
    place = np.where(steps == EARLIER, 0, steps - first + 1)
    # Steps without an event have no row; counts stay whole numbers as floats, too.
    totals = np.bincount(place, counts[name].to_numpy(), minlength=n_steps + 1)
    return totals.cumsum().astype(np.int64)


def chart(answer: pa.Table) -> alt.HConcatChart:
    """Draw the CDFs (left) and the weighted CDFs (right)."""
    import altair as alt

    within = since_start(answer)
    # At least 1: a trace may have no completion to divide by.
    totals = {name: max(within[name][-1].as_py(), 1) for name in PROCESSES}
    total_new = max(answer["new"][-1].as_py(), 1)
    return alt.hconcat(
        cumulative_shares(
            within,
            totals,
            title="CDF within the trace (Zhu et al., Fig. 2)",
            y_title="share",
        ),
        cumulative_shares(
            answer,
            dict.fromkeys(PROCESSES, total_new),
            title="Weighted CDF, tasks before the trace included (Zhu et al., Fig. 3)",
            y_title="share of the total of new tasks",
        ),
    )


def since_start(answer: pa.Table) -> pa.Table:
    """Return the counts of what happened within the trace: those of the first row taken off."""
    columns = {"time": answer["time"]}
    for name in PROCESSES:
        counts = answer[name].to_numpy()
        columns[name] = pa.array(counts - counts[0])
    return pa.table(columns)


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


def end_over_usual(numbers: Index, otherwise: str) -> float:
    """Return a number at the end over its 95th percentile in the first nine tenths of the steps within the trace.

    Parameters
    ----------
    numbers
        At the ends of steps of 300 s, the first one before the trace.
    otherwise
        Why there is no quotient, where the percentile is not above 0.
    """
    within = numbers[1:]
    if len(within) < STEPS_OF_A_DAY:
        raise NotApplicable("the trace is shorter than a day")
    # The observation is about the last tenth: it must not set its own measure.
    first_nine_tenths = within[: len(within) * 9 // 10]
    usual = np.percentile(first_nine_tenths, 95)
    if usual <= 0:
        raise NotApplicable(otherwise)
    return float(within[-1] / usual)


def lag_at_end(answer: pa.Table) -> float:
    """Return how far schedulings trail submissions at the end, over the 95th percentile before."""
    lag = answer["submitted"].to_numpy() - answer["scheduled"].to_numpy()
    return end_over_usual(lag, "scheduling never lags behind submission")


def queue_at_end(answer: pa.Table) -> float:
    """Return how many tasks wait at the end, over the 95th percentile before."""
    return end_over_usual(answer["pending"].to_numpy(), "no task waits in most steps")


CLAIMS = [
    Claim(
        "S4-obs6",
        statement="schedulings fall behind submissions at the end, what ended while pending counted",
        source="Zhu et al., Observation 6",
        scope=LIKE_2011.needing(days=28),
        measure=lag_at_end,
        criterion=above(
            1.0,
            published="the gap at the end exceeds the 95th percentile of the first nine tenths (ratio > 1)",
        ),
    ),
    Claim(
        "S4-obs6-queue",
        statement="scheduling falls behind at the end: more tasks wait then than before",
        source="Zhu et al., Observation 6, by the tasks that wait",
        scope=LIKE_2011.needing(days=28),
        measure=queue_at_end,
        criterion=above(
            1.0,
            published="the queue at the end exceeds the 95th percentile of the first nine tenths (ratio > 1)",
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
