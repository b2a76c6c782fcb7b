"""One job (or alloc set): the lives of its instances, what they used together, and its siblings."""

from typing import Any

import numpy as np
import pyarrow as pa

from borgtrace.explore.cell import RESOURCE_NAMES
from borgtrace.explore.charts import DrawnSeries, TimeChart
from borgtrace.explore.explored_store import ExploredStore
from borgtrace.explore.load import lanes, requested, used
from borgtrace.explore.span import TimeSpan, span_of_life
from borgtrace.schema.time import SECOND, WINDOW

MOST_BARS = 20_000
"""Attempts that a browser is given; the CSV has no more either, `borgtrace sql` has all."""

# Where both the index of tasks and the last events of a job know something, the events count.
FACTS = """
    SELECT coalesce(last_events.user, summed.user) AS user,
        coalesce(last_events.priority, summed.priority) AS priority,
        coalesce(last_events.scheduling_class, summed.scheduling_class) AS scheduling_class,
        coalesce(last_events.collection_logical_name, summed.collection_logical_name)
            AS collection_logical_name,
        n_instances, n_windows, cpu_request, memory_request, n_submit, n_evict, n_fail,
        collection_type, collection_name, parent_collection_id, alloc_collection_id, scheduler
    FROM (
        SELECT max(user) AS user,
            max(priority) AS priority,
            max(scheduling_class) AS scheduling_class,
            max(collection_logical_name) AS collection_logical_name,
            count(*) AS n_instances,
            sum(n_windows)::BIGINT AS n_windows,
            sum(cpu_request) AS cpu_request,
            sum(memory_request) AS memory_request,
            sum(n_submit)::BIGINT AS n_submit,
            sum(n_evict)::BIGINT AS n_evict,
            sum(n_fail)::BIGINT AS n_fail
        FROM tasks
        WHERE collection_id = $job
    ) AS summed, (
        SELECT arg_max(collection_type, step) AS collection_type,
            arg_max(priority, step) AS priority,
            arg_max(scheduling_class, step) AS scheduling_class,
            arg_max(user, step) AS user,
            arg_max(collection_name, step) AS collection_name,
            arg_max(collection_logical_name, step) AS collection_logical_name,
            arg_max(parent_collection_id, step) AS parent_collection_id,
            arg_max(alloc_collection_id, step) AS alloc_collection_id,
            arg_max(scheduler, step) AS scheduler
        FROM (
            SELECT *, (time, source_part, source_row) AS step
            FROM collection_events
            WHERE collection_id = $job
        )
    ) AS last_events
"""

TIMES = """
    SELECT min(first_time) AS first, max(last_time) AS last
    FROM tasks
    WHERE collection_id = $job
"""


def load(
    explored: ExploredStore,
    collection_id: int,
    resource: str,
    span: TimeSpan,
) -> TimeChart:
    """Return what the instances of a job used together, and what those that ran had requested.

    Parameters
    ----------
    explored
        What is explored.
    collection_id
        The job.
    resource
        ``"cpu"`` or ``"memory"``.
    span
        What is shown.
    """
    first, last = explored.job_rows(collection_id)
    offsets = explored.store.offsets
    usage_rows = np.arange(offsets[first], offsets[last])
    attempts = explored.pyramid.lives.of_tasks(first, last)
    columns = {
        "time": span.slot_times,
        "used": used(explored, usage_rows, resource, span).total,
        "requested": requested(explored, attempts, resource, span),
    }
    series = [
        DrawnSeries("used", "used", "stack", "c1"),
        DrawnSeries("requested", "requested", "dash", "ink"),
    ]
    amounts = explored.notation.amounts
    title = amounts.heading(f"{RESOURCE_NAMES[resource]} of all instances", resource)
    return TimeChart(
        pa.table(columns),
        series,
        title,
        step=WINDOW,
        factor=amounts.factor(resource),
    )


def bars(explored: ExploredStore, collection_id: int) -> dict[str, Any]:
    """Return the attempts of a job's instances, instance by instance."""
    attempts = explored.pyramid.lives.of_tasks(*explored.job_rows(collection_id))
    columns = lanes(explored, attempts)
    order = sorted(
        range(len(attempts.task)),
        key=lambda row: (columns["instance_index"][row], columns["begin"][row]),
    )
    shown = order[:MOST_BARS]
    return {name: [values[row] for row in shown] for name, values in columns.items()}


def life_span(explored: ExploredStore, collection_id: int) -> TimeSpan:
    """Return when a job lived: from its first attempt, or usage, to its last."""
    (row,) = explored.store.sql(TIMES, {"job": collection_id}).to_pylist()
    times = [time for time in row.values() if time is not None]
    attempts = explored.pyramid.lives.of_tasks(*explored.job_rows(collection_id))
    # Attempts that are not known to have ended live to the end: `AFTER` is cut to it.
    for seconds in (attempts.begin, attempts.left):
        times += (seconds.astype(np.int64) * SECOND).tolist()
    return span_of_life(explored.span, times)


def facts(explored: ExploredStore, collection_id: int) -> dict[str, Any]:
    """Return what the events and the index say of a job: known values only."""
    (row,) = explored.store.sql(FACTS, {"job": collection_id}).to_pylist()
    return {name: value for name, value in row.items() if value is not None}
