"""Do scheduling and execution take longer when the cell is busier?

One row per day: mean wait of the tasks scheduled and mean run of the tasks that ended on that day,
beside the time-weighted mean number of pending and running tasks. A claim of independence holds
where the 95 % interval of Spearman's correlation (circular block bootstrap, blocks of three days,
2,000 draws, fixed seed) includes 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses.shared.attempts import duration_sums, is_within, of_jobs
from borgtrace.analyses.shared.histograms import period
from borgtrace.analyses.shared.trends import Interval, interval_includes, rank_correlation
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    Measure,
    NotApplicable,
    Question,
    Row,
    Tables,
    charts,
)
from borgtrace.question.scopes import LIKE_2011
from borgtrace.schema.time import DAY, TRACE_START

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


STATES = ("pending", "running")


def compute(tables: Tables) -> list[Row]:
    """Return mean times and mean load per day."""
    sums = duration_sums(tables, DAY, TRACE_START)
    waits = fetch_by_day(tables, sums["waits"], "waits")
    runs = fetch_by_day(tables, sums["runs"], "runs")
    loads = mean_loads(fetch_loads(tables))
    days = sorted({*waits, *runs, *loads})
    if not days:
        raise NotApplicable("there is no event within the trace")
    return [
        {
            "day": day,
            **mean_and_number(waits.get(day), "mean_wait", "n_scheduled"),
            **mean_and_number(runs.get(day), "mean_run", "n_ended"),
            **loads.get(day, {"mean_pending": None, "mean_running": None}),
        }
        for day in days
    ]


def fetch_by_day(tables: Tables, sums: ir.Table, stage: str) -> dict[int, Row]:
    """Return the sums of durations by day."""
    return {row["period"]: row for row in tables.fetch(sums, stage).to_pylist()}


def mean_and_number(sums: Row | None, mean: str, number: str) -> Row:
    """Return the mean duration in seconds and how many there are, under these names."""
    if sums is None:
        return {mean: None, number: 0}
    return {mean: sums["total"] / sums["n"] / 1e6, number: sums["n"]}


def fetch_loads(tables: Tables) -> dict[int, Row]:
    """Return what the levels of each day add up to after its first change, by day."""
    levels = of_jobs(tables.instance_occupancy)
    levels = levels.filter(is_within(levels.time))
    # What was there before the trace counts from its start.
    levels = levels.mutate(time=ibis.greatest(levels.time, TRACE_START), order=levels.time)
    levels = levels.mutate(day=period(levels.time, DAY, TRACE_START))
    # Each day by itself: `mean_loads` adds what it takes over from the day before.
    next_time = levels.order.lead().over(group_by="day", order_by="order")
    end_of_day = (levels.day + 1) * DAY + TRACE_START
    levels = levels.mutate(is_last=next_time.isnull(), end=next_time.fill_null(end_of_day))
    # Changes before the start share its time: all but the last of them hold for no time.
    levels = levels.mutate(length=ibis.greatest(levels.end, levels.time) - levels.time)
    sums = {}
    for state in STATES:
        sums[f"{state}_area"] = (levels[state] * levels.length).sum().cast("int64")
        sums[f"{state}_left"] = levels[state].max(where=levels.is_last)
    days = levels.group_by("day").aggregate(first=levels.time.min(), last=levels.time.max(), **sums)
    return {row["day"]: row for row in tables.fetch(days, "loads").to_pylist()}


def mean_loads(days: dict[int, Row]) -> dict[int, Row]:
    """Return the time-weighted means of pending and running per day, up to the last change."""
    means: dict[int, Row] = {}
    levels = dict.fromkeys(STATES, 0)
    first_day = min(days, default=0)
    last_day = max(days, default=-1)
    for day in range(first_day, last_day + 1):
        start = day * DAY + TRACE_START
        end = start + DAY
        row = days.get(day, {"first": end, "last": end})
        # Until the first change of a day the level is what the day before left.
        areas = {
            state: row.get(f"{state}_area", 0) + levels[state] * (row["first"] - start)
            for state in STATES
        }
        levels = {state: row.get(f"{state}_left", levels[state]) for state in STATES}
        if day == last_day:
            unobserved = end - row["last"]
            areas = {state: areas[state] - levels[state] * unobserved for state in STATES}
            end = row["last"]
        if end > start:
            means[day] = {f"mean_{state}": areas[state] / (end - start) for state in STATES}
    return means


def chart(answer: pa.Table) -> alt.HConcatChart:
    """Draw the mean wait and the mean run of each day over its mean number of pending tasks."""
    import altair as alt

    rows = answer.to_pylist()
    return alt.hconcat(
        time_over_queue(rows, "mean_wait", title="Mean wait"),
        time_over_queue(rows, "mean_run", title="Mean run"),
    )


def time_over_queue(rows: list[Row], column: str, *, title: str) -> alt.Chart:
    """Draw a point for each day."""
    import altair as alt

    return (
        charts.base(rows, title)
        .mark_point(filled=True)
        .encode(
            x=alt.X(
                "mean_pending:Q",
                title="mean number of pending tasks",
                scale=alt.Scale(zero=False),
            ),
            y=alt.Y(f"{column}:Q", title="seconds", scale=alt.Scale(zero=False)),
            tooltip=charts.tooltips(rows),
        )
    )


def correlation_with_queue(column: str) -> Measure:
    """Measure Spearman's correlation of a column with the number of pending tasks, over days.

    Parameters
    ----------
    column
        ``"mean_wait"`` or ``"mean_run"``.
    """

    def measure(answer: pa.Table) -> Interval:
        days = [
            row
            for row in answer.to_pylist()
            if row[column] is not None and row["mean_pending"] is not None
        ]
        # Too few days to draw blocks of three from.
        if len(days) < 7:
            raise NotApplicable("the trace is shorter than a week")
        times = np.array([row[column] for row in days])
        queue = np.array([row["mean_pending"] for row in days])
        correlation = rank_correlation(times, queue)
        if np.isnan(correlation.value):
            raise NotApplicable("one of the two series is constant")
        return correlation

    return measure


IS_INDEPENDENT = interval_includes(0, published="correlation 0")


CLAIMS = [
    Claim(
        "S4-obs9-scheduling",
        statement="scheduling times are not influenced by the queue",
        source="Zhu et al., Observation 9",
        scope=LIKE_2011.needing(days=14, tasks=10_000),
        measure=correlation_with_queue("mean_wait"),
        criterion=IS_INDEPENDENT,
    ),
    Claim(
        "S4-obs9-execution",
        statement="execution times are not influenced by the queue",
        source="Zhu et al., Observation 9",
        scope=LIKE_2011.needing(days=14, tasks=10_000),
        measure=correlation_with_queue("mean_run"),
        criterion=IS_INDEPENDENT,
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
