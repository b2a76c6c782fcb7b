"""What charts share: sizes, colors, scales, tooltips, and the rows of long curves.

A chart is plain Altair.  These functions return Altair objects, keyword arguments of a channel, or rows:

>>> rows = [{"hour": 0, "n": 3}, {"hour": 1, "n": 4}]
>>> chart = base(rows, "Arrivals").mark_line().encode(x=hour_axis(rows), y="n:Q", tooltip=tooltips(rows))
>>> chart.to_dict()["encoding"]["x"]["title"]
'hour of the trace'
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from borgtrace.question import colours
from borgtrace.question.answer import Row

if TYPE_CHECKING:
    import altair as alt

Chart: TypeAlias = "alt.TopLevelMixin"
"""What ``chart`` of a question returns."""
WIDTH = 420
HEIGHT = 240

TIER_COLORS: Mapping[str, str] = {name: colour.light for name, colour in colours.TIERS.items()}
"""One color per tier in every chart."""
ESTIMATOR_COLORS = colours.ESTIMATORS
"""One color per estimator in every chart."""
SPARE_COLORS = colours.OTHER_NAMES
"""Colors of names that a chart does not list."""
LABELS: Mapping[str, Mapping[str, str]] = {
    "resource": {"cpu": "CPU"},
    "condition": {"cpu percent": "CPU in use (%)", "tasks": "number of tasks"},
    "metric": {"cpi": "cycles per instruction", "mai": "memory accesses per instruction"},
    "demand": {"second": "one second", "window": "window of 300 s"},
    "kind": {
        "logical_name": "logical name",
        "max_per_machine": "per machine",
        "max_per_switch": "per switch",
        "different_machine": "different machines",
    },
}
"""What codes of an answer are called in legends and above panels, by field."""
KINDS_OF_CHARTS: Mapping[str, str] = {
    "line": "line chart",
    "area": "area chart",
    "bar": "bar chart",
    "point": "scatter plot",
    "rect": "heat map",
    "tick": "strip of marks",
    "boxplot": "box plot",
}
"""What a chart of a mark is called."""

# Vega's own ticks of a logarithmic axis are one per tenth of a decade: a gray wall over twelve decades.
_DECADES = [digit * 10.0**power for power in range(-6, 10) for digit in (1, 2, 5)]
_PROBABILITIES = [10.0**power for power in range(-12, 1)]
# Vega formats numbers and dates, but no durations.
_DURATIONS = {
    "values": [
        *(0, 1e-6, 1e-5, 1e-4, 0.001, 0.01, 0.1, 1, 10, 60, 600),
        *(3600, 36_000, 86_400, 864_000),
    ],
    "labelExpr": (
        "datum.value < 60 ? format(datum.value, '~r') + ' s'"
        " : datum.value < 3600 ? datum.value / 60 + ' min'"
        " : datum.value < 86400 ? datum.value / 3600 + ' h'"
        " : datum.value / 86400 + ' d'"
    ),
}
_HOURS_OF_A_DAY = 24
_FEW_POINTS = 300
_HOURS_SHOWN_AS_HOURS = 3 * _HOURS_OF_A_DAY


def base(
    rows: Sequence[Row],
    title: str | alt.Title = "",
    *,
    width: int = WIDTH,
    height: int | None = HEIGHT,
) -> alt.Chart:
    """Return a chart of rows, to be given a mark and channels.

    Parameters
    ----------
    rows
        Rows of the chart.
    title
        Heading; none where empty.  A chart of a published figure names it, see :func:`subtitled`.
    width, height
        Size in pixels.  A height of None gives every name on the y axis its own step.
    """
    import altair as alt

    from borgtrace.question.chart_rows import data_of

    chart = alt.Chart(data_of(rows)).properties(width=width)
    if height is not None:
        chart = chart.properties(height=height)
    return chart.properties(title=title) if title else chart


def rule_at(*, x: float | None = None, y: float | None = None, **style: Any) -> alt.Chart:
    """Return a dashed rule across the plot at a constant value, such as ``rule_at(y=1)``.

    Parameters
    ----------
    x, y
        Where it stands; one of the two.
    style
        What Vega-Lite's mark takes besides, such as ``color``.
    """
    import altair as alt

    # One row, or the rule would be drawn once a row.
    rule = alt.Chart(alt.Data(values=[{}])).mark_rule(strokeDash=[5, 3], **style)
    return rule.encode(x=alt.datum(x)) if x is not None else rule.encode(y=alt.datum(y))


def tooltips(rows: Sequence[Row], *names: str) -> list[alt.Tooltip]:
    """Return the tooltip of a row: all its fields, or those named.

    Parameters
    ----------
    rows
        Rows of the chart, whose values say which fields are numbers.
    names
        Fields, in order.
    """
    import altair as alt

    shown = names or (list(rows[0]) if rows else [])
    return [_tooltip(alt, rows, name) for name in shown]


def _tooltip(alt: Any, rows: Sequence[Row], name: str) -> Any:
    values = [row.get(name) for row in rows]
    first = next((value for value in values if value is not None), 0)
    if isinstance(first, str | bool):
        return alt.Tooltip(f"{name}:N")
    if any(isinstance(value, float) for value in values[:100]):
        return alt.Tooltip(f"{name}:Q", format=".6~g")
    return alt.Tooltip(f"{name}:Q")


def hour_axis(rows: Sequence[Row], field: str = "hour", title: str = "hour of the trace") -> alt.X:
    """Return an x axis of hours; beyond three days it has a line after each whole day, which shows the daily rhythm.

    Parameters
    ----------
    rows
        Rows of the whole chart.
    field, title
        Field in hours, and what the axis is called.
    """
    import altair as alt

    last = max((row.get(field) or 0 for row in rows), default=0)
    if last <= _HOURS_SHOWN_AS_HOURS:
        return alt.X(f"{field}:Q", title=title, axis=alt.Axis(tickMinStep=1))
    days = alt.Axis(
        values=list(range(0, int(last) + 1, _HOURS_OF_A_DAY)),
        labelExpr=f"datum.value / {_HOURS_OF_A_DAY}",
        labelOverlap=True,
    )
    return alt.X(f"{field}:Q", title="day of the trace", axis=days)


def log_scale(*, least: float | None = 0.0, type: str = "log", **scale: Any) -> dict[str, Any]:
    """Return scale and axis of a logarithmic channel, with a line at 1, 2 and 5 of each decade.

    Parameters
    ----------
    least
        Smallest labeled value, in units of the field; None leaves the ticks to Vega.
    type
        ``"symlog"`` shows 0, too.
    scale
        What Vega-Lite's scale takes besides.
    """
    import altair as alt

    channel: dict[str, Any] = {"scale": alt.Scale(type=type, **scale)}
    if least is not None:
        ticks = [0, *(tick for tick in _DECADES if tick >= least)]
        channel["axis"] = alt.Axis(values=ticks, format=",~r")
    return channel


def count_scale() -> dict[str, Any]:
    """Return scale and axis of counts that may be 0, logarithmic: whole numbers only."""
    return log_scale(least=1.0, type="symlog")


def duration_scale(type: str = "symlog", **scale: Any) -> dict[str, Any]:
    """Return scale and axis of seconds, logarithmic, labeled in seconds, minutes, hours and days.

    Parameters
    ----------
    type
        ``"symlog"`` shows 0; ``"log"`` does not.
    scale
        What Vega-Lite's scale takes besides.
    """
    import altair as alt

    return {"scale": alt.Scale(type=type, **scale), "axis": alt.Axis(**_DURATIONS)}


def probability_scale() -> dict[str, Any]:
    """Return scale and axis of small probabilities, with a line per decade."""
    import altair as alt

    axis = alt.Axis(format=".0e", values=_PROBABILITIES)
    return {"scale": alt.Scale(type="log"), "axis": axis}


def color(
    rows: Sequence[Row],
    field: str,
    colors: Mapping[str, str],
    title: str | None = None,
) -> alt.Color:
    """Return a color channel with a fixed color per name; the legend lists the names that occur.

    Parameters
    ----------
    rows
        Rows of the chart.
    field, title
        Field of the names, and title of the legend.
    colors
        Color by name; its order is that of the legend.
    """
    import altair as alt

    present = {str(row[field]) for row in rows if row.get(field) is not None}
    shown = {name: shade for name, shade in colors.items() if name in present}
    # A name without a color would be drawn without one, and left out of the legend.
    unlisted = sorted(present - set(colors))
    shown |= zip(unlisted, spare_colors(colors.values()), strict=False)
    scale = alt.Scale(domain=list(shown), range=list(shown.values()))
    return alt.Color(f"{field}:N", title=title, scale=scale, legend=legend(field))


def spare_colors(taken: Iterable[str]) -> Iterator[str]:
    """Yield colors of names that a chart does not list, each another one, and none of those that are taken."""
    taken = set(taken)
    spare = [shade for shade in SPARE_COLORS if shade not in taken]
    yield from spare
    yield from colours.distinct([*taken, *spare])


def tier_color(rows: Sequence[Row], *, has_legend: bool = True) -> alt.Color:
    """Return the color channel of the field ``tier``, the same in every chart.

    Parameters
    ----------
    rows
        Rows of the chart.
    has_legend
        Whether a legend names the tiers; not where an axis does.
    """
    channel = color(rows, "tier", TIER_COLORS, title="tier")
    if not has_legend:
        channel.legend = None
    return channel


def legend(field: str, **options: Any) -> alt.Legend:
    """Return a legend that calls the codes of a field by their names.

    Parameters
    ----------
    field
        Field of the channel.
    options
        What Vega-Lite's legend takes besides.
    """
    import altair as alt

    return alt.Legend(**_labels(field), **options)


def header(field: str, **options: Any) -> alt.Header:
    """Return a header of panels that calls the codes of a field by their names.

    Parameters
    ----------
    field
        Field whose values make the panels.
    options
        What Vega-Lite's header takes besides.
    """
    import altair as alt

    return alt.Header(**_labels(field), **options)


def rows_of_panels(field: str, **options: Any) -> alt.Row:
    """Return the channel that puts the values of a field into rows of panels; see :func:`header`."""
    import altair as alt

    return alt.Row(f"{field}:N", title=None, header=header(field, **options))


def columns_of_panels(field: str, **options: Any) -> alt.Column:
    """Return the channel that puts the values of a field into columns of panels; see :func:`header`."""
    import altair as alt

    return alt.Column(f"{field}:N", title=None, header=header(field, **options))


def wrapped_panels(field: str, **options: Any) -> alt.Facet:
    """Return the channel that puts the values of a field into panels in reading order; see :func:`header`."""
    import altair as alt

    return alt.Facet(f"{field}:N", title=None, header=header(field, **options), sort=None)


def _labels(field: str) -> dict[str, str]:
    if field not in LABELS:
        return {}
    return {"labelExpr": f"{json.dumps(LABELS[field])}[(datum.label)] || (datum.label)"}


def subtitled(title: str, *notes: str) -> alt.Title:
    """Return a heading with what has to be known to read the chart in smaller lines below.

    Parameters
    ----------
    title, notes
        The heading, and the lines.
    """
    import altair as alt

    return alt.Title(title, subtitle=list(notes), anchor="start")


def melted(rows: Sequence[Row], columns: Mapping[str, str], value: str = "value") -> list[Row]:
    """Turn columns into rows (``series``, `value`); NULLs are left out.

    Parameters
    ----------
    rows
        Rows of a chart.
    columns
        Columns that become rows, with the labels of their series.
    value
        Name of the column that takes the values.

    Examples
    --------
    >>> melted([{"hour": 0, "new": 3, "again": None}], {"new": "new tasks", "again": "resubmitted"})
    [{'hour': 0, 'series': 'new tasks', 'value': 3}]
    """
    melted_rows = []
    for row in rows:
        others = {name: row[name] for name in row if name not in columns}
        for name, label in columns.items():
            if row[name] is not None:
                melted_rows.append({**others, "series": label, value: row[name]})
    return melted_rows


def in_runs(
    rows: Sequence[Row],
    value: str,
    *by: str,
    field: str = "hour",
    step: float = 1,
) -> list[Row]:
    """Leave out rows without a value, and number the runs of the others: a mark with ``detail="run:N"`` has gaps there.

    A line or an area would be drawn across what is missing, or down to 0.

    Parameters
    ----------
    rows
        Rows of a chart over time; those of an hour may be missing, too.
    value
        Column whose values are drawn.
    by
        Columns that tell the lines apart.
    field, step
        Column of the time, and how far one row is from the next.

    Examples
    --------
    >>> rows = [{"hour": 0, "used": 0.5}, {"hour": 1, "used": None}, {"hour": 2, "used": 0.25}]
    >>> in_runs(rows, "used")
    [{'hour': 0, 'used': 0.5, 'run': 0}, {'hour': 2, 'used': 0.25, 'run': 1}]
    """
    runs: dict[tuple[Any, ...], int] = {}
    last_times: dict[tuple[Any, ...], float] = {}
    numbered_rows = []
    for row in sorted(rows, key=lambda row: float(row[field])):
        if row[value] is None:
            continue
        line = tuple(row[name] for name in by)
        time = float(row[field])
        if line not in runs:
            runs[line] = 0
        elif time - last_times[line] > 1.5 * step:
            runs[line] += 1
        last_times[line] = time
        numbered_rows.append({**row, "run": runs[line]})
    return numbered_rows


def steps(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the mark of a distribution: a line in steps, with a point at each where there are few.

    Parameters
    ----------
    rows
        Rows of the chart.
    """
    return {"interpolate": "step-after", "point": len(rows) <= _FEW_POINTS}


def gap_notes(rows: Sequence[Row], field: str = "hour", share: str = "measured") -> list[str]:
    """Return a line that says in how many hours usage was measured; none where it was in all of them.

    Parameters
    ----------
    rows
        Rows of a chart over time.
    field, share
        Columns of the hour, and of the share of it that was measured.

    Examples
    --------
    >>> gap_notes([{"hour": 0, "measured": 1.0}, {"hour": 1, "measured": 0.25}, {"hour": 2, "measured": 0.0}])
    ['Usage was measured in 1.25 of 3 hours.']
    """
    shares = {row[field]: row[share] for row in rows}
    n_measured = sum(shares.values())
    if n_measured >= len(shares):
        return []
    return [f"Usage was measured in {n_measured:.6g} of {len(shares)} hours."]


def thinned(table: pa.Table, columns: Sequence[str], points: int = 1200) -> pa.Table:
    """Keep about `points` rows of a curve: of each part the ends, and the extremes of `columns`.

    Parameters
    ----------
    table
        A curve, in the order in which it is drawn.
    columns
        Columns whose extremes must stay visible.
    points
        How many rows may be left, about.

    Examples
    --------
    >>> curve = pa.table({"n": [0, 0, 9, 0, 0, 0, 0, -5, 0, 0, 0, 0]})
    >>> thinned(curve, ["n"], 8)["n"].to_pylist()
    [0, 9, 0, 0, -5, 0]
    """
    if table.num_rows <= points:
        return table
    kept_rows: set[int] = set()
    # Each part keeps two ends, and two extremes per column: so many parts make about `points` rows.
    n_parts = max(points // (2 + 2 * len(columns)), 1)
    for part in np.array_split(np.arange(table.num_rows), n_parts):
        kept_rows |= {int(part[0]), int(part[-1])}
        for column in columns:
            values = table[column].to_numpy().astype(float)[part]
            # nanargmin() refuses a part without any number.
            if not np.isnan(values).all():
                kept_rows.add(int(part[np.nanargmin(values)]))
                kept_rows.add(int(part[np.nanargmax(values)]))
    return table.take(sorted(kept_rows))
