"""One task: its events over its usage, the percentiles of each window as a fan, and one window in full."""

from typing import Any

import numpy as np
import pyarrow as pa

from borgtrace.explore.charts import Chart, Series
from borgtrace.explore.trace import Trace
from borgtrace.report.task_life import USAGE_SERIES, Life
from borgtrace.schema import PERCENTILES

_FAN = (
    ("p0", "p100", "percentiles of each window: 0 to 100, 10 to 90 … 40 to 60"),
    ("p10", "p90", ""),
    ("p20", "p80", ""),
    ("p30", "p70", ""),
    ("p40", "p60", ""),
)
"""Bands from the widest to the narrowest; one label stands for all."""
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
        name: label for name, label in USAGE_SERIES[resource].items() if life.usage[name].null_count < len(life.usage)
    }
    columns: dict[str, Any] = {"time": life.usage["start_time"], "end": life.usage["end_time"]}
    series: list[Series] = []
    if resource == "cpu":
        fan = _fan(trace, life)
        columns |= fan
        if fan:
            series += [Series(low, label, "band", "c1", to=high) for low, high, label in _FAN]
            # The tail bends where the bands do not look: between their two widest edges.
            series.append(Series("p99", "99th percentile", "line", "c4"))
    columns |= {name: life.usage[name] for name in names}
    series += [Series(name, label, "line", _COLORS[name.partition("_")[0]]) for name, label in names.items()]
    request = life.task[f"{resource}_request"]
    if request is not None:
        columns["request"] = np.full(len(life.usage), request)
        series.append(Series("request", "request", "dash", "ink"))
    title = f"{'CPU' if resource == 'cpu' else 'Memory'}, in largest machines"
    return Chart(pa.table(columns), series, title)


def _fan(trace: Trace, life: Life) -> dict[str, Any]:
    """Return the percentiles of the CPU in each window, where any window has them."""
    chosen = ", ".join(f"{column}[{at + 1}] AS {name}" for name, (column, at) in PERCENTILES.items())
    found = trace.store.sql(
        f"SELECT {chosen} FROM instance_usage WHERE {where(life)} ORDER BY start_time, source_part, source_row"
    )
    return {name: found[name] for name in PERCENTILES} if found["p50"].null_count < len(found) else {}


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
    rows = trace.store.sql(
        f"SELECT * FROM instance_usage WHERE {where(life)} AND start_time = {start} ORDER BY source_part, source_row"
    ).to_pylist()
    return rows[0] if rows else None


def where(life: Life) -> str:
    """Return the condition that holds for the rows of a task."""
    return f"collection_id = {life.collection_id} AND instance_index = {life.instance_index}"
