"""What would another scheduler have done, hour by hour?

For each hour of the trace's clock: the means of waiting and running tasks, of requests and of usage, the evictions, and
the machines without a task. A task waits until it starts, is withdrawn, or the trace ends. Usage is the mean of a task
over its windows in the trace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.question import Answer, Column, Row, charts
from borgtrace.scheduling.machine_spans import Spans, busy_spans, spans_there
from borgtrace.scheduling.machines import EXTENDED
from borgtrace.scheduling.replay import ScheduleInput
from borgtrace.scheduling.room import is_covered
from borgtrace.scheduling.schedule_question import ScheduleQuestion
from borgtrace.scheduling.state import ATTEMPT, ENDED, OUTCOME, PREEMPTED, STARTED, SUBMITTED
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
        Column(
            "empty",
            "float64",
            "fraction",
            "Mean share of the machines that are there without a task, of the whole cell.",
        ),
    ],
)


def compute(
    trace: ScheduleInput,
    submissions: Index,
    policy: str,
    planned: Index,
    impossible: Index,
) -> list[Row]:
    """Return a row for each tier and hour.

    Parameters
    ----------
    trace, submissions, policy
        What was replayed, the rows of :func:`borgtrace.scheduling.events.run`, and the name of the policy.
    planned, impossible
        Not used.
    """
    tasks = trace.tasks
    until = max(trace.until, 1)
    bounds = np.append(np.arange(0, until, HOUR), until)
    empty = empty_shares(trace, submissions, bounds)
    rows = []
    for tier in np.unique(tasks.tier).tolist():
        own = submissions[tasks.tier[submissions[:, ATTEMPT]] == tier]
        usage = running_by_hour(trace, own, bounds)
        waiting = waiting_by_hour(own, bounds)
        evicted = evicted_by_hour(own, bounds)
        for hour in range(len(bounds) - 1):
            row = {
                "policy": policy,
                "tier": tasks.tier_name(tier),
                "hour": hour,
                "evicted": int(evicted[hour]),
                "waiting_hours": float(waiting[hour]),
                "empty": float(empty[hour]),
            }
            rows.append(row | usage[hour])
    return rows


def empty_shares(trace: ScheduleInput, submissions: Index, bounds: Index) -> Numbers:
    """Return the mean share of machines without a task between `bounds`."""
    n_there = n_machines(spans_there(trace), bounds)
    n_busy = n_machines(busy_spans(trace, submissions), bounds)
    # In the trace itself tasks run on while their machine is away.
    return np.maximum(1 - n_busy / np.maximum(n_there, 1), 0.0)


def n_machines(spans: Spans, bounds: Index) -> Numbers:
    """Return the mean number of machines with a span between `bounds`."""
    ones = np.ones((len(spans.begin), 1))
    return means(spans.begin, spans.end, ones, bounds)[:, 0]


def waiting_by_hour(submissions: Index, bounds: Index) -> Numbers:
    """Return the hours that submissions wait, in each hour."""
    started = submissions[:, STARTED]
    waited_until = np.where(started >= 0, started, ends_of(submissions, bounds))
    ones = np.ones((len(submissions), 1))
    n_waiting = means(submissions[:, SUBMITTED], waited_until, ones, bounds)[:, 0]
    return n_waiting * np.diff(bounds) / HOUR


def running_by_hour(
    trace: ScheduleInput,
    submissions: Index,
    bounds: Index,
) -> list[Row]:
    """Return how many tasks run in each hour, and what they ask for and use of the cell."""
    tasks = trace.tasks
    ran = submissions[submissions[:, STARTED] >= 0]
    attempts = ran[:, ATTEMPT]
    cell = trace.machines.capacity[:, :EXTENDED].sum(axis=0).astype(np.float64)
    weights = np.column_stack(
        [
            np.ones(len(ran)),
            tasks.sizes[attempts] / cell,
            tasks.used[attempts] / cell,
        ]
    )
    by_hour = means(ran[:, STARTED], ends_of(ran, bounds), weights, bounds)
    is_measured = is_covered(tasks)
    rows = []
    for running, cpu, memory, cpu_used, memory_used in by_hour.tolist():
        row = {
            "running": running,
            "cpu": cpu,
            "memory": memory,
            "cpu_used": cpu_used if is_measured else None,
            "memory_used": memory_used if is_measured else None,
        }
        rows.append(row)
    return rows


def evicted_by_hour(submissions: Index, bounds: Index) -> Index:
    """Return how many submissions are evicted in each hour."""
    is_evicted = submissions[:, OUTCOME] == PREEMPTED
    # What happens at the end belongs to the last hour.
    edges = [*bounds[:-1], bounds[-1] + 1]
    counts, _ = np.histogram(submissions[is_evicted, ENDED], edges)
    return counts


def ends_of(submissions: Index, bounds: Index) -> Index:
    """Return when submissions end, at the latest with the trace."""
    ended = submissions[:, ENDED]
    return np.where(ended >= 0, ended, bounds[-1])


def means(
    begin: Index,
    end: Index,
    weights: Numbers,
    bounds: Index,
) -> Numbers:
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
        sorted_times = times[order].astype(np.float64)[:, None]
        sorted_weights = weights[order]
        # What has come before each bound, and the sum of its times.
        place = np.searchsorted(sorted_times[:, 0], bounds)
        weight_before = sums_before(sorted_weights)[place]
        moment_before = sums_before(sorted_weights * sorted_times)[place]
        total += sign * (bounds[:, None] * weight_before - moment_before)
    return np.asarray(np.diff(total, axis=0) / np.diff(bounds)[:, None])


def sums_before(values: Numbers) -> Numbers:
    """Return the sum of all lines before each line, and of all."""
    zero = np.zeros((1, values.shape[1]))
    return np.vstack([zero, np.cumsum(values, axis=0)])


def cpu_of_the_cell(answer: pa.Table) -> list[Row]:
    """Return what is asked for and used of the cell's CPU, all tiers together, by policy and hour."""
    sums: dict[tuple[str, int], Row] = {}
    for row in answer.to_pylist():
        key = (row["policy"], row["hour"])
        sum_of_tiers = sums.setdefault(
            key,
            {"policy": row["policy"], "hour": row["hour"], "cpu": None, "cpu_used": None},
        )
        for name in ("cpu", "cpu_used"):
            if row[name] is not None:
                sum_of_tiers[name] = (sum_of_tiers[name] or 0.0) + row[name]
    return charts.melted(list(sums.values()), {"cpu": "asked for", "cpu_used": "used"}, "share")


def chart(answer: pa.Table) -> charts.Chart:
    """Draw what waits, what is asked for and used of the cell's CPU, and evictions, by hour."""
    import altair as alt

    rows = answer.to_pylist()
    cell_rows = cpu_of_the_cell(answer)
    waiting = line_by_hour(rows, "waiting_hours", "Waiting").encode(color=charts.tier_color(rows))
    evictions = line_by_hour(rows, "evicted", "Evictions").encode(color=charts.tier_color(rows))
    allocation = line_by_hour(cell_rows, "share", "Allocation and use").encode(
        y=alt.Y(
            "share:Q",
            title="CPU of the cell",
            axis=alt.Axis(format="%"),
        ),
        color=alt.Color("series:N", title="series"),
    )
    return (
        alt.hconcat(waiting, evictions, allocation)
        .properties(title="Other schedulers, by hour (simulated, beside what was recorded)")
        .resolve_scale(color="independent")
    )


def line_by_hour(
    rows: list[Row],
    name: str,
    title: str,
) -> alt.Chart:
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
    compute=compute,
    chart=chart,
    reference="Verma et al., EuroSys'15 (Borg), section 3.2",
)
"""The same by hour."""
