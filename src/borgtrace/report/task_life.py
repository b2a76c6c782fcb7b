"""The life of one task as rows: its events, its usage windows, and the charts of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from borgtrace.engine.identifiers import quoted
from borgtrace.notation import Notation, ResourceAmounts
from borgtrace.notation.amounts import IN_LARGEST_MACHINES
from borgtrace.question import charts
from borgtrace.report.own_units import OwnUnits, scaled
from borgtrace.report.reduction import reduce_rows
from borgtrace.schema import PERCENTILES, TABLES
from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE, HOUR, TRACE_START

if TYPE_CHECKING:
    import altair as alt

    from borgtrace.store import Store

Rows = list[dict[str, Any]]

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
BANDS = (
    ("p0", "p100"),
    ("p10", "p90"),
    ("p20", "p80"),
    ("p30", "p70"),
    ("p40", "p60"),
)
"""Percentiles of 2019 between which a band is drawn, from the widest to the narrowest."""
SERIES_COLORS = {
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

# Among equal times the order of the file, as everywhere: a SUBMIT and its SCHEDULE may share a microsecond.
EVENTS = """
    SELECT time, type, machine_id, priority, cpu_request, memory_request
    FROM instance_events
    WHERE collection_id = $collection_id AND instance_index = $instance_index
    ORDER BY time, source_part, source_row
"""
USAGE = """
    SELECT start_time, end_time, machine_id,
        average_cpu, maximum_cpu, sampled_cpu,
        average_memory, maximum_memory, assigned_memory
    FROM instance_usage
    WHERE collection_id = $collection_id AND instance_index = $instance_index
    ORDER BY start_time, source_part, source_row
"""
TASK = """
    SELECT *
    FROM tasks
    WHERE collection_id = $collection_id AND instance_index = $instance_index
"""


@dataclass(frozen=True, slots=True)
class Life:
    """Events and usage windows of one task, both in time order, as the store has them."""

    collection_id: int
    instance_index: int
    events: pa.Table
    usage: pa.Table
    task: dict[str, Any]
    percentiles: Mapping[str, pa.ChunkedArray] = field(default_factory=dict)
    axis: str = "hours since the start of the trace"
    """What the axis of time is called."""


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
    # Refuses an unknown task, and names its neighbors.
    store.traces([(collection_id, instance_index)])
    task = {"collection_id": collection_id, "instance_index": instance_index}
    (summary,) = store.sql(TASK, task).to_pylist()
    return Life(
        collection_id=collection_id,
        instance_index=instance_index,
        events=store.sql(EVENTS, task),
        usage=store.sql(USAGE, task),
        task=summary,
        percentiles=percentiles(store, collection_id, instance_index),
    )


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
    # Lists of DuckDB count from 1.
    columns = []
    for name, (distribution, position) in PERCENTILES.items():
        columns.append(f"{quoted(distribution)}[{position + 1}] AS {quoted(name)}")
    query = f"""
        SELECT {", ".join(columns)}
        FROM instance_usage
        WHERE collection_id = $collection_id AND instance_index = $instance_index
        ORDER BY start_time, source_part, source_row
    """
    task = {"collection_id": collection_id, "instance_index": instance_index}
    windows = store.sql(query, task)
    if windows["p50"].null_count == len(windows):
        return {}
    return {name: windows[name] for name in PERCENTILES}


def in_own_units(life: Life, notation: Notation) -> Life:
    """Return a life in cores and GiB where these are known, with names of machines and hours since a date.

    Parameters
    ----------
    life
        As the store has it.
    notation
        Of the store.
    """
    own_units = OwnUnits(notation, keeps=frozenset(("us",)))
    task = {}
    for name, value in life.task.items():
        column = TABLES["tasks"].column(name)
        task[name] = None if value is None else own_units.writer(column)(value)
    factor = notation.amounts.factor("cpu")
    start = notation.clock.wall(TRACE_START)
    return replace(
        life,
        axis=life.axis if start is None else f"hours since {start}",
        events=own_units.rows(life.events, TABLES["instance_events"])[0],
        usage=own_units.rows(life.usage, TABLES["instance_usage"])[0],
        task=task,
        percentiles={
            name: pa.chunked_array([scaled(values.to_pylist(), factor)])
            for name, values in life.percentiles.items()
        },
    )


def chart(life: Life, amounts: ResourceAmounts = IN_LARGEST_MACHINES) -> alt.TopLevelMixin | None:
    """Draw events as marks over usage as lines, on one time axis; None where there is neither.

    Parameters
    ----------
    life
        The task.
    amounts
        What its amounts are in.
    """
    import altair as alt

    panels = []
    for panel in (
        event_panel(life),
        usage_panel(life, "cpu", amounts),
        usage_panel(life, "memory", amounts),
    ):
        if panel is not None:
            panels.append(panel)
    if not panels:
        return None
    # Three color scales: event types and series are not one list.
    return alt.vconcat(*panels).resolve_scale(color="independent")


def hours(time: int, life: Life) -> float:
    """Return a time in hours since the start; sentinels go to the edge of what else is known.

    "Before the trace" is drawn at hour 0, "after" at the task's last known time.
    """
    if time == BEFORE_TRACE:
        return 0.0
    if time == AFTER_TRACE:
        time = max((known for known in times(life) if known != AFTER_TRACE), default=0)
    return (time - TRACE_START) / HOUR


def times(life: Life) -> list[int]:
    """Return all times of the task's events and windows, sentinels among them."""
    return [
        *life.events["time"].to_pylist(),
        *life.usage["start_time"].to_pylist(),
        *life.usage["end_time"].to_pylist(),
    ]


def hour_axis(life: Life) -> alt.X:
    """Return the axis of time, the same for all panels."""
    import altair as alt

    known_hours = [hours(time, life) for time in times(life)]
    first = min(known_hours)
    last = max(known_hours)
    # Fixed, so that the panels above one another have the same axis; a single instant leaves it to the library.
    margin = (last - first) * 0.015
    if not margin:
        return alt.X("hour:Q", title=life.axis)
    scale = alt.Scale(
        domain=[first - margin, last + margin],
        nice=False,
        zero=False,
        padding=0,
    )
    return alt.X("hour:Q", title=life.axis, scale=scale)


def event_panel(life: Life) -> charts.Chart | None:
    """Draw the events, a line for each type; None where there are none."""
    import altair as alt

    rows = life.events.to_pylist()
    if not rows:
        return None
    for row in rows:
        row["hour"] = hours(row["time"], life)
        # As text, which a browser does not round.
        row["machine_id"] = None if row["machine_id"] is None else str(row["machine_id"])
    types = list(dict.fromkeys(row["type"] for row in rows))
    tooltip = charts.tooltips(
        rows, "hour", "type", "machine_id", "priority", "cpu_request", "memory_request"
    )
    return (
        charts.base(rows, title="Events", height=22 * len(types))
        .mark_point(
            filled=True,
            size=90,
            opacity=0.9,
        )
        .encode(
            x=hour_axis(life),
            y=alt.Y("type:N", title=None, sort=types),
            color=alt.Color(
                "type:N",
                title="type",
                sort=types,
                legend=None,
            ),
            tooltip=tooltip,
        )
    )


def usage_panel(
    life: Life,
    resource: str,
    amounts: ResourceAmounts,
) -> charts.Chart | None:
    """Draw windows as steps, and the request where one is known; None where nothing was measured."""
    import altair as alt

    rows = usage_rows(life, resource)
    if not rows:
        return None
    bands = band_rows(life) if resource == "cpu" else []
    series = list(dict.fromkeys(row["series"] for row in (*bands, *rows)))
    encoding = usage_encoding(life, series, amounts.unit(resource))
    layers: list[alt.Chart] = []
    if bands:
        # Behind the lines, the widest band first.
        layers.append(
            charts.base(bands, height=180)
            .mark_area(interpolate="step-after", opacity=1.0)
            .encode(
                **encoding,
                y2="high:Q",
                tooltip=charts.tooltips(bands, "hour", "value", "series", "high", "end"),
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
    panel = alt.layer(*layers) if len(layers) > 1 else layers[0]
    return panel.properties(title="CPU" if resource == "cpu" else "Memory")


def usage_encoding(
    life: Life,
    series: list[str],
    unit: str,
) -> dict[str, Any]:
    """Return the axes of usage, and the color of each series, the same for lines and bands."""
    import altair as alt

    colors = [SERIES_COLORS[name] for name in series]
    return {
        "x": hour_axis(life),
        "y": alt.Y("value:Q", title=unit),
        "color": alt.Color(
            "series:N",
            title=None,
            sort=series,
            scale=alt.Scale(domain=series, range=colors),
        ),
    }


def usage_rows(life: Life, resource: str) -> Rows:
    """Return the measured columns of the windows as steps, few enough for a browser."""
    windows = life.usage.to_pylist()
    rows: Rows = []
    for column, label in USAGE_SERIES[resource].items():
        rows += steps(life, windows, column, label)
    # Before Altair sees them: it checks every value, which takes seconds for a month of windows.
    return reduce_rows(rows, "hour", ["value"], ["series"])


def band_rows(life: Life) -> Rows:
    """Return the percentiles of the windows as steps of bands, each from one percentile to another."""
    if not life.percentiles:
        return []
    windows = life.usage.to_pylist()
    for name, values in life.percentiles.items():
        for window, value in zip(windows, values.to_pylist(), strict=True):
            window[name] = value
    rows: Rows = []
    for low, high in BANDS:
        rows += steps(
            life,
            windows,
            low,
            f"{low}–{high}",
            high,
        )
    return reduce_rows(rows, "hour", ["value", "high"], ["series"])


def steps(
    life: Life,
    windows: Rows,
    column: str,
    label: str,
    high: str | None = None,
) -> Rows:
    """Write one column of the windows as steps; where no window follows at once, the line is broken.

    Parameters
    ----------
    life
        The task.
    windows
        Its windows, in the order of time.
    column
        What is drawn.
    label
        How it is called.
    high
        Column of the upper edge of a band.
    """
    measured = [window for window in windows if window[column] is not None]
    rows: Rows = []
    for number, window in enumerate(measured):
        end = hours(window["end_time"], life)
        step = {
            "hour": hours(window["start_time"], life),
            "end": end,
            "series": label,
            "value": window[column],
            "machine": str(window["machine_id"]),
        }
        gap = {"hour": end, "value": None}
        if high is not None:
            step["high"] = window[high]
            gap["high"] = None
        rows.append(step)
        following = measured[number + 1 : number + 2]
        if not following or following[0]["start_time"] > window["end_time"]:
            # The step ends here, and a row without a value keeps the next one from being joined to it.
            rows.append({**step, "hour": end})
            rows.append({**step, **gap})
    return rows
