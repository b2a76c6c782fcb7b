"""Does the queue grow, and does the number of running tasks surge?

Three counts at the end of every step, of tasks (instances of jobs):

*published* – Zhu et al., Methods 3-2 and 3-3: cumulated ``submitted − scheduled − (fail, kill, lost
while pending)`` and ``scheduled − finish − evict − (fail, kill, lost while running)``. An eviction of a
*pending* task is missing in the first and subtracted from the second, so that each leaves +1 in the
queue and −1 in running forever.

*literal* – the same with "while running" read literally: a task whose last event is an UPDATE_RUNNING
is not counted when it fails, is killed or lost.

*stock* – how many tasks are pending or running (exact, with the extremes within the step).  Submissions
minus all ends equal pending plus running at any time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
import pyarrow as pa

from borgtrace.analyses.shared.attempts import PENDING, is_within, of_jobs
from borgtrace.analyses.shared.histograms import period
from borgtrace.analyses.shared.trends import Interval, interval_above, slope
from borgtrace.analyses.shared.windows import int_sum
from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Index
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    Measure,
    NotApplicable,
    Question,
    Tables,
    charts,
    equals,
    sql,
)
from borgtrace.question.scopes import LIKE_2011
from borgtrace.schema.bounds import Bounds
from borgtrace.schema.time import AFTER_TRACE, DAY, HOUR, WINDOW, Microseconds, write_time

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="step of time",
    key=[Column("time", "int64", "us", "End of the step.")],
    columns=[
        Column("pending_published", "int64", "count", "Queue by the published formula."),
        Column("pending", "int64", "count", "Tasks that are pending."),
        Column("pending_min", "int64", "count", "Fewest pending within the step."),
        Column("pending_max", "int64", "count", "Most pending within the step."),
        Column("running_published", "int64", "count", "Running tasks by the published formula."),
        Column("running_literal", "int64", "count", "The same, predecessor read literally."),
        Column("running", "int64", "count", "Tasks that are running."),
        Column("running_min", "int64", "count", "Fewest running within the step."),
        Column("running_max", "int64", "count", "Most running within the step."),
        Column(
            "unfinished",
            "int64",
            "count",
            "New tasks minus completed ones, as Observation 5 counts.",
        ),
    ],
)


STATES = ("pending", "running")
STOCK_COLUMNS = (
    "time",
    "pending",
    "pending_min",
    "pending_max",
    "running",
    "running_min",
    "running_max",
)
PUBLISHED_COLUMNS = ("pending_published", "running_published", "running_literal", "unfinished")

STEP = Bounds(WINDOW, 31 * DAY)


def compute(tables: Tables, *, step: Annotated[Microseconds, STEP] = WINDOW) -> pa.Table:
    """Return queue and running tasks at the end of every `step` (µs, a multiple of 300 s)."""
    if step % WINDOW:
        raise UsageError(
            "step", "not a multiple of 5m", expected=STEP.describe(1), got=write_time(step)
        )
    flows = fetch_flows(tables, step)
    stocks = fetch_stocks(tables, step)
    if not stocks.num_rows:
        raise NotApplicable("no task is ever pending or running")

    # UPDATE events change no level: the last flow may lie after the last stock.
    last_step = max(flows["step"].to_pylist() + stocks["step"].to_pylist())
    n_steps = last_step + 1
    columns = published_counts(flows, n_steps) | stock_levels(stocks, n_steps)
    return pa.table({"time": ends_of_steps(n_steps, step), **columns})


def fetch_flows(tables: Tables, step: int) -> pa.Table:
    """Return how often each transition occurs in each step: ``step``, ``before``, ``after``, ``n``."""
    transitions = of_jobs(tables.instance_transitions)
    # Times of steps are cut to 300 s, and so is the sentinel for "after the trace".
    after_trace = AFTER_TRACE - AFTER_TRACE % WINDOW
    transitions = transitions.filter(transitions.step_time < after_trace)
    grouped = transitions.group_by(
        step=period(transitions.step_time, step),
        before=transitions.from_type,
        after=transitions.to_type,
    )
    return tables.fetch(grouped.aggregate(n=int_sum(transitions.n)), "flows")


def fetch_stocks(tables: Tables, step: int) -> pa.Table:
    """Return the levels at the end of each step that changes one, and their extremes within it."""
    occupancy = of_jobs(tables.instance_occupancy)
    occupancy = occupancy.filter(is_within(occupancy.time))
    # Without the extremes a queue that fills and empties within a step would go unseen.
    changed_steps = occupancy.group_by(step=period(occupancy.time, step)).aggregate(
        time=occupancy.time.max(),
        pending_min=occupancy.pending.min(),
        pending_max=occupancy.pending.max(),
        running_min=occupancy.running.min(),
        running_max=occupancy.running.max(),
    )
    # Times are unique here: the join finds the levels after the last change of each step.
    levels = occupancy.select("time", "pending", "running")
    stocks = changed_steps.inner_join(levels, "time").drop("time")
    return tables.fetch(stocks, "stocks").sort_by("step")


def published_counts(flows: pa.Table, n_steps: int) -> dict[str, Index]:
    """Return the counts by the published formulas at the end of every step, shape (n_steps,) each."""
    changes = {name: np.zeros(n_steps, np.int64) for name in PUBLISHED_COLUMNS}
    for flow in flows.to_pylist():
        for name, change in change_of_counts(flow["before"], flow["after"]).items():
            changes[name][flow["step"]] += change * flow["n"]
    return {name: np.cumsum(values) for name, values in changes.items()}


def change_of_counts(before: str | None, after: str) -> dict[str, int]:
    """Return what one transition adds to each of the published counts."""
    match before, after:
        case _, "SUBMIT":
            return {"pending_published": 1, "unfinished": 1 if before is None else 0}
        # Whatever came before: an attempt whose SUBMIT is lost was scheduled all the same.
        case _, "SCHEDULE":
            return {"pending_published": -1, "running_published": 1, "running_literal": 1}
        case _, "FINISH":
            return {"running_published": -1, "running_literal": -1, "unfinished": -1}
        # All evictions, those of pending tasks too: the published formula knows no other kind.
        case _, "EVICT":
            return {"running_published": -1, "running_literal": -1}
        case _, "FAIL" | "KILL" | "LOST":
            return change_by_death(before)
    return {}


def change_by_death(before: str | None) -> dict[str, int]:
    """Return what a FAIL, KILL or LOST adds to the published counts."""
    if before is None:
        return {}
    if before in PENDING:
        return {"pending_published": -1}
    # The task was running: the event before is SCHEDULE, an update, or an end whose next begin is lost.
    return {"running_published": -1, "running_literal": -1 if before == "SCHEDULE" else 0}


def stock_levels(stocks: pa.Table, n_steps: int) -> dict[str, Index]:
    """Spread the steps that change a level over all steps, shape (n_steps,) each."""
    changed_steps = stocks["step"].to_numpy()
    first_change = changed_steps[0]
    row_of_latest_change = np.searchsorted(changed_steps, np.arange(n_steps), side="right") - 1
    columns: dict[str, Index] = {}
    for state in STATES:
        level_after_change = stocks[state].to_numpy()[np.maximum(row_of_latest_change, 0)]
        level = np.where(row_of_latest_change < 0, 0, level_after_change)
        # The level at the start of a step is one of its values, although no change within the step has it.
        level_at_start = np.concatenate([[0], level[:-1]])
        columns[state] = level
        for bound, choose in (("min", np.minimum), ("max", np.maximum)):
            extreme_of_changes = stocks[f"{state}_{bound}"].to_numpy()
            extreme = level.copy()
            extreme[changed_steps] = choose(extreme_of_changes, level_at_start[changed_steps])
            # Nothing is known before the first change.
            extreme[first_change] = extreme_of_changes[0]
            columns[f"{state}_{bound}"] = extreme
    return columns


def ends_of_steps(n_steps: int, step: int) -> Index:
    """Return the times at which steps end, µs, shape (n_steps,)."""
    return (np.arange(n_steps, dtype=np.int64) + 1) * step


def stock(tables: Tables, step: int) -> pa.Table:
    """Return only the exact counts: pending and running tasks at the end of each step, and their extremes.

    Parameters
    ----------
    tables
        The store's tables.
    step
        Length of a step, µs.
    """
    stocks = fetch_stocks(tables, step)
    if not stocks.num_rows:
        return pa.table({name: pa.array([], pa.int64()) for name in STOCK_COLUMNS})
    n_steps = 1 + stocks["step"][-1].as_py()
    levels = stock_levels(stocks, n_steps)
    return pa.table({"time": ends_of_steps(n_steps, step), **levels}).select(STOCK_COLUMNS)


def chart(answer: pa.Table) -> alt.HConcatChart:
    """Draw the queue beside the running tasks, each exactly and by the published formula."""
    import altair as alt

    columns = ["pending", "pending_published", "running", "running_published"]
    shown = charts.thinned(answer, columns, points=2000)
    return alt.hconcat(
        stock_and_formula(shown, "pending", title="Tasks pending"),
        stock_and_formula(shown, "running", title="Tasks running"),
    )


def stock_and_formula(answer: pa.Table, state: str, *, title: str) -> alt.Chart:
    """Draw how many tasks are in a state over time, counted both ways."""
    import altair as alt

    rows = []
    for step in answer.to_pylist():
        hour = step["time"] / HOUR
        published = step[f"{state}_published"]
        rows.append({"hour": hour, "series": "stock", "value": step[state]})
        rows.append({"hour": hour, "series": "published formula", "value": published})
    return (
        charts.base(rows, title)
        .mark_line()
        .encode(
            x=charts.hour_axis(rows),
            y=alt.Y("value:Q", title="tasks", scale=alt.Scale(zero=False)),
            color=alt.Color("series:N", title=None, sort=["stock", "published formula"]),
            tooltip=charts.tooltips(rows),
        )
    )


def inside_trace(answer: pa.Table) -> pa.Table:
    """Return the steps inside the trace: the first ones hold all that was there before it began.

    Parameters
    ----------
    answer
        An answer of this question.
    """
    return answer.filter(answer["time"].to_numpy() >= 3 * WINDOW)


def trend_of(*columns: str) -> Measure:
    """Measure the trend of a sum of columns, in tasks per day.

    Parameters
    ----------
    columns
        Columns that are added up.
    """

    def measure(answer: pa.Table) -> Interval:
        steps = inside_trace(answer)
        times = steps["time"].to_numpy()
        # Compared in µs: as fractions of a day, two days may come out shorter.
        if len(times) < 3 or times[-1] - times[0] < 2 * DAY:
            raise NotApplicable("the trace is shorter than two days")
        tasks = np.sum([steps[name].to_numpy().astype(float) for name in columns], axis=0)
        # Load has a daily rhythm: values up to a day apart are correlated.
        steps_per_day = round(DAY / (times[1] - times[0]))
        return slope(tasks, times / DAY, lags=steps_per_day)

    return measure


RISES = interval_above(0, published="trend > 0 a day")


CLAIMS = [
    Claim(
        "S4-obs5",
        statement="unfinished tasks accumulate (pending plus running)",
        source="Zhu et al., Observation 5",
        scope=LIKE_2011.needing(days=28),
        measure=trend_of("pending", "running"),
        criterion=RISES,
    ),
    Claim(
        "S4-obs5-counted",
        statement="new minus completed tasks rises, as the paper counts",
        source="Zhu et al., Observation 5",
        scope=LIKE_2011.needing(days=28),
        measure=trend_of("unfinished"),
        criterion=RISES,
    ),
    Claim(
        "S4-obs7",
        statement="the queue slowly grows",
        source="Zhu et al., Observation 7",
        scope=LIKE_2011.needing(days=28),
        measure=trend_of("pending"),
        criterion=RISES,
    ),
    Claim(
        "S4-obs7-formula",
        statement="the queue grows, by the published formula",
        source="Zhu et al., Observation 7 by Method 3-2",
        scope=LIKE_2011.needing(days=28),
        measure=trend_of("pending_published"),
        criterion=RISES,
    ),
    Claim(
        "S4-obs8",
        statement="the number of running tasks surges",
        source="Zhu et al., Observation 8",
        scope=LIKE_2011.needing(days=28),
        measure=trend_of("running"),
        criterion=RISES,
    ),
    Claim(
        "S4-obs8-literal",
        statement="running surges where ends after UPDATE_RUNNING are not counted",
        source="Zhu et al., Observation 8 by Method 3-3",
        scope=LIKE_2011.needing(days=28),
        measure=trend_of("running_literal"),
        criterion=RISES,
    ),
    Claim(
        "S4-method-3-2",
        statement="the published formula counts the queue",
        source="Zhu et al., Method 3-2",
        scope=LIKE_2011,
        measure=sql("select last(pending_published - pending) from answer"),
        criterion=equals(0, published="difference to the stock 0"),
    ),
]

QUESTION = Question(
    name="queue_length",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["instance_events"],
    reference="Zhu et al., Methods 3-2 and 3-3",
)
