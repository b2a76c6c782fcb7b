"""One task: its events over its usage, the percentiles of each window as a fan, and one window in full."""

from typing import Any

import numpy as np
import pyarrow as pa

from borgtrace.explore.cell import IN_LARGEST_MACHINES, RESOURCE_NAMES
from borgtrace.explore.charts import DrawnSeries, TimeChart
from borgtrace.explore.explored_store import ExploredStore
from borgtrace.notation import ResourceAmounts
from borgtrace.report.task_life import BANDS, USAGE_SERIES, Life

BANDS_LABEL = "percentiles of each window: 0 to 100, 10 to 90 … 40 to 60"
"""Label of the widest band; it stands for all."""
COLORS = {
    "average": "c1",
    "maximum": "c2",
    "sampled": "c7",
    "assigned": "c4",
}

WINDOW = """
    SELECT *
    FROM instance_usage
    WHERE collection_id = $collection_id
        AND instance_index = $instance_index
        AND start_time = $start_time
    ORDER BY source_part, source_row
    LIMIT 1
"""


def usage(
    life: Life,
    resource: str,
    amounts: ResourceAmounts = IN_LARGEST_MACHINES,
) -> TimeChart:
    """Return the windows of a task: each measured column, the request, and the fan of percentiles where there is one.

    Parameters
    ----------
    life
        The task, from `borgtrace.report.task_life.read_life`.
    resource
        ``"cpu"`` or ``"memory"``.
    amounts
        How they are drawn.
    """
    columns: dict[str, Any] = {"time": life.usage["start_time"], "end": life.usage["end_time"]}
    series: list[DrawnSeries] = []
    if resource == "cpu" and life.percentiles:
        columns |= life.percentiles
        series += series_of_bands()
    for name, label in USAGE_SERIES[resource].items():
        if life.usage[name].null_count < len(life.usage):
            columns[name] = life.usage[name]
            color = COLORS[name.partition("_")[0]]
            series.append(DrawnSeries(name, label, "line", color))
    request = life.task[f"{resource}_request"]
    if request is not None:
        columns["request"] = np.full(len(life.usage), request)
        series.append(DrawnSeries("request", "request", "dash", "ink"))
    title = amounts.heading(RESOURCE_NAMES[resource], resource)
    return TimeChart(pa.table(columns), series, title, factor=amounts.factor(resource))


def series_of_bands() -> list[DrawnSeries]:
    """Return how percentiles are drawn: the widest band first, then the tail."""
    series: list[DrawnSeries] = []
    for low, high in BANDS:
        label = "" if series else BANDS_LABEL
        series.append(DrawnSeries(low, label, "band", "c1", to=high))
    # The tail bends where the bands do not look: between their two widest edges.
    series.append(DrawnSeries("p99", "99th percentile", "line", "c4"))
    return series


def window(explored: ExploredStore, life: Life, start: int) -> dict[str, Any] | None:
    """Return all that is known of the window that starts at `start` (µs); None where there is none.

    Parameters
    ----------
    explored
        What is explored.
    life
        The task.
    start
        On the trace's clock, µs.
    """
    parameters = {
        "collection_id": life.collection_id,
        "instance_index": life.instance_index,
        "start_time": start,
    }
    rows = explored.store.sql(WINDOW, parameters).to_pylist()
    return rows[0] if rows else None
