"""One task's life as rows: its events, its usage windows, and the charts of both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from borgtrace.question import charts
from borgtrace.report.reduction import reduce_rows
from borgtrace.schema import PERCENTILES
from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE, HOUR

if TYPE_CHECKING:
    import altair as alt

    from borgtrace.store import Store

EVENT_COLUMNS = ("time", "type", "machine_id", "priority", "cpu_request", "memory_request")
USAGE_SERIES: Mapping[str, Mapping[str, str]] = {
    "cpu": {
        "average_cpu": "mean",
        "maximum_cpu": "maximum",
        "sampled_cpu": "one random second",
    },
    "memory": {
        "average_memory": "mean",
        "maximum_memory": "maximum",
        "assigned_memory": "limit",
    },
}
"""Columns of usage, and what they are called."""
BANDS = (("p0", "p100"), ("p10", "p90"), ("p20", "p80"), ("p30", "p70"), ("p40", "p60"))
"""Percentiles of 2019 between which a band is drawn, from the widest to the narrowest."""
_COLORS = {
    "p0–p100": "#e9eff7",
    "p10–p90": "#d3e0ef",
    "p20–p80": "#b6cce4",
    "p30–p70": "#93b4d6",
    "p40–p60": "#6d99c6",
    "mean": "#1f4e79",
    "maximum": "#d1495b",
    "one random second": "#e07a1f",
    "limit": "#e07a1f",
}
USAGE_COLUMNS = (
    "start_time",
    "end_time",
    "machine_id",
    *USAGE_SERIES["cpu"],
    *USAGE_SERIES["memory"],
)


@dataclass(frozen=True, slots=True)
class Life:
    """Events and usage windows of one task, both in time order, as the store has them."""

    collection_id: int
    instance_index: int
    events: pa.Table
    usage: pa.Table
    task: dict[str, Any]
    percentiles: Mapping[str, pa.ChunkedArray] = field(default_factory=dict)


def read_life(store: Store, collection_id: int, instance_index: int) -> Life:
    """Read all that a store knows of one task.

    Parameters
    ----------
    store
        An open store.
    collection_id, instance_index
        The task.

    Raises
    ------
    UsageError
        Where the store has no such task.
    """
    store.traces(
        [(collection_id, instance_index)]
    )  # refuses an unknown task, and names its neighbors
    task = collection_id, instance_index
    events = _rows(store, task, "instance_events", "time", EVENT_COLUMNS)
    usage = _rows(store, task, "instance_usage", "start_time", USAGE_COLUMNS)
    (summary,) = store.sql(f"SELECT * FROM tasks WHERE {of_task(*task)}").to_pylist()
    return Life(collection_id, instance_index, events, usage, summary, percentiles(store, *task))


def percentiles(
    store: Store, collection_id: int, instance_index: int
) -> dict[str, pa.ChunkedArray]:
    """Return the percentiles of the CPU in each window of a task, by name; none where no window has them.

    Parameters
    ----------
    store
        An open store.
    collection_id, instance_index
        The task.
    """
    chosen = [f"{column}[{at + 1}] AS {name}" for name, (column, at) in PERCENTILES.items()]
    found = _rows(store, (collection_id, instance_index), "instance_usage", "start_time", chosen)
    return (
        {name: found[name] for name in PERCENTILES} if found["p50"].null_count < len(found) else {}
    )


def _rows(
    store: Store, task: tuple[int, int], table: str, time: str, columns: Sequence[str]
) -> pa.Table:
    # Among equal times the order of the file, as everywhere: a SUBMIT and its SCHEDULE may share a microsecond.
    order = f"{time}, source_part, source_row"
    return store.sql(
        f"SELECT {', '.join(columns)} FROM {table} WHERE {of_task(*task)} ORDER BY {order}"
    )


def of_task(collection_id: int, instance_index: int) -> str:
    """Return the condition in SQL of rows of a task."""
    return f"collection_id = {collection_id} AND instance_index = {instance_index}"


def chart(life: Life) -> alt.TopLevelMixin | None:
    """Draw events as marks over usage as lines, on one time axis; None where there is neither."""
    import altair as alt

    panels = [*_events(life), *_usage(life, "cpu"), *_usage(life, "memory")]
    # Three color scales: event types and series are not one list.
    return alt.vconcat(*panels).resolve_scale(color="independent") if panels else None


def hours(time: int, life: Life) -> float:
    """Return a time in hours of the trace; sentinels go to the edge of what else is known.

    "Before the trace" is drawn at hour 0, "after" at the task's last known time.
    """
    if time == BEFORE_TRACE:
        return 0.0
    if time == AFTER_TRACE:
        time = max((known for known in times(life) if known != AFTER_TRACE), default=0)
    return time / HOUR


def times(life: Life) -> list[int]:
    """Return all times of the task's events and windows, sentinels among them."""
    columns = (life.events["time"], life.usage["start_time"], life.usage["end_time"])
    return [time for column in columns for time in column.to_pylist()]


def _hour_axis(life: Life) -> alt.X:
    import altair as alt

    ends = [hours(time, life) for time in times(life)]
    # Fixed, so that the panels above one another have the same axis; a single instant leaves it to the library.
    margin = (max(ends) - min(ends)) * 0.015
    if not margin:
        return alt.X("hour:Q", title="hour of the trace")
    scale = alt.Scale(
        domain=[min(ends) - margin, max(ends) + margin],
        nice=False,
        zero=False,
        padding=0,
    )
    return alt.X("hour:Q", title="hour of the trace", scale=scale)


def _events(life: Life) -> Iterator[charts.Chart]:
    import altair as alt

    rows = [{**row, "hour": hours(row["time"], life)} for row in life.events.to_pylist()]
    if not rows:
        return
    for row in rows:
        # As text, which a browser does not round.
        row["machine_id"] = None if row["machine_id"] is None else str(row["machine_id"])
    types = list(dict.fromkeys(row["type"] for row in rows))
    yield (
        charts.base(rows, title="Events", height=22 * len(types))
        .mark_point(filled=True, size=90, opacity=0.9)
        .encode(
            x=_hour_axis(life),
            y=alt.Y("type:N", title=None, sort=types),
            color=alt.Color("type:N", title="type", sort=types, legend=None),
            tooltip=charts.tooltips(rows, "hour", "type", *EVENT_COLUMNS[2:]),
        )
    )


def _usage(life: Life, resource: str) -> Iterator[charts.Chart]:
    """Draw windows as steps, and the request where one is known."""
    import altair as alt

    windows = life.usage.to_pylist()
    rows: list[dict[str, Any]] = []
    for name, label in USAGE_SERIES[resource].items():
        rows += _steps(life, windows, name, label)
    # Before Altair sees them: it checks every value, which takes seconds for a month of windows.
    rows = reduce_rows(rows, "hour", ["value"], ["series"])
    if not rows:
        return
    band_rows = _bands(life, windows) if resource == "cpu" else []
    band_rows = reduce_rows(band_rows, "hour", ["value", "high"], ["series"])
    series = list(dict.fromkeys(row["series"] for row in (*band_rows, *rows)))
    encoding = {
        "x": _hour_axis(life),
        "y": alt.Y("value:Q", title="of the largest machine"),
        "color": alt.Color(
            "series:N",
            title=None,
            sort=series,
            scale=alt.Scale(domain=series, range=[_COLORS[name] for name in series]),
        ),
    }
    layers: list[alt.Chart] = []
    if band_rows:
        # Behind the lines, the widest band first.
        layers.append(
            charts.base(band_rows, height=180)
            .mark_area(interpolate="step-after", opacity=1.0)
            .encode(
                **encoding,
                y2="high:Q",
                tooltip=charts.tooltips(band_rows, "hour", "value", "series", "high", "end"),
            )
        )
    layers.append(
        charts.base(rows, height=180)
        .mark_line(interpolate="step-after")
        .encode(
            **encoding,
            tooltip=charts.tooltips(rows, "hour", "value", "series", "end", "machine"),
        )
    )
    request = life.task[f"{resource}_request"]
    if request is not None:
        layers.append(charts.rule_at(y=request, color="black"))
    title = "CPU" if resource == "cpu" else "Memory"
    yield alt.layer(*layers).properties(title=title)


def _bands(life: Life, windows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Write the percentiles of the windows as steps of bands, each from one percentile to another."""
    if not life.percentiles:
        return []
    known = {name: values.to_pylist() for name, values in life.percentiles.items()}
    rows = []
    for low, high in BANDS:
        both = zip(windows, known[low], known[high], strict=True)
        placed = [{**window, low: bottom, "high": top} for window, bottom, top in both]
        rows += _steps(life, placed, low, f"{low}–{high}", "high")
    return rows


def _steps(
    life: Life, windows: list[dict[str, Any]], column: str, label: str, *more: str
) -> list[dict[str, Any]]:
    """Write one column of the windows as steps; where no window follows at once, the line is broken."""
    windows = [row for row in windows if row[column] is not None]
    rows: list[dict[str, Any]] = []
    for row, after in zip_longest(windows, windows[1:]):
        start, end = hours(row["start_time"], life), hours(row["end_time"], life)
        step = {
            "hour": start,
            "end": end,
            "series": label,
            "value": row[column],
            "machine": str(row["machine_id"]),
        }
        step |= {name: row[name] for name in more}
        rows.append(step)
        if after is None or after["start_time"] > row["end_time"]:
            # The step ends here, and a row without a value keeps the next one from being joined to it.
            rows += [
                {**step, "hour": end},
                {**step, "hour": end, "value": None, **dict.fromkeys(more)},
            ]
    return rows
