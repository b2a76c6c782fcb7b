"""One task's life as rows: its events, its usage windows, and the charts of both."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE, HOUR

if TYPE_CHECKING:
    import altair as alt

    from borgtrace.store import Store

USAGE_COLUMNS = (
    "start_time",
    "end_time",
    "machine_id",
    "average_cpu",
    "maximum_cpu",
    "sampled_cpu",
    "average_memory",
    "maximum_memory",
    "assigned_memory",
)
EVENT_COLUMNS = ("time", "type", "machine_id", "priority", "cpu_request", "memory_request")
_SERIES = {
    "cpu": {"average_cpu": "mean", "maximum_cpu": "maximum", "sampled_cpu": "one random second"},
    "memory": {"average_memory": "mean", "maximum_memory": "maximum", "assigned_memory": "limit"},
}


@dataclass(frozen=True, slots=True)
class Life:
    """Events and usage windows of one task, both in time order, as the store has them."""

    collection_id: int
    instance_index: int
    events: pa.Table
    usage: pa.Table
    task: dict[str, Any]


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
    store.traces([(collection_id, instance_index)])  # refuses an unknown task, and names its neighbours
    which = f"collection_id = {collection_id} AND instance_index = {instance_index}"

    def rows(columns: tuple[str, ...], table: str) -> pa.Table:
        # Among equal times the order of the file, as everywhere: a SUBMIT and its SCHEDULE may share a microsecond.
        order = f"{columns[0]}, source_part, source_row"
        return store.sql(f"SELECT {', '.join(columns)} FROM {table} WHERE {which} ORDER BY {order}")

    events, usage = rows(EVENT_COLUMNS, "instance_events"), rows(USAGE_COLUMNS, "instance_usage")
    (task,) = store.sql(f"SELECT * FROM tasks WHERE {which}").to_pylist()
    return Life(collection_id, instance_index, events, usage, task)


def chart(life: Life) -> alt.TopLevelMixin | None:
    """Draw events as marks over usage as lines, on one time axis; None where there is neither."""
    import altair as alt

    # Three colour scales: event types and series are not one list.
    panels = [panel for panel in (_events(life), _usage(life, "cpu"), _usage(life, "memory")) if panel is not None]
    return alt.vconcat(*panels).resolve_scale(color="independent") if panels else None


def hours(time: int, life: Life) -> float:
    """Return a time in hours of the trace; sentinels go to the edge of what else is known.

    "Before the trace" is drawn at hour 0, "after" at the task's last known time.
    """
    if time == BEFORE_TRACE:
        return 0.0
    return (_last(life) if time == AFTER_TRACE else time) / HOUR


def times(life: Life) -> list[int]:
    """Return all times of the task's events and windows, sentinels among them."""
    columns = (life.events["time"], life.usage["start_time"], life.usage["end_time"])
    return [time for column in columns for time in column.to_pylist()]


def _last(life: Life) -> int:
    return max((time for time in times(life) if time != AFTER_TRACE), default=0)


def _axis(life: Life) -> alt.X:
    import altair as alt

    ends = [hours(time, life) for time in times(life)]
    # Fixed, so that the panels above one another have the same axis; a single instant leaves it to the library.
    margin = (max(ends) - min(ends)) * 0.015
    domain = [min(ends) - margin, max(ends) + margin]
    scale = alt.Scale(domain=domain, nice=False, zero=False, padding=0) if margin else alt.Undefined
    return alt.X("hour:Q", title="hour of the trace", scale=scale)


def _events(life: Life) -> alt.Chart | None:
    import altair as alt

    rows = [{**row, "hour": hours(row["time"], life)} for row in life.events.to_pylist()]
    if not rows:
        return None
    present = list(dict.fromkeys(row["type"] for row in rows))
    return (
        # As Arrow: Altair takes it forty times faster than dictionaries.
        alt.Chart(pa.Table.from_pylist([_text_ids(row) for row in rows]), title="Events", height=22 * len(present))
        .mark_point(filled=True, size=90, opacity=0.9)
        .encode(
            x=_axis(life),
            y=alt.Y("type:N", sort=present, title=None),
            color=alt.Color("type:N", sort=present, legend=None),
            tooltip=[alt.Tooltip("type:N"), alt.Tooltip("hour:Q"), *(f"{name}:N" for name in EVENT_COLUMNS[2:])],
        )
    )


def _usage(life: Life, resource: str) -> alt.LayerChart | alt.Chart | None:
    """Draw windows as steps, and the request where one is known."""
    import altair as alt

    rows = [row for name, label in _SERIES[resource].items() for row in _steps(life, name, label)]
    if not rows:
        return None
    series = [label for label in _SERIES[resource].values() if any(row["series"] == label for row in rows)]
    lines = (
        alt.Chart(pa.Table.from_pylist(rows), title="CPU" if resource == "cpu" else "Memory", height=180)
        .mark_line(interpolate="step-after")
        .encode(
            x=_axis(life),
            y=alt.Y("value:Q", title="of the largest machine"),
            color=alt.Color("series:N", sort=series, title=None),
            tooltip=["series:N", "hour:Q", "end:Q", "value:Q", "machine:N"],
        )
    )
    request = life.task[f"{resource}_request"]
    if request is None:
        return lines
    level = alt.Chart(pa.table({"request": [request]}))
    return lines + level.mark_rule(color="black", strokeDash=[5, 3]).encode(
        y="request:Q", tooltip=[alt.Tooltip("request:Q", title="request")]
    )


def _steps(life: Life, column: str, label: str) -> list[dict[str, Any]]:
    """Write one column of the windows as steps; where no window follows at once, the line is broken."""
    windows = [row for row in life.usage.to_pylist() if row[column] is not None]
    rows: list[dict[str, Any]] = []
    for row, after in zip_longest(windows, windows[1:]):
        start, end = hours(row["start_time"], life), hours(row["end_time"], life)
        step = {"hour": start, "end": end, "series": label, "value": row[column], "machine": str(row["machine_id"])}
        rows.append(step)
        if after is None or after["start_time"] > row["end_time"]:
            # The step ends here, and a row without a value keeps the next one from being joined to it.
            rows += [{**step, "hour": end}, {**step, "hour": end, "value": None}]
    return rows


def _text_ids(row: dict[str, Any]) -> dict[str, Any]:
    """Write ids as text, which a browser does not round."""
    return {key: str(value) if key == "machine_id" and value is not None else value for key, value in row.items()}
