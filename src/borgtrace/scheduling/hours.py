"""What would another scheduler have done, hour by hour?

Means over each hour of the trace's clock of what waits, runs, is asked for and is used, and evictions in it. What waits
counts until it starts, was withdrawn, or the trace ends. Usage is the mean of a task over its windows in the trace.

Reference: Verma et al., EuroSys'15 (Borg), section 3.2
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.question import Row
from borgtrace.question.charts import Chart, Plot, axis, beside, hour_axis, line, melted
from borgtrace.scheduling.machines import EXTENDED
from borgtrace.scheduling.replay import Trace
from borgtrace.scheduling.room import is_covered
from borgtrace.scheduling.simulate import Simulate
from borgtrace.scheduling.state import ENDED, KIND, PREEMPTED, STARTED, SUBMITTED
from borgtrace.schema.time import HOUR

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


def _of_cell(result: pa.Table) -> Sequence[dict[str, Any]]:
    """Return what is asked for and used of the cell's CPU, all tiers together."""
    columns = [(name, "sum") for name in ("cpu", "cpu_used")]
    summed = result.group_by(["policy", "hour"]).aggregate(columns).to_pylist()
    rows = melted(summed, {"cpu_sum": "asked for", "cpu_used_sum": "used"}, "share")
    return [row for row in rows if row["share"] is not None]


def plot(result: pa.Table) -> Chart:
    """Draw what waits, what is asked for and used of the cell's CPU, and evictions, by hour."""
    shared = {"x": hour_axis(), "strokeDash": "policy"}
    cell = Plot(
        _of_cell(result),
        **shared,
        y=axis("share", "CPU of the cell", axis={"format": "%"}),
        color="series",
    )
    parts = [Plot(result, **shared, y=name, color="tier") for name in ("waiting_hours", "evicted")]
    drawn = [
        plotted.add(line()).draw(title, width=280)
        for plotted, title in zip(
            [*parts, cell], ("Waiting", "Evictions", "Allocation and use"), strict=True
        )
    ]
    title = "Other schedulers, by hour (simulated, beside what was recorded)"
    return beside(title, *drawn).resolve_scale(color="independent")


SIMULATE_HOURS = Simulate.declared(hours_of, name="simulation_hours", plot=plot)
