"""One machine over time: usage and requests of its tasks under its capacity, and when each of them ran."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from borgtrace.engine.identifiers import quoted
from borgtrace.explore.cell import RESOURCE_NAMES, fullest_first
from borgtrace.explore.charts import DrawnSeries, TimeChart
from borgtrace.explore.explored_store import ExploredStore
from borgtrace.explore.lives import AFTER, Attempts
from borgtrace.explore.load import lanes, requested, used
from borgtrace.explore.pyramid import Pyramid
from borgtrace.explore.span import TimeSpan
from borgtrace.explore.tiers import label_of_tier, tier_colors
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.schema.time import WINDOW


def load(
    explored: ExploredStore,
    machine_id: int,
    resource: str,
    span: TimeSpan,
) -> TimeChart:
    """Return what the tasks on a machine used by tier, what they requested, and the capacity.

    Parameters
    ----------
    explored
        What is explored.
    machine_id
        The machine.
    resource
        ``"cpu"`` or ``"memory"``.
    span
        What is shown.
    """
    place = explored.place(machine_id)
    usage_rows = explored.pyramid.windows.of(place)
    attempts = explored.pyramid.lives.of_machine(place)
    used_load = used(explored, usage_rows, resource, span)
    colors = tier_colors(explored.dialect)
    columns: dict[str, Any] = {"time": span.slot_times}
    series = []
    for tier, values in zip(explored.tasks.tiers, used_load.by_tier, strict=True):
        if values.any():
            columns[tier] = np.where(used_load.n_windows, values, np.nan)
            series.append(DrawnSeries(tier, label_of_tier(tier), "stack", colors[tier]))
    columns["requested"] = requested(explored, attempts, resource, span)
    columns["capacity"] = capacity(explored, machine_id, resource, span)
    series.append(DrawnSeries("requested", "requested", "dash", "ink"))
    series.append(DrawnSeries("capacity", "capacity", "line", "ink"))
    amounts = explored.notation.amounts
    title = amounts.heading(f"{RESOURCE_NAMES[resource]} used by tier", resource)
    return TimeChart(
        pa.table(columns),
        series,
        title,
        step=WINDOW,
        factor=amounts.factor(resource),
    )


def capacity(
    explored: ExploredStore,
    machine_id: int,
    resource: str,
    span: TimeSpan,
) -> Numbers:
    """Return the capacity at the start of each slot: 0 while the machine is away, NaN where none is published."""
    query = f"""
        SELECT time, type, {quoted(f"{resource}_capacity")} AS capacity
        FROM machine_events
        WHERE machine_id = $machine
        ORDER BY time, source_part, source_row
    """
    times = []
    capacities = []
    for event in explored.store.sql(query, {"machine": machine_id}).to_pylist():
        times.append(event["time"])
        if event["type"] == "REMOVE":
            capacities.append(0.0)
        else:
            capacities.append(np.nan if event["capacity"] is None else event["capacity"])
    last_event = np.searchsorted(np.array(times, np.int64), span.slot_times, side="right") - 1
    # Index −1 selects NaN: before its first event nobody knows.
    return np.array([*capacities, np.nan])[last_event]


def bars(explored: ExploredStore, machine_id: int) -> dict[str, Any]:
    """Return when each task ran on a machine; where only usage tells, from its first window to its last."""
    place = explored.place(machine_id)
    attempts = explored.pyramid.lives.of_machine(place)
    measured = measured_attempts(explored, place, attempts.task)
    columns = lanes(explored, attempts)
    for name, values in lanes(explored, measured).items():
        columns[name] = [*columns[name], *values]
    order = sorted(
        range(len(columns["start"])),
        key=lambda row: (
            columns["start"][row],
            columns["collection_id"][row],
            columns["instance_index"][row],
        ),
    )
    return {name: [values[row] for row in order] for name, values in columns.items()}


def measured_attempts(explored: ExploredStore, place: int, tasks_of_events: Index) -> Attempts:
    """Return what usage tells of tasks with usage on a machine and no attempt there: events are missing."""
    rows = explored.pyramid.windows.of(place)
    task = explored.task_of(rows)
    is_missing = ~np.isin(task, tasks_of_events)
    rows = rows[is_missing]
    start = explored.store.array("start_time")[rows].astype(np.int64)
    end = start + explored.store.array("duration")[rows].astype(np.int64)
    tasks, first_rows = np.unique(task[is_missing], return_index=True)
    return Attempts(
        task=tasks,
        machine=np.full(len(tasks), place),
        begin=np.full(len(tasks), AFTER),
        schedule=np.minimum.reduceat(start, first_rows),
        left=np.minimum(np.maximum.reduceat(end, first_rows), AFTER),
        end=[None] * len(tasks),
    )


def labels(explored: ExploredStore, machine_ids: Iterable[int]) -> dict[str, list[str]]:
    """Return what machines are called, and what each is, as columns: ``names`` and ``about``."""
    names = []
    about = []
    for machine_id in machine_ids:
        names.append(explored.notation.names.machine(machine_id))
        about.append(explored.describe_machine(machine_id))
    return {"names": names, "about": about}


def fullest(pyramid: Pyramid, resource: str, limit: int = 12) -> pa.Table:
    """Return the machines that were the fullest over the trace, and how full on the mean: `limit` rows at most."""
    mean = pyramid.means[resource]
    places = fullest_first(pyramid, resource)[:limit]
    places = places[~np.isnan(mean[places])]
    return pa.table(
        {
            "machine_id": pyramid.machines[places],
            "percent_used": np.round(mean[places] * 100, 1),
        }
    )
