"""Do scheduling and execution take longer when the cell is busier?

One row per day: mean wait of what was scheduled and mean run of what ended on that day, beside the
time-weighted mean number of pending and running tasks.  A claim of independence holds where the 95 %
interval of Spearman's correlation (circular block bootstrap, blocks of three days, 2,000
draws, fixed seed) includes 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses._processes import jobs_only
from borgtrace.analyses._trend import Interval, rank_correlation
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table
from borgtrace.schema.time import AFTER_TRACE, DAY, TRACE_START

if TYPE_CHECKING:
    import altair as alt

RESULT = Table(
    "load_and_times",
    "day",
    ("day",),
    (
        Column("day", "int64", "d", "Day since the start of the trace, from 0.", nullable=False),
        Column("mean_wait", "float64", "s", "Mean wait of what was scheduled on the day."),
        Column("n_scheduled", "int64", "count", "Attempts with a wait.", nullable=False),
        Column("mean_run", "float64", "s", "Mean run of what ended on the day."),
        Column("n_ended", "int64", "count", "Attempts with a run.", nullable=False),
        Column("mean_pending", "float64", "count", "Mean number of pending tasks."),
        Column("mean_running", "float64", "count", "Mean number of running tasks."),
    ),
)


def compute(tables: Tables) -> pa.Table:
    """Return mean times and mean load per day."""
    tasks = jobs_only(tables.instance_attempts)
    waits = tables.fetch(_per_day(tasks, tasks.wait, tasks.schedule_time), "waits").to_pylist()
    runs = tables.fetch(_per_day(tasks, tasks.run, tasks.end_time), "runs").to_pylist()
    loads = _loads(tables)
    wait = {row["day"]: (row["total"] / row["n"] / 1e6, row["n"]) for row in waits}
    run = {row["day"]: (row["total"] / row["n"] / 1e6, row["n"]) for row in runs}
    days = sorted({*wait, *run, *loads})
    if not days:
        raise NotApplicable("there is no event within the trace")
    return pa.table(
        {
            "day": pa.array(days, pa.int64()),
            "mean_wait": pa.array([wait.get(day, (None, 0))[0] for day in days], pa.float64()),
            "n_scheduled": pa.array([wait.get(day, (None, 0))[1] for day in days], pa.int64()),
            "mean_run": pa.array([run.get(day, (None, 0))[0] for day in days], pa.float64()),
            "n_ended": pa.array([run.get(day, (None, 0))[1] for day in days], pa.int64()),
            "mean_pending": pa.array([loads.get(day, (None, None))[0] for day in days], pa.float64()),
            "mean_running": pa.array([loads.get(day, (None, None))[1] for day in days], pa.float64()),
        }
    )


def _per_day(rows: ir.Table, duration: ir.Value, at: ir.Value) -> ir.Table:
    timed = rows.mutate(duration=duration, at=at)
    timed = timed.filter(timed.duration.notnull() & (timed.at >= TRACE_START))
    day = ((timed.at - TRACE_START) // DAY).cast("int64")
    return timed.group_by(day=day).aggregate(total=timed.duration.sum().cast("int64"), n=timed.count())


def _loads(tables: Tables) -> dict[int, tuple[float, float]]:
    """Return the time-weighted means of pending and running per day, up to the last change."""
    levels = tables.instance_occupancy
    levels = levels.filter((levels.collection_type == "JOB") & (levels.time < AFTER_TRACE))
    at = ibis.greatest(levels.time, TRACE_START)
    timed = levels.mutate(day=((at - TRACE_START) // DAY).cast("int64"), at=at)
    until = timed.time.lead().over(group_by="day", order_by="time")
    held = timed.mutate(is_last=until.isnull(), end=until.fill_null((timed.day + 1) * DAY + TRACE_START))
    held = held.mutate(length=((ibis.greatest(held.end, held.at) - held.at) // 1000).cast("int64"))
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


_STATES = ("pending", "running")


def _means(days: dict[int, dict[str, int]]) -> dict[int, tuple[float, float]]:
    """Add to each day what it took over from the day before; cut the last day at the last change."""
    if not days:
        return {}
    means, level = {}, dict.fromkeys(_STATES, 0)
    for day in range(min(days), max(days) + 1):
        start, end = day * DAY + TRACE_START, (day + 1) * DAY + TRACE_START
        row = days.get(day, {"first": end, "last": end})
        area = {s: row.get(f"{s}_area", 0) + level[s] * ((row["first"] - start) // 1000) for s in _STATES}
        level = {s: row.get(f"{s}_left", level[s]) for s in _STATES}
        if day == max(days):
            area = {s: area[s] - level[s] * ((end - row["last"]) // 1000) for s in _STATES}
            end = row["last"]
        if end > start:
            means[day] = (area["pending"] * 1000 / (end - start), area["running"] * 1000 / (end - start))
    return means


def plot(result: pa.Table) -> alt.HConcatChart:
    """Draw waits and runs against the load, one point a day."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, rows

    return alt.hconcat(
        *(
            alt.Chart(rows(result), title=title, width=WIDTH, height=HEIGHT)
            .mark_point(filled=True)
            .encode(
                x=alt.X("mean_pending:Q", title="mean number of pending tasks", scale=alt.Scale(zero=False)),
                y=alt.Y(f"{column}:Q", title="seconds", scale=alt.Scale(zero=False)),
                tooltip=["day:Q", "mean_pending:Q", "mean_running:Q", f"{column}:Q"],
            )
            for column, title in (("mean_wait", "Mean wait"), ("mean_run", "Mean run"))
        )
    )


def correlation(result: pa.Table, column: str) -> Interval:
    """Return Spearman's correlation of a column with the number pending, over days."""
    whole = [row for row in result.to_pylist() if row[column] is not None and row["mean_pending"] is not None]
    if len(whole) < 7:
        raise NotApplicable("the trace is shorter than a week")
    found = rank_correlation(np.array([row[column] for row in whole]), np.array([row["mean_pending"] for row in whole]))
    if np.isnan(found.value):
        raise NotApplicable("one of the two series is constant")
    return found


def _includes_zero(interval: Interval) -> bool:
    return interval.low <= 0.0 <= interval.high


CLAIMS = (
    Claim(
        "S4-obs9-scheduling",
        "scheduling times are not influenced by the queue",
        "correlation 0",
        lambda r: correlation(r, "mean_wait"),
        _includes_zero,
        "Zhu et al., Observation 9",
    ),
    Claim(
        "S4-obs9-execution",
        "execution times are not influenced by the queue",
        "correlation 0",
        lambda r: correlation(r, "mean_run"),
        _includes_zero,
        "Zhu et al., Observation 9",
    ),
)

RECIPE = Recipe(
    "load_and_times",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_events",),
    reference="Zhu et al., Observation 9",
    order=41,
    topic="Waiting and running times",
)
