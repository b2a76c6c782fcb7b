"""Do scheduling and execution take longer when the cell is busier?

One row per day: mean wait of the tasks scheduled and mean run of the tasks that ended on that day,
beside the time-weighted mean number of pending and running tasks. A claim of independence holds
where the 95 % interval of Spearman's correlation (circular block bootstrap, blocks of three days,
2,000 draws, fixed seed) includes 0.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import ibis
import numpy as np
import pyarrow as pa

from borgtrace.analyses.shared.attempts import duration_sums, of_jobs
from borgtrace.analyses.shared.histograms import period
from borgtrace.analyses.shared.trends import Interval, interval_includes, rank_correlation
from borgtrace.question import Answer, Claim, Column, NotApplicable, Question, Row, Tables, charts
from borgtrace.question.scopes import LIKE_2011
from borgtrace.schema.time import AFTER_TRACE, DAY, TRACE_START

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="day",
    key=[Column("day", "int64", "d", "Day since the start of the trace, from 0.")],
    columns=[
        Column(
            "mean_wait",
            "float64",
            "s",
            "Mean wait of what was scheduled on the day.",
            nullable=True,
        ),
        Column("n_scheduled", "int64", "count", "Attempts with a wait."),
        Column("mean_run", "float64", "s", "Mean run of what ended on the day.", nullable=True),
        Column("n_ended", "int64", "count", "Attempts with a run."),
        Column("mean_pending", "float64", "count", "Mean number of pending tasks.", nullable=True),
        Column("mean_running", "float64", "count", "Mean number of running tasks.", nullable=True),
    ],
)


_STATES = ("pending", "running")


def compute(tables: Tables) -> list[Row]:
    """Return mean times and mean load per day."""
    sums = duration_sums(tables, DAY, TRACE_START)
    waits, runs = (
        {row["period"]: row for row in tables.fetch(sums[n], n).to_pylist()}
        for n in ("waits", "runs")
    )
    loads = _loads(tables)
    days = sorted({*waits, *runs, *loads})
    if not days:
        raise NotApplicable("there is no event within the trace")
    return [
        {
            "day": day,
            **_mean_and_number(waits.get(day), "mean_wait", "n_scheduled"),
            **_mean_and_number(runs.get(day), "mean_run", "n_ended"),
            **loads.get(day, {"mean_pending": None, "mean_running": None}),
        }
        for day in days
    ]


def _mean_and_number(sums: Row | None, mean: str, number: str) -> Row:
    return (
        {mean: None, number: 0}
        if sums is None
        else {mean: sums["total"] / sums["n"] / 1e6, number: sums["n"]}
    )


def _loads(tables: Tables) -> dict[int, Row]:
    """Return the time-weighted means of pending and running per day, up to the last change."""
    levels = of_jobs(tables.instance_occupancy)
    levels = levels.filter(levels.time < AFTER_TRACE)
    # What was there before the trace counts from its start.
    at = ibis.greatest(levels.time, TRACE_START)
    timed = levels.mutate(day=period(at, DAY, TRACE_START), at=at)
    # Each day for itself: what it takes over from the day before is added in `_means`.
    until = timed.time.lead().over(group_by="day", order_by="time")
    held = timed.mutate(
        is_last=until.isnull(), end=until.fill_null((timed.day + 1) * DAY + TRACE_START)
    )
    # Changes before the start share its instant: but for the last they hold for no time.
    held = held.mutate(length=ibis.greatest(held.end, held.at) - held.at)
    found = tables.fetch(
        held.group_by("day").aggregate(
            first=held.at.min(),
            last=held.at.max(),
            **{f"{s}_area": (held[s] * held.length).sum().cast("int64") for s in _STATES},
            **{f"{s}_left": held[s].max(where=held.is_last) for s in _STATES},
        ),
        "loads",
    )
    return _means({row["day"]: row for row in found.to_pylist()})


def _means(days: dict[int, dict[str, int]]) -> dict[int, Row]:
    """Add to each day what it took over from the day before; cut the last day at the last change."""
    means: dict[int, Row] = {}
    level = dict.fromkeys(_STATES, 0)
    for day in range(min(days, default=0), max(days, default=-1) + 1):
        start, end = day * DAY + TRACE_START, (day + 1) * DAY + TRACE_START
        row = days.get(day, {"first": end, "last": end})
        # Until the first change of a day the level is what the day before left.
        area = {s: row.get(f"{s}_area", 0) + level[s] * (row["first"] - start) for s in _STATES}
        level = {s: row.get(f"{s}_left", level[s]) for s in _STATES}
        if day == max(days):
            area = {s: area[s] - level[s] * (end - row["last"]) for s in _STATES}
            end = row["last"]
        if end > start:
            means[day] = {f"mean_{s}": area[s] / (end - start) for s in _STATES}
    return means


def correlation(result: pa.Table, column: str) -> Interval:
    """Return Spearman's correlation of a column with the number pending, over days.

    Parameters
    ----------
    result
        A result of this question.
    column
        ``"mean_wait"`` or ``"mean_run"``.

    Raises
    ------
    NotApplicable
        Where the trace has less than seven such days, or a series is constant.
    """
    whole = [
        row
        for row in result.to_pylist()
        if row[column] is not None and row["mean_pending"] is not None
    ]
    # Too few days for blocks of three to be drawn from.
    if len(whole) < 7:
        raise NotApplicable("the trace is shorter than a week")
    found = rank_correlation(
        *(np.array([row[name] for row in whole]) for name in (column, "mean_pending"))
    )
    if np.isnan(found.value):
        raise NotApplicable("one of the two series is constant")
    return found


def chart(answer: pa.Table) -> alt.HConcatChart:
    """Draw: load and times."""
    import altair as alt

    # One point a day.
    panels = []
    rows = answer.to_pylist()
    if rows:
        panels.append(
            charts.base(rows, title="Mean wait")
            .mark_point(filled=True)
            .encode(
                x=alt.X(
                    "mean_pending:Q",
                    title="mean number of pending tasks",
                    scale=alt.Scale(zero=False),
                ),
                y=alt.Y("mean_wait:Q", title="seconds", scale=alt.Scale(zero=False)),
                tooltip=charts.tooltips(rows),
            )
        )
    rows = answer.to_pylist()
    if rows:
        panels.append(
            charts.base(rows, title="Mean run")
            .mark_point(filled=True)
            .encode(
                x=alt.X(
                    "mean_pending:Q",
                    title="mean number of pending tasks",
                    scale=alt.Scale(zero=False),
                ),
                y=alt.Y("mean_run:Q", title="seconds", scale=alt.Scale(zero=False)),
                tooltip=charts.tooltips(rows),
            )
        )
    return alt.hconcat(*panels)


CLAIMS = [
    Claim(
        "S4-obs9-scheduling",
        statement="scheduling times are not influenced by the queue",
        source="Zhu et al., Observation 9",
        scope=LIKE_2011,
        measure=partial(correlation, column="mean_wait"),
        criterion=interval_includes(0, published="correlation 0"),
    ),
    Claim(
        "S4-obs9-execution",
        statement="execution times are not influenced by the queue",
        source="Zhu et al., Observation 9",
        scope=LIKE_2011,
        measure=partial(correlation, column="mean_run"),
        criterion=interval_includes(0, published="correlation 0"),
    ),
]

QUESTION = Question(
    name="load_and_times",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["instance_events"],
    reference="Zhu et al., Observation 9",
)
