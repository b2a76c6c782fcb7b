"""One machine over time: what its tasks used and had requested under its capacity, and when each of them ran."""

from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.explore.cell import NAMES
from borgtrace.explore.charts import Chart, Series
from borgtrace.explore.load import lanes, requested, used
from borgtrace.explore.span import Span
from borgtrace.explore.tiers import tier_colors
from borgtrace.explore.trace import Trace
from borgtrace.schema.time import SECOND, WINDOW


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
    series += [Series("requested", "requested", "dash", "ink"), Series("capacity", "capacity", "line", "ink")]
    return Chart(pa.table(columns), series, f"{NAMES[resource]} used by tier, in largest machines", WINDOW)


def capacity(trace: Trace, machine_id: int, resource: str, span: Span) -> npt.NDArray[np.float64]:
    """Return the capacity at the start of each slot: 0 while the machine is away, NaN where none is published."""
    events = trace.store.sql(
        f"SELECT time, type, {resource}_capacity AS capacity FROM machine_events WHERE machine_id = {machine_id} "
        "ORDER BY time, source_part, source_row"
    )
    values = [
        0.0 if kind == "REMOVE" else np.nan if value is None else value
        for kind, value in zip(events["type"].to_pylist(), events["capacity"].to_pylist(), strict=True)
    ]
    at = np.searchsorted(events["time"].to_numpy(), span.slot_times, side="right") - 1
    return np.where(at >= 0, np.array([*values, np.nan])[at], np.nan)


def bars(trace: Trace, machine_id: int) -> dict[str, Any]:
    """Return when each task ran on a machine; where only usage tells, from its first window to its last."""
    place = trace.place(machine_id)
    attempts = trace.pyramid.lives.of_machine(place)
    columns = lanes(trace, attempts)
    measured = _measured(trace, place, attempts.task)
    rows = sorted([*zip(*columns.values(), strict=True), *measured], key=itemgetter(5, 0, 1))  # start, then ids
    return {name: [row[i] for row in rows] for i, name in enumerate(columns)}


def _measured(trace: Trace, place: int, known: npt.NDArray[np.int64]) -> list[tuple[Any, ...]]:
    """Return rows of `lanes` for tasks with usage on a machine and no attempt there: events are missing."""
    rows = trace.pyramid.windows.of(place)
    task = trace.task_of(rows)
    missing = ~np.isin(task, known)
    if not missing.any():
        return []
    rows, task = rows[missing], task[missing]
    start = trace.store.array("start_time")[rows].astype(np.int64)
    end = start + trace.store.array("duration")[rows].astype(np.int64)
    tasks, first = np.unique(task, return_index=True)
    begin, last = np.minimum.reduceat(start, first) * SECOND, np.maximum.reduceat(end, first) * SECOND
    collection, instance = trace.store.task_ids(tasks)
    return [
        (int(c), int(i), trace.tasks.tiers[t], int(trace.pyramid.machines[place]), None, int(b), int(e), None, cpu, mem)
        for c, i, t, b, e, cpu, mem in zip(
            collection,
            instance,
            trace.tasks.tier[tasks],
            begin,
            last,
            trace.tasks.request("cpu")[tasks].tolist(),
            trace.tasks.request("memory")[tasks].tolist(),
            strict=True,
        )
    ]


def busiest(trace: Trace, resource: str, n: int = 12) -> pa.Table:
    """Return the machines that were the fullest over the trace, and how full on the mean: `n` rows at most."""
    mean = trace.pyramid.means[resource]
    order = np.argsort(-mean, kind="stable")[:n]
    known = order[~np.isnan(mean[order])]
    return pa.table({"machine_id": trace.pyramid.machines[known], "percent_used": np.round(mean[known] * 100, 1)})
