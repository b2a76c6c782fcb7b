"""From a question's chart to a figure of the page: themed, zoomable, small, and told in words."""

from __future__ import annotations

import copy
import json
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from borgtrace.report.alttext import describe
from borgtrace.report.drawable import specification
from borgtrace.report.reduction import reduce_rows
from borgtrace.report.theme import themed
from borgtrace.report.values import words
from borgtrace.report.views import View, unit_views

if TYPE_CHECKING:
    import altair as alt

ROWS = 2500
"""Rows that a dataset is reduced to."""
MAXIMUM_ROWS = 20_000
"""A dataset that cannot be reduced and is larger than this is not drawn."""

# Vega's event selectors: the first part says which event, what is in brackets says when it counts.
ZOOM_EVENT = "wheel![event.ctrlKey || event.metaKey]"
PAN_EVENT = "[pointerdown[event.pointerType !== 'touch'], window:pointerup] > window:pointermove!"
POINTS_UNDER_POINTER = {
    "opacity": 0,
    "size": 90,
    "tooltip": True,
}
"""Points on lines that are not seen but felt."""
MARK_DEFAULTS: dict[str, Any] = {
    "line": {"point": POINTS_UNDER_POINTER},
    "area": {"point": POINTS_UNDER_POINTER},
    # A zoomable plot is clipped: names beside its last points would be cut.
    "text": {"clip": False},
}
ZOOMED_MARKS = ("line", "area", "point")
AXIS_CHANNELS = ("x", "y", "x2", "y2")
POINT_PADDING = 8
"""Pixels between a point and the end of an axis."""
CONTINUOUS_TYPES = ("quantitative", "temporal")
WHOLE_NUMBERS = {"tickMinStep": 1, "labelExpr": "datum.value % 1 ? '' : format(datum.value, ',')"}
"""The axis of a count. Vega has ticks at halves, whatever their least step, where the axis ends at 1."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart as the page embeds it: Vega-Lite as JSON, its text, and how many points it has."""

    spec: str
    alt: str
    n_rows: int


class UndrawableError(Exception):
    """A chart shows nothing, or its data cannot be made small enough for a browser."""


def figure(chart: alt.TopLevelMixin, title: str) -> Figure:
    """Prepare a chart for the page.

    Parameters
    ----------
    chart
        What a question's ``plot`` returned.
    title
        The question it answers, for the alternative text.

    Raises
    ------
    UndrawableError
        Where more than 20,000 rows are left that cannot be reduced, or no row has a place in the chart.
    """
    spec = themed(specification(chart))
    spec.pop("$schema", None)
    views = list(unit_views(spec))
    if not any(has_places(view) for view in views):
        raise UndrawableError("no row of the answer has all values that it would show")
    # Before the texts: they state the range of what is drawn, and no extreme is lost by it.
    n_rows = reduce_datasets(views)
    drop_unused_fields(spec, views)
    alt = describe(spec, title)
    spec["description"] = alt
    label_whole_numbers(views)
    for view in views:
        title_channels(view.spec.get("encoding", {}))
        show_values(view)
        keep_points_whole(view)
        widen_single_values(view)
    make_zoomable(spec, views)
    text = json.dumps(with_short_floats(spec), ensure_ascii=False, separators=(",", ":"))
    return Figure(text, alt, n_rows)


def reduce_datasets(views: list[View]) -> int:
    """Reduce each large dataset in place, by all views that draw it; return how many rows are left in all.

    Raises
    ------
    UndrawableError
        A dataset cannot be made small enough.
    """
    n_rows = 0
    for users in views_by_dataset(views):
        rows = users[0].rows
        if len(rows) > ROWS:
            rows[:] = reduced_rows(rows, users)
        if len(rows) > MAXIMUM_ROWS:
            raise UndrawableError(f"{len(rows):,} points are too many to draw")
        n_rows += len(rows)
    return n_rows


def has_places(view: View) -> bool:
    """Return whether a view has a row that it can draw: with a value on each of its axes."""
    axes = [view.encoding.get(name) for name in ("x", "y")]
    placed = [axis for axis in axes if isinstance(axis, dict) and "field" in axis]
    return bool(placed) and any(all(has_place(row, axis) for axis in placed) for row in view.rows)


def has_place(row: dict[str, Any], axis: dict[str, Any]) -> bool:
    """Return whether a row has a place on an axis: nothing that is 0 has one on a logarithmic axis."""
    field = str(axis["field"])
    # What rows do not have, the chart itself computes.
    value = row.get(field, 1)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return False
    is_log = (axis.get("scale") or {}).get("type") == "log"
    return not is_log or (isinstance(value, int | float) and value > 0)


def views_by_dataset(views: list[View]) -> list[list[View]]:
    """Gather the views that draw the same rows."""
    users: defaultdict[int, list[View]] = defaultdict(list)
    for view in views:
        users[id(view.rows)].append(view)
    return list(users.values())


def reduced_rows(rows: list[dict[str, Any]], users: list[View]) -> list[dict[str, Any]]:
    """Return fewer rows that look the same in all views that draw them; all where they cannot be reduced."""
    x = fields_of(users, "x")
    # A histogram or a mean needs all of its rows, and buckets need one horizontal axis.
    if any(view.is_derived for view in users) or len(x) != 1:
        return rows
    groups = sorted({name for view in users for name in view.groups()})
    return reduce_rows(
        rows,
        x[0],
        fields_of(users, "y", "y2"),
        groups,
        budget=ROWS,
    )


def fields_of(views: list[View], *channels: str) -> list[str]:
    """Return the fields that some channels of views show."""
    return sorted({name for view in views for name in view.fields(*channels)})


def drop_unused_fields(spec: dict[str, Any], views: list[View]) -> None:
    """Leave out the fields of the data that nothing names: channels, tooltips, expressions."""
    drawing = json.dumps(without_data(spec), ensure_ascii=False)
    for users in views_by_dataset(views):
        rows = users[0].rows
        used_fields = {name for row in rows for name in row if name in drawing}
        rows[:] = [
            {name: value for name, value in row.items() if name in used_fields} for row in rows
        ]


def without_data(value: Any) -> Any:
    """Return a specification without the rows that it draws."""
    if isinstance(value, dict):
        drawing = {}
        for key, item in value.items():
            if key not in ("data", "datasets"):
                drawing[key] = without_data(item)
        return drawing
    if isinstance(value, list):
        return [without_data(item) for item in value]
    return value


def show_values(view: View) -> None:
    """Give each mark a tooltip, and lines and areas points that tell the value under the pointer.

    The tooltip is asked for by the mark itself: beside a selection (our zoom), Vega-Lite lets no other
    mark of a layer feel the pointer.
    """
    mark = view.spec["mark"]
    defaults = copy.deepcopy(MARK_DEFAULTS.get(view.mark, {}))
    own = mark if isinstance(mark, dict) else {"type": mark}
    view.spec["mark"] = {
        **defaults,
        "tooltip": True,
        **own,
    }


def title_channels(encoding: dict[str, Any]) -> None:
    """Title what has no title of its own with the name of its field in words.

    Axes are left alone: Vega-Lite joins the titles of the layers that share one.
    """
    for name, channel in encoding.items():
        if name in AXIS_CHANNELS:
            continue
        for item in channel if isinstance(channel, list) else [channel]:
            if isinstance(item, dict) and "field" in item and not item.get("aggregate"):
                item.setdefault("title", words(str(item["field"])))


def keep_points_whole(view: View) -> None:
    """Leave room at the ends of an axis: a zoomable plot is clipped, and would cut points on its edge in half."""
    # Lines and bars look right when they are cut at the edge.
    if view.mark != "point":
        return
    for channel in continuous_axes(view):
        scale = channel.get("scale", {})
        if scale is not None:
            channel["scale"] = {
                "padding": POINT_PADDING,
                "nice": False,
                **scale,
            }


def label_whole_numbers(views: Sequence[View]) -> None:
    """Write no fractions on an axis along which everything is counted: tasks, machines, days.

    Parameters
    ----------
    views
        All views of a chart; they are changed in place.
    """
    for layers in layered(views):
        for name in ("x", "y"):
            channels = [view.spec["encoding"][name] for view in layers if has_axis(view, name)]
            if channels and all(counts(view, name) for view in layers if has_axis(view, name)):
                for channel in channels:
                    channel["axis"] = {**WHOLE_NUMBERS, **channel.get("axis", {})}


def layered(views: Sequence[View]) -> list[list[View]]:
    """Gather the views that share their axes."""
    groups: list[list[View]] = []
    for view in views:
        if view.is_first or not groups:
            groups.append([])
        groups[-1].append(view)
    return groups


def has_axis(view: View, name: str) -> bool:
    """Return whether a view itself says what lies on an axis."""
    channel = view.spec.get("encoding", {}).get(name)
    return isinstance(channel, dict) and channel.get("axis", {}) is not None


def counts(view: View, name: str) -> bool:
    """Return whether there are whole numbers along an axis, evenly, with the labels that Vega gives them."""
    channel = view.spec["encoding"][name]
    axis = channel.get("axis", {})
    is_plain = not axis.keys() & {"values", "labelExpr", "format"}
    is_linear = (channel.get("scale") or {}).get("type", "linear") == "linear"
    if channel.get("type") != "quantitative" or channel.get("bin") or not (is_plain and is_linear):
        return False
    if channel.get("aggregate") or "field" not in channel:
        return bool(channel.get("aggregate") == "count")
    values = [row.get(field) for row in view.rows for field in view.fields(name, f"{name}2")]
    known = [value for value in values if value is not None]
    return bool(known) and all(is_whole(value) for value in known)


def is_whole(value: Any) -> bool:
    """Return whether a value is a number without a fraction."""
    return isinstance(value, int | float) and float(value).is_integer()


def widen_single_values(view: View) -> None:
    """Give an axis that need not begin at 0 a length where it has one value: its ticks would lie on each other."""
    # Layers share their scales: what one of them draws is not all that the axis shows.
    if view.is_layer:
        return
    for channel in continuous_axes(view):
        scale = channel.get("scale") or {}
        is_log = scale.get("type") == "log"
        # A scale that shows 0 has no length either where that is all.
        may_be_short = scale.get("zero") is False or is_log or scale.get("type") == "symlog"
        if "field" not in channel or "domain" in scale or not may_be_short:
            continue
        values = list({row.get(channel["field"]) for row in view.rows} - {None})
        if len(values) == 1:
            domain = domain_around(values[0], is_log=is_log)
            channel["scale"] = {**scale, "domain": domain}


def domain_around(value: Any, *, is_log: bool) -> list[float]:
    """Return the ends of an axis in whose middle a value lies."""
    if is_log:
        return [value / 10, value * 10]
    margin = abs(value) / 2 or 1
    # What is counted is never below 0.
    least = 0 if value >= 0 else value - margin
    return [max(least, value - margin), value + margin]


def continuous_axes(view: View) -> list[dict[str, Any]]:
    """Return the axes of a view itself that have a continuous scale."""
    encoding = view.spec.get("encoding", {})
    axes = [encoding.get(name) for name in ("x", "y")]
    return [channel for channel in axes if channel and is_continuous(channel)]


def make_zoomable(spec: dict[str, Any], views: list[View]) -> None:
    """Bind scales to wheel (with Ctrl, so that the page still scrolls) and drag (not on touch screens)."""
    for part in [spec, *(view.spec for view in views)]:
        # The page's gestures replace those that a question binds itself: a scale follows one selection only.
        if "params" in part:
            part["params"] = [param for param in part["params"] if param.get("bind") != "scales"]
    for number, view in enumerate(views):
        channels = [name for name in ("x", "y") if is_continuous(view.encoding.get(name))]
        # One selection for all layers of a view: they share the scales.
        if channels and view.is_first and view.mark in ZOOMED_MARKS:
            zoom = {
                "name": f"zoom_{number}",
                "select": {
                    "type": "interval",
                    "encodings": channels,
                    "zoom": ZOOM_EVENT,
                    "translate": PAN_EVENT,
                },
                "bind": "scales",
            }
            view.spec["params"] = [*view.spec.get("params", []), zoom]


def is_continuous(channel: dict[str, Any] | None) -> bool:
    """Return whether a channel has a continuous scale of the values themselves."""
    if not channel or channel.get("bin") or channel.get("aggregate"):
        return False
    return channel.get("type") in CONTINUOUS_TYPES


def with_short_floats(spec: dict[str, Any]) -> Any:
    """Round floats to six digits, as tooltips show them; what is not finite becomes null."""
    # JSON has no infinity and no NaN, and a browser stops at them.
    text = json.dumps(spec)
    return json.loads(
        text,
        parse_float=lambda digits: float(f"{float(digits):.6g}"),
        parse_constant=lambda name: None,
    )
