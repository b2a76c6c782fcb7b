"""One machine over time: what its tasks used and had requested under its capacity, and when each of them ran."""

from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.explore.cell import NAMES
from borgtrace.explore.charts import Chart, Series
from borgtrace.explore.lives import AFTER, Attempts
from borgtrace.explore.load import lanes, requested, used
from borgtrace.explore.span import Span
from borgtrace.explore.tiers import tier_colors
from borgtrace.explore.trace import Trace
from borgtrace.schema.time import WINDOW


def load(trace: Trace, machine_id: int, resource: str, span: Span) -> Chart:
    """Return what the tasks on a machine used by tier, what they requested, and the capacity.

    Parameters
    ----------
    trace
        What is explored.
    machine_id
        The machine.
    resource
        ``"cpu"`` or ``"memory"``.
    span
        What is shown.
    """
    place = trace.place(machine_id)
    sums, n_windows = used(trace, trace.pyramid.windows.of(place), resource, span)
    columns: dict[str, Any] = {"time": span.slot_times}
    series = []
    for tier, values in zip(trace.tasks.tiers, sums, strict=True):
        if values.any():
            columns[tier] = np.where(n_windows, values, np.nan)
            series.append(Series(tier, tier, "stack", tier_colors(trace.dialect)[tier]))
    columns["requested"] = requested(trace, trace.pyramid.lives.of_machine(place), resource, span)
    columns["capacity"] = capacity(trace, machine_id, resource, span)
    series += [
        Series("requested", "requested", "dash", "ink"),
        Series("capacity", "capacity", "line", "ink"),
    ]
    return Chart(
        pa.table(columns), series, f"{NAMES[resource]} used by tier, in largest machines", WINDOW
    )


def capacity(trace: Trace, machine_id: int, resource: str, span: Span) -> npt.NDArray[np.float64]:
    """Return the capacity at the start of each slot: 0 while the machine is away, NaN where none is published."""
    events = trace.store.sql(
        f"SELECT time, type, {resource}_capacity AS capacity FROM machine_events WHERE machine_id = {machine_id} "
        "ORDER BY time, source_part, source_row"
    )
    values = [
        0.0 if kind == "REMOVE" else np.nan if value is None else value
        for kind, value in zip(
            events["type"].to_pylist(), events["capacity"].to_pylist(), strict=True
        )
    ]
    at = np.searchsorted(events["time"].to_numpy(), span.slot_times, side="right") - 1
    return np.where(at >= 0, np.array([*values, np.nan])[at], np.nan)


def bars(trace: Trace, machine_id: int) -> dict[str, Any]:
    """Return when each task ran on a machine; where only usage tells, from its first window to its last."""
    place = trace.place(machine_id)
    attempts = trace.pyramid.lives.of_machine(place)
    both = [lanes(trace, attempts), lanes(trace, _measured(trace, place, attempts.task))]
    rows = [row for columns in both for row in zip(*columns.values(), strict=True)]
    rows.sort(key=itemgetter(5, 0, 1))  # start, then ids
    return {name: [row[i] for row in rows] for i, name in enumerate(both[0])}


def _measured(trace: Trace, place: int, known: npt.NDArray[np.int64]) -> Attempts:
    """Return what usage tells of tasks with usage on a machine and no attempt there: events are missing."""
    rows = trace.pyramid.windows.of(place)
    task = trace.task_of(rows)
    missing = ~np.isin(task, known)
    rows, task = rows[missing], task[missing]
    start = trace.store.array("start_time")[rows].astype(np.int64)
    end = start + trace.store.array("duration")[rows].astype(np.int64)
    tasks, first = np.unique(task, return_index=True)
    begin, last = (
        choose.reduceat(at, first) for choose, at in ((np.minimum, start), (np.maximum, end))
    )
    submitted, where = np.full(len(tasks), AFTER), np.full(len(tasks), place)
    return Attempts(tasks, where, submitted, begin, np.minimum(last, AFTER), [None] * len(tasks))


def busiest(trace: Trace, resource: str, n: int = 12) -> pa.Table:
    """Return the machines that were the fullest over the trace, and how full on the mean: `n` rows at most."""
    mean = trace.pyramid.means[resource]
    order = np.argsort(-mean, kind="stable")[:n]
    known = order[~np.isnan(mean[order])]
    return pa.table(
        {
            "machine_id": trace.pyramid.machines[known],
            "percent_used": np.round(mean[known] * 100, 1),
        }
    )
