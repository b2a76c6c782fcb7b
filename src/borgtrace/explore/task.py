"""One task: its events over its usage, the percentiles of each window as a fan, and one window in full."""

from typing import Any

import numpy as np
import pyarrow as pa

from borgtrace.explore.charts import Chart, Series
from borgtrace.explore.trace import Trace
from borgtrace.report.task_life import BANDS, USAGE_SERIES, Life, of_task, percentiles

_LABEL = "percentiles of each window: 0 to 100, 10 to 90 … 40 to 60"
"""Of the widest band; it stands for all."""
_COLORS = {"average": "c1", "maximum": "c2", "sampled": "c7", "assigned": "c4"}


def usage(trace: Trace, life: Life, resource: str) -> Chart:
    """Return the windows of a task: each measured column, the request, and the fan of percentiles where there is one.

    Parameters
    ----------
    trace
        What is explored.
    life
        The task, from `borgtrace.report.task_life.read_life`.
    resource
        ``"cpu"`` or ``"memory"``.
    """
    names = {
        name: label
        for name, label in USAGE_SERIES[resource].items()
        if life.usage[name].null_count < len(life.usage)
    }
    columns: dict[str, Any] = {"time": life.usage["start_time"], "end": life.usage["end_time"]}
    series: list[Series] = []
    if resource == "cpu":
        fan = percentiles(trace.store, life.collection_id, life.instance_index)
        columns |= fan
        if fan:
            series += [
                Series(low, "" if at else _LABEL, "band", "c1", to=high)
                for at, (low, high) in enumerate(BANDS)
            ]
            # The tail bends where the bands do not look: between their two widest edges.
            series.append(Series("p99", "99th percentile", "line", "c4"))
    columns |= {name: life.usage[name] for name in names}
    series += [
        Series(name, label, "line", _COLORS[name.partition("_")[0]])
        for name, label in names.items()
    ]
    request = life.task[f"{resource}_request"]
    if request is not None:
        columns["request"] = np.full(len(life.usage), request)
        series.append(Series("request", "request", "dash", "ink"))
    title = f"{'CPU' if resource == 'cpu' else 'Memory'}, in largest machines"
    return Chart(pa.table(columns), series, title)


def window(trace: Trace, life: Life, start: int) -> dict[str, Any] | None:
    """Return all that is known of the window that starts at `start` (µs); None where there is none.

    Parameters
    ----------
    trace
        What is explored.
    life
        The task.
    start
        On the trace's clock, µs.
    """
    own = of_task(life.collection_id, life.instance_index)
    query = f"SELECT * FROM instance_usage WHERE {own} AND start_time = {start} ORDER BY source_part, source_row"
    rows = trace.store.sql(query).to_pylist()
    return rows[0] if rows else None
