"""The three charts of the first screen: usage against capacity, the queue, and what packing would save."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from borgtrace.first_screen.lines import check_queue, covered_hours
from borgtrace.first_screen.packings import packings, way_in_words
from borgtrace.question import NotApplicable, Row, charts
from borgtrace.question.colours import CAPACITY, REQUESTED, SERIES, USED
from borgtrace.schema.time import HOUR
from borgtrace.store.manifest import Manifest

if TYPE_CHECKING:
    pass

PANEL_WIDTH = 280
PANEL_HEIGHT = 88
POINTS = 500
"""Points of a line: a panel is some hundred pixels wide."""
LEVELS = {"used": USED.light, "requested": REQUESTED.light, "capacity": CAPACITY.light}
WITHIN = "yes"
BEYOND = "not known"


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
)
class ScreenChart:
    """A chart of the first screen: the question whose answer it draws, and the table that this needs most."""

    name: str
    title: str
    question: str
    needs: str
    draw: Callable[[pa.Table, Manifest], charts.Chart]


def fullness(answer: pa.Table, manifest: Manifest) -> charts.Chart:
    """Draw what is used and requested of CPU and memory, hour by hour, as shares of the capacity."""
    import altair as alt

    rows = shares_of_capacity(answer, manifest)
    panels = []
    for resource, title in (("cpu", "CPU"), ("memory", "memory")):
        panel_rows = [row for row in rows if row["resource"] == resource]
        if not panel_rows:
            continue
        # The capacity is a line of its own, not the edge of the panel.
        top = max(row["share"] for row in panel_rows) * 1.08
        y = alt.Y(
            "share:Q",
            title=title,
            axis=alt.Axis(format="%", tickCount=4),
            scale=alt.Scale(domain=[0, top], nice=False),
        )
        color = charts.color(panel_rows, "series", LEVELS)
        # Shared by the panels: one legend below both.
        color.legend = alt.Legend(title=None, orient="bottom", columns=3)
        panels.append(
            charts.base(panel_rows, width=PANEL_WIDTH, height=PANEL_HEIGHT)
            .mark_line()
            .encode(
                x=charts.hour_axis(rows),
                y=y,
                color=color,
                detail="run:N",
                tooltip=charts.tooltips(panel_rows, "hour", "series", "share"),
            )
        )
    return alt.vconcat(*panels)


def shares_of_capacity(answer: pa.Table, manifest: Manifest) -> list[Row]:
    """Return resource, series, hour and share of the capacity; hours that are not known leave gaps.

    Raises
    ------
    NotApplicable
        Neither usage nor requests are known of any hour.
    """
    rows: list[Row] = []
    reasons = []
    for series, measure, table in (
        ("used", "used", "instance_usage"),
        ("requested", "allocated", "instance_events"),
    ):
        try:
            hours = covered_hours(answer, manifest, table)
        except NotApplicable as reason:
            reasons.append(str(reason))
            continue
        rows += rows_of_series(hours, series, measure)
    NotApplicable.unless(rows, "; ".join(dict.fromkeys(reasons)))
    hours_drawn = [row["hour"] for row in rows]
    for resource in dict.fromkeys(row["resource"] for row in rows):
        for hour in dict.fromkeys((min(hours_drawn), max(hours_drawn))):
            rows.append(
                {
                    "resource": resource,
                    "series": "capacity",
                    "hour": hour,
                    "share": 1.0,
                    "run": 0,
                }
            )
    return rows


def rows_of_series(hours: list[Row], series: str, measure: str) -> list[Row]:
    """Return the shares of the capacity of one measure, of CPU and of memory."""
    rows = []
    for resource in ("cpu", "memory"):
        for row in charts.in_runs(hours, f"{resource}_{measure}"):
            share = row[f"{resource}_{measure}"] / row[f"{resource}_capacity"]
            rows.append(
                {
                    "resource": resource,
                    "series": series,
                    "hour": row["hour"],
                    "share": share,
                    "run": row["run"],
                }
            )
    return rows


def waiting(answer: pa.Table, manifest: Manifest) -> charts.Chart:
    """Draw how many tasks wait, at most in each step, and how many run."""
    import altair as alt

    steps = check_queue(answer, manifest)
    shown = charts.thinned(steps, ["pending_max", "running"], points=POINTS)
    rows = []
    for step in shown.to_pylist():
        rows.append(
            {
                "hour": step["time"] / HOUR,
                "waiting": step["pending_max"],
                "running": step["running"],
            }
        )
    panels = []
    for field, colour in (("waiting", SERIES[4]), ("running", SERIES[2])):
        y = alt.Y(f"{field}:Q", title=f"tasks {field}", axis=alt.Axis(tickCount=4, tickMinStep=1))
        panels.append(
            charts.base(rows, width=PANEL_WIDTH, height=PANEL_HEIGHT + 12)
            .mark_line(interpolate="step-before", color=colour.light)
            .encode(x=charts.hour_axis(rows), y=y, tooltip=charts.tooltips(rows, "hour", field))
        )
    return alt.vconcat(*panels)


def savings(answer: pa.Table, manifest: Manifest) -> charts.Chart:
    """Draw how many machines packing takes by requests, by the highest usage, and as advised."""
    import altair as alt

    rows = bars_of_packing(answer)
    # Beyond the longest bar there is room for its number.
    longest = max(row["machines"] for row in rows) * 1.25
    x = alt.X(
        "machines:Q",
        title=f"machines for {rows[0]['tasks']:,} long tasks",
        scale=alt.Scale(domain=[0, longest], nice=False),
        axis=alt.Axis(tickMinStep=1, tickCount=4),
    )
    order = [row["way"] for row in rows]
    y = alt.Y("way:N", title=None, sort=order, axis=alt.Axis(labelExpr="split(datum.label, '|')"))
    colors = {WITHIN: SERIES[2].light, BEYOND: SERIES[1].light}
    title = f"overloads a machine at most {rows[0]['target'] * 100:g} % of the time?"
    color = charts.color(rows, "promise", colors, title=title)
    color.legend = alt.Legend(
        title=title, orient="bottom", columns=2, titleLimit=PANEL_WIDTH, titleFontWeight="normal"
    )
    base = charts.base(rows, width=PANEL_WIDTH, height=2 * PANEL_HEIGHT)
    bars = base.mark_bar(size=26).encode(
        x=x, y=y, color=color, tooltip=charts.tooltips(rows, "packing", "machines", "promise")
    )
    numbers = base.mark_text(align="left", dx=4).encode(
        x=x, y=y, text=alt.Text("machines:Q", format=".3~r")
    )
    return alt.layer(bars, numbers)


def bars_of_packing(answer: pa.Table) -> list[Row]:
    """Return a row for each way of packing that is known, with its machines and whether it keeps the target."""
    ways = packings(answer)
    name = "advised" if ways.advised else "nearest"
    named_ways = (
        ("by requests", ways.requests),
        ("by highest|usage seen", ways.highest),
        (name if ways.best is None else f"{name}:|{way_in_words(ways.best)}", ways.best),
    )
    rows = []
    for label, row in named_ways:
        if row is not None:
            rows.append(
                {
                    "way": label,
                    "packing": way_in_words(row),
                    "machines": row["machines"],
                    "promise": WITHIN if row["keeps_target"] else BEYOND,
                    "tasks": row["n_tasks"],
                    "target": row["target"],
                }
            )
    NotApplicable.unless(rows, "nothing was packed")
    return rows


CHARTS = (
    ScreenChart(
        name="fullness",
        title="Used and requested against capacity",
        question="utilization",
        needs="instance_usage",
        draw=fullness,
    ),
    ScreenChart(
        name="waiting",
        title="Queue and running tasks",
        question="queue_length",
        needs="instance_events",
        draw=waiting,
    ),
    ScreenChart(
        name="savings",
        title="Machines by way of packing",
        question="packing_advice",
        needs="instance_usage",
        draw=savings,
    ),
)
"""The charts in their order."""
