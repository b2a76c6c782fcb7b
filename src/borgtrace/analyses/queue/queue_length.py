"""Does the queue grow, and does the number of running tasks surge?

Three counts at the end of every step, of tasks (instances of jobs):

*published* – Zhu et al., Methods 3-2 and 3-3: cumulated ``submitted − scheduled − (fail, kill, lost
while pending)`` and ``scheduled − finish − evict − (fail, kill, lost while running)``. An eviction of a
*pending* task is missing in the first and subtracted from the second, so that each leaves +1 in the
queue and −1 in running forever.

*literal* – the same with "while running" read literally: a task whose last event is an UPDATE_RUNNING
is not counted when it fails, is killed or lost.

*stock* – how many tasks are pending or running (exact, with the extremes within the step).  Submissions
minus all ends equal pending plus running at every instant.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.analyses.shared.attempts import PENDING, of_jobs
from borgtrace.analyses.shared.histograms import period
from borgtrace.analyses.shared.trends import Interval, interval_above, slope
from borgtrace.analyses.shared.windows import int_sum
from borgtrace.errors import UsageError
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    Question,
    Tables,
    charts,
    equals,
    query_answer,
    sql,
)
from borgtrace.question.scopes import LIKE_2011
from borgtrace.schema.time import AFTER_TRACE, DAY, WINDOW, Microseconds

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


_DIE = ("FAIL", "KILL", "LOST")
_STATES = ("pending", "running")
_STOCK = ("time", "pending", "pending_min", "pending_max", "running", "running_min", "running_max")
_COUNTED = ("pending_published", "running_published", "running_literal", "unfinished")


def compute(tables: Tables, *, step: Microseconds = WINDOW) -> pa.Table:
    """Return queue and running tasks at the end of every `step` (µs, a multiple of 300 s)."""
    if step < WINDOW or step % WINDOW:
        raise UsageError(
            "step", "must be a multiple of 300 s", expected=f"k × {WINDOW}", got=str(step)
        )
    flows = _fetch_flows(tables, step).to_pylist()
    stocks = _fetch_stocks(tables, step).sort_by("step")
    if not stocks.num_rows:
        raise NotApplicable("no task is ever pending or running")
    # Updates move no stock: the last of them may come after the last change of a level.
    n = 1 + max(stocks["step"][-1].as_py(), *(row["step"] for row in flows), 0)
    moved = {name: np.zeros(n, np.int64) for name in _COUNTED}
    for row in flows:
        for name, sign in _signs(row["before"], row["after"]).items():
            moved[name][row["step"]] += sign * row["n"]
    columns = {name: np.cumsum(values) for name, values in moved.items()} | _stock_levels(stocks, n)
    return pa.table({"time": (np.arange(n, dtype=np.int64) + 1) * step, **columns})


def _signs(before: str | None, after: str) -> dict[str, int]:
    """Return what one transition adds to each of the published counts."""
    if after == "SUBMIT":
        return {"pending_published": 1, "unfinished": int(before is None)}
    # After whatever came before: an attempt whose SUBMIT is lost was scheduled all the same.
    if after == "SCHEDULE":
        return {"pending_published": -1, "running_published": 1, "running_literal": 1}
    # All evictions, those of pending tasks too: the published formula knows no other kind.
    if after in ("FINISH", "EVICT"):
        return {
            "running_published": -1,
            "running_literal": -1,
            "unfinished": -int(after == "FINISH"),
        }
    if after in _DIE and before in PENDING:
        return {"pending_published": -1}
    # Neither pending nor first: the predecessor is SCHEDULE, an update, or an end whose next begin is lost.
    if after in _DIE and before is not None:
        return {"running_published": -1, "running_literal": -1 if before == "SCHEDULE" else 0}
    return {}


def _fetch_flows(tables: Tables, step: int) -> pa.Table:
    """Return how often each transition occurs in each step: ``step``, ``before``, ``after``, ``n``."""
    rows = of_jobs(tables.instance_transitions)
    # Times of steps are cut to 300 s, and so is the sentinel for "after the trace".
    rows = rows.filter(rows.step_time < AFTER_TRACE - AFTER_TRACE % WINDOW)
    key = {"step": period(rows.step_time, step), "before": rows.from_type, "after": rows.to_type}
    return tables.fetch(rows.group_by(**key).aggregate(n=int_sum(rows.n)), "flows")


def stock(tables: Tables, step: int) -> pa.Table:
    """Return the counts *stock* of `RESULT` alone: what is pending and running at the end of each step, and extremes.

    Parameters
    ----------
    tables
        The store's tables.
    step
        Length of a step, µs.
    """
    stocks = _fetch_stocks(tables, step).sort_by("step")
    if not stocks.num_rows:
        return pa.table({name: pa.array([], pa.int64()) for name in _STOCK})
    n = 1 + stocks["step"][-1].as_py()
    times = (np.arange(n, dtype=np.int64) + 1) * step
    return pa.table({"time": times, **_stock_levels(stocks, n)}).select(_STOCK)


def _fetch_stocks(tables: Tables, step: int) -> pa.Table:
    """Return the levels at the end of each step in which one changes, and their extremes within it."""
    rows = of_jobs(tables.instance_occupancy)
    rows = rows.filter(rows.time < AFTER_TRACE)
    # Extremes too: a queue that fills and empties within a step would not be seen at its end.
    lowest = {f"{state}_min": rows[state].min() for state in _STATES}
    highest = {f"{state}_max": rows[state].max() for state in _STATES}
    ends = rows.group_by(step=period(rows.time, step)).aggregate(
        time=rows.time.max(), **lowest, **highest
    )
    # Instants are unique among jobs: the join finds the level after the last change of the step.
    at_end = rows.select("time", "pending", "running")
    return tables.fetch(ends.inner_join(at_end, "time").drop("time"), "stocks")


def _stock_levels(stocks: pa.Table, n: int) -> dict[str, npt.NDArray[np.int64]]:
    """Spread the steps in which something changed over all steps; shape (n,) each."""
    at = stocks["step"].to_numpy()
    latest = np.searchsorted(at, np.arange(n), side="right") - 1  # row of the latest change
    columns: dict[str, npt.NDArray[np.int64]] = {}
    for name in _STATES:
        held = np.where(latest < 0, 0, stocks[name].to_numpy()[np.maximum(latest, 0)])
        # The level a step begins with is one of its values, although no change of the step says so.
        entering = np.concatenate([[0], held[:-1]])
        columns[name] = held
        for bound, choose in (("min", np.minimum), ("max", np.maximum)):
            seen = stocks[f"{name}_{bound}"].to_numpy()
            columns[f"{name}_{bound}"] = held.copy()
            columns[f"{name}_{bound}"][at] = choose(seen, entering[at])
            columns[f"{name}_{bound}"][at[0]] = seen[0]  # nothing is known before the first change
    return columns


def inside(result: pa.Table) -> pa.Table:
    """Return the steps inside the trace: the first ones hold what was there before it began, all at once.

    Parameters
    ----------
    result
        A result of this question.
    """
    return result.filter(result["time"].to_numpy() >= 3 * WINDOW)


def trend(result: pa.Table, columns: Sequence[str]) -> Interval:
    """Return the trend of a sum of columns in tasks per day, with values up to a day apart taken as alike.

    Parameters
    ----------
    result
        A result of this question.
    columns
        Columns that are added up.

    Raises
    ------
    NotApplicable
        Where the trace is shorter than two days.
    """
    within = inside(result)
    times = within["time"].to_numpy()
    values = sum(within[c].to_numpy().astype(float) for c in columns)
    # In µs: as a difference of fractions of a day, two days may come out shorter.
    if not (len(times) >= 3 and times[-1] - times[0] >= 2 * DAY):
        raise NotApplicable("the trace is shorter than two days")
    # Lags of a day: load has a daily rhythm, so that values a few hours apart are alike.
    return slope(values, times / DAY, round(DAY / (times[1] - times[0])))


def chart(answer: pa.Table) -> alt.HConcatChart:
    """Draw: queue length."""
    import altair as alt

    # Stock and published formula.
    panels = []
    shown = charts.thinned(
        answer, ["pending", "pending_published", "running", "running_published"], points=2000
    )
    rows = query_answer(
        shown,
        """
        select time / 3.6e9 as hour, pending, pending_published
        from answer
        """,
    )
    rows = charts.melted(rows, {"pending": "stock", "pending_published": "published formula"})
    if rows:
        panels.append(
            charts.base(rows, title="Tasks pending")
            .mark_line()
            .encode(
                x=charts.hour_axis(rows),
                y=alt.Y("value:Q", title="tasks", scale=alt.Scale(zero=False)),
                color=alt.Color("series:N", title=None, sort=["stock", "published formula"]),
                tooltip=charts.tooltips(rows),
            )
        )
    shown = charts.thinned(
        answer, ["pending", "pending_published", "running", "running_published"], points=2000
    )
    rows = query_answer(
        shown,
        """
        select time / 3.6e9 as hour, running, running_published
        from answer
        """,
    )
    rows = charts.melted(rows, {"running": "stock", "running_published": "published formula"})
    if rows:
        panels.append(
            charts.base(rows, title="Tasks running")
            .mark_line()
            .encode(
                x=charts.hour_axis(rows),
                y=alt.Y("value:Q", title="tasks", scale=alt.Scale(zero=False)),
                color=alt.Color("series:N", title=None, sort=["stock", "published formula"]),
                tooltip=charts.tooltips(rows),
            )
        )
    return alt.hconcat(*panels)


CLAIMS = [
    Claim(
        "S4-obs5",
        statement="unfinished tasks accumulate (pending plus running)",
        source="Zhu et al., Observation 5",
        scope=LIKE_2011,
        measure=partial(trend, columns=["pending", "running"]),
        criterion=interval_above(0, published="trend > 0 a day"),
    ),
    Claim(
        "S4-obs5-counted",
        statement="new minus completed tasks rises, as the paper counts",
        source="Zhu et al., Observation 5",
        scope=LIKE_2011,
        measure=partial(trend, columns=["unfinished"]),
        criterion=interval_above(0, published="trend > 0 a day"),
    ),
    Claim(
        "S4-obs7",
        statement="the queue slowly grows",
        source="Zhu et al., Observation 7",
        scope=LIKE_2011,
        measure=partial(trend, columns=["pending"]),
        criterion=interval_above(0, published="trend > 0 a day"),
    ),
    Claim(
        "S4-obs7-formula",
        statement="the queue grows, by the published formula",
        source="Zhu et al., Observation 7 by Method 3-2",
        scope=LIKE_2011,
        measure=partial(trend, columns=["pending_published"]),
        criterion=interval_above(0, published="trend > 0 a day"),
    ),
    Claim(
        "S4-obs8",
        statement="the number of running tasks surges",
        source="Zhu et al., Observation 8",
        scope=LIKE_2011,
        measure=partial(trend, columns=["running"]),
        criterion=interval_above(0, published="trend > 0 a day"),
    ),
    Claim(
        "S4-obs8-literal",
        statement="running surges where ends after UPDATE_RUNNING are not counted",
        source="Zhu et al., Observation 8 by Method 3-3",
        scope=LIKE_2011,
        measure=partial(trend, columns=["running_literal"]),
        criterion=interval_above(0, published="trend > 0 a day"),
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
