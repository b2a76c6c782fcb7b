"""What would another scheduler have done, hour by hour?

Means over each hour of the trace's clock of what waits, runs, is asked for and is used, and evictions in it. What waits
counts until it starts, was withdrawn, or the trace ends. Usage is the mean of a task over its windows in the trace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.question import Answer, Column, Row, charts
from borgtrace.scheduling.machines import EXTENDED
from borgtrace.scheduling.replay import Trace
from borgtrace.scheduling.room import is_covered
from borgtrace.scheduling.simulate import ScheduleQuestion
from borgtrace.scheduling.state import ENDED, KIND, PREEMPTED, STARTED, SUBMITTED
from borgtrace.schema.time import HOUR

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="policy, tier and hour",
    key=[
        Column(
            "policy",
            "string",
            "id",
            "Policy, or recorded: the trace itself. All others are simulated.",
        ),
        Column(
            "tier", "string", "id", "Tier of the tasks; unknown: no event tells their priority."
        ),
        Column(
            "hour",
            "int64",
            "h",
            "Hour of the trace, from 0; the last one ends with the last event.",
        ),
    ],
    columns=[
        Column(
            "waiting_hours",
            "float64",
            "h",
            (
                "Time that tasks waited in that hour, all together: their mean number, where "
                "the hour is whole."
            ),
        ),
        Column("evicted", "int64", "count", "Submissions that a task of a higher tier evicted."),
        Column("running", "float64", "count", "Mean number of running tasks."),
        Column(
            "cpu",
            "float64",
            "fraction",
            "Mean CPU of running tasks, by their requests, of all machines.",
        ),
        Column(
            "memory",
            "float64",
            "fraction",
            "Mean memory of running tasks, by their requests, of all machines.",
        ),
        Column(
            "cpu_used",
            "float64",
            "fraction",
            (
                "Mean CPU that running tasks use, each its own mean, of all machines; NULL "
                "below 90 % measured."
            ),
            nullable=True,
        ),
        Column(
            "memory_used",
            "float64",
            "fraction",
            "Mean memory that running tasks use, likewise; NULL below 90 % measured.",
            nullable=True,
        ),
    ],
)


USED = ("cpu_used", "memory_used")
"""Columns that only measured tasks fill."""


def means(begin: Index, end: Index, weights: Numbers, bounds: Index) -> Numbers:
    """Return the mean of what is there between `bounds`: shape (bounds − 1, columns).

    Parameters
    ----------
    begin, end
        When each comes and goes: int64 (n,).
    weights
        What it counts while it is there: (n, columns).
    bounds
        int64, ascending.

    Examples
    --------
    >>> means(np.array([0]), np.array([15]), np.ones((1, 1)), np.array([0, 10, 20])).tolist()
    [[1.0], [0.5]]
    """
    total: Numbers = np.zeros((len(bounds), weights.shape[1]))
    for times, sign in ((begin, 1), (end, -1)):
        order = np.argsort(times)
        heavy, late = weights[order], times[order].astype(np.float64)[:, None]
        count, moment = (
            np.vstack([0 * total[:1], np.cumsum(part, axis=0)]) for part in (heavy, heavy * late)
        )
        at = np.searchsorted(late[:, 0], bounds)
        total += sign * (bounds[:, None] * count[at] - moment[at])
    return np.asarray(np.diff(total, axis=0) / np.diff(bounds)[:, None])


def hours_of(
    trace: Trace, found: Index, policy: str, planned: Index, impossible: Index
) -> list[Row]:
    """Return a row for each tier and hour; the parameters are those of :func:`borgtrace.scheduling.simulate.rows_of`.

    Parameters
    ----------
    trace, found, policy
        What was replayed, what came of it, and its name.
    planned, impossible
        Not looked at.
    """
    tasks, until = trace.tasks, max(trace.until, 1)
    bounds = np.append(np.arange(0, until, HOUR), until)
    cell = trace.machines.capacity[:, :EXTENDED].sum(axis=0).astype(np.float64)
    rows = []
    for tier in np.unique(tasks.tier).tolist():
        part = found[tasks.tier[found[:, 0]] == tier]
        left = np.where(part[:, ENDED] >= 0, part[:, ENDED], until)
        begun = part[:, STARTED] >= 0
        waiting = means(
            part[:, SUBMITTED],
            np.where(begun, part[:, STARTED], left),
            np.ones((len(part), 1)),
            bounds,
        )
        ran = part[begun, 0]
        weights = np.column_stack(
            [np.ones(len(ran)), tasks.sizes[ran] / cell, tasks.used[ran] / cell]
        )
        there = means(part[begun, STARTED], left[begun], weights, bounds)
        evicted = np.histogram(part[part[:, KIND] == PREEMPTED, ENDED], [*bounds[:-1], until + 1])[
            0
        ]
        values = np.column_stack([waiting * np.diff(bounds)[:, None] / HOUR, there])
        names = ("waiting_hours", "running", "cpu", "memory", *(USED if is_covered(tasks) else ()))
        rows += [
            {
                "policy": policy,
                "tier": tasks.tier_name(tier),
                "hour": hour,
                "evicted": int(evicted[hour]),
            }
            | dict(zip(names, line.tolist(), strict=False))
            for hour, line in enumerate(values)
        ]
    return [{**dict.fromkeys(USED), **row} for row in rows]


def cpu_of_the_cell(answer: pa.Table) -> list[Row]:
    """Return what is asked for and used of the cell's CPU, all tiers together."""
    columns = [(name, "sum") for name in ("cpu", "cpu_used")]
    sums = answer.group_by(["policy", "hour"]).aggregate(columns).to_pylist()
    return charts.melted(sums, {"cpu_sum": "asked for", "cpu_used_sum": "used"}, "share")


def chart(answer: pa.Table) -> charts.Chart:
    """Draw what waits, what is asked for and used of the cell's CPU, and evictions, by hour."""
    import altair as alt

    rows = answer.to_pylist()
    cell_rows = cpu_of_the_cell(answer)
    waiting = line_by_hour(rows, "waiting_hours", "Waiting").encode(color=charts.tier_color(rows))
    evictions = line_by_hour(rows, "evicted", "Evictions").encode(color=charts.tier_color(rows))
    allocation = line_by_hour(cell_rows, "share", "Allocation and use").encode(
        y=alt.Y("share:Q", title="CPU of the cell", axis=alt.Axis(format="%")),
        color=alt.Color("series:N", title="series"),
    )
    return (
        alt.hconcat(waiting, evictions, allocation)
        .properties(title="Other schedulers, by hour (simulated, beside what was recorded)")
        .resolve_scale(color="independent")
    )


def line_by_hour(rows: list[Row], name: str, title: str) -> alt.Chart:
    """Draw a column by hour, dashed by policy."""
    import altair as alt

    return (
        charts.base(rows, title=title, width=280)
        .mark_line()
        .encode(
            x=charts.hour_axis(rows),
            y=alt.Y(f"{name}:Q", title=name.replace("_", " ")),
            strokeDash=alt.StrokeDash("policy:N", title="policy"),
            tooltip=charts.tooltips(rows),
        )
    )


SIMULATE_HOURS = ScheduleQuestion(
    name="simulation_hours",
    doc=__doc__,
    answer=ANSWER,
    compute=hours_of,
    chart=chart,
    reference="Verma et al., EuroSys'15 (Borg), section 3.2",
)
"""The same by hour."""
