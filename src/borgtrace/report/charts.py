"""From a question's chart to a figure of the page: themed, zoomable, small, and told in words."""

from __future__ import annotations

import copy
import json
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from borgtrace.report.alttext import describe
from borgtrace.report.reduction import reduce_rows
from borgtrace.report.theme import themed
from borgtrace.report.values import words
from borgtrace.report.views import View, unit_views

if TYPE_CHECKING:
    import altair as alt

ROWS = 4000
"""Rows that a dataset is reduced to."""
MAXIMUM_ROWS = 20_000
"""A dataset that cannot be reduced and is larger than this is not drawn."""

# Vega's event selectors: the first part says which event, what is in brackets says when it counts.
_ZOOM = "wheel![event.ctrlKey || event.metaKey]"
_PAN = "[pointerdown[event.pointerType !== 'touch'], window:pointerup] > window:pointermove!"
_TOUCHED = {"opacity": 0, "size": 90, "tooltip": True}
"""Points on lines that are not seen but felt."""
# A zoomable plot is clipped: names beside its last points would be cut.
_OF_MARK: dict[str, Any] = {
    "line": {"point": _TOUCHED},
    "area": {"point": _TOUCHED},
    "text": {"clip": False},
}
_ZOOMED = ("line", "area", "point")
_AXES = ("x", "y", "x2", "y2")
_POINT_ROOM = 8
"""Pixels between a point and the end of an axis."""
_CONTINUOUS = ("quantitative", "temporal")


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart as the page embeds it: Vega-Lite as JSON, its text, and how many points it has."""

    spec: str
    alt: str
    n_rows: int


class TooManyPointsError(Exception):
    """A chart's data cannot be made small enough for a browser."""


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
    TooManyPointsError
        Where more than 20,000 rows are left that cannot be reduced.
    """
    spec = themed(specification(chart))
    spec.pop("$schema", None)
    views = list(unit_views(spec))
    # Before the texts: they state the range of what is drawn, and no extreme is lost by it.
    n_rows = _reduce(views)
    _keep_named(spec, views)
    text = describe(spec, title)
    spec["description"] = text
    for view in views:
        _name_fields(view.spec.get("encoding", {}))
        _show_values(view)
        _keep_points_whole(view)
        _widen(view)
    _make_zoomable(spec, views)
    return Figure(
        json.dumps(_compact(spec), ensure_ascii=False, separators=(",", ":")), text, n_rows
    )


def specification(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """Return a chart in Vega-Lite, with all its rows."""
    import altair as alt

    # Altair refuses more than 5,000 rows; how many are too many is decided here, after they are reduced.
    with alt.data_transformers.enable("default", max_rows=None):
        spec: dict[str, Any] = chart.to_dict(
            validate=False
        )  # validation takes a second per 5,000 rows
    return spec


def _reduce(views: list[View]) -> int:
    """Reduce each large dataset in place, by all views that draw it; return how many rows are left in all."""
    drawn_by: defaultdict[int, list[View]] = defaultdict(list)
    for view in views:
        drawn_by[id(view.rows)].append(view)
    for users in drawn_by.values():
        rows = users[0].rows
        if len(rows) > ROWS:
            rows[:] = _reduced(rows, users)
        if len(rows) > MAXIMUM_ROWS:
            raise TooManyPointsError(f"{len(rows):,} points are too many to draw")
    return sum(len(users[0].rows) for users in drawn_by.values())


def _keep_named(spec: dict[str, Any], views: list[View]) -> None:
    """Leave out the fields of the data that nothing names: channels, tooltips, expressions."""
    named = json.dumps(_without_data(spec), ensure_ascii=False)
    for rows in {id(view.rows): view.rows for view in views}.values():
        rows[:] = [{name: value for name, value in row.items() if name in named} for row in rows]


def _without_data(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _without_data(item)
            for key, item in value.items()
            if key not in ("data", "datasets")
        }
    return [_without_data(item) for item in value] if isinstance(value, list) else value


def _reduced(rows: list[dict[str, Any]], users: list[View]) -> list[dict[str, Any]]:
    x = sorted({name for view in users for name in view.fields("x")})
    # A histogram or a mean needs all of its rows, and buckets need one horizontal axis.
    if any(view.is_derived for view in users) or len(x) != 1:
        return rows
    ys = sorted({name for view in users for name in view.fields("y", "y2")})
    by = sorted({name for view in users for name in view.groups()})
    return reduce_rows(rows, x[0], ys, by, budget=ROWS)


def _show_values(view: View) -> None:
    """Give each mark a tooltip, and lines and areas points that tell the value under the pointer.

    The tooltip is asked for by the mark itself: beside a selection (our zoom), Vega-Lite lets no other
    mark of a layer feel the pointer.
    """
    mark = view.spec["mark"]
    mark = {"tooltip": True, **(mark if isinstance(mark, dict) else {"type": mark})}
    view.spec["mark"] = {**copy.deepcopy(_OF_MARK.get(view.mark, {})), **mark}


def _name_fields(encoding: dict[str, Any]) -> None:
    """Title what has no title of its own with the name of its field in words.

    Axes are left alone: Vega-Lite joins the titles of the layers that share one.
    """
    for channel in (channel for name, channel in encoding.items() if name not in _AXES):
        for item in channel if isinstance(channel, list) else [channel]:
            if isinstance(item, dict) and "field" in item and not item.get("aggregate"):
                item.setdefault("title", words(str(item["field"])))


def _keep_points_whole(view: View) -> None:
    """Leave room at the ends of an axis: a zoomable plot is clipped, and would cut points on its edge in half."""
    # Lines and bars look right when they are cut at the edge.
    if view.mark != "point":
        return
    for name in ("x", "y"):
        channel = view.spec.get("encoding", {}).get(name)
        if _is_continuous(channel) and channel.get("scale", {}) is not None:
            channel["scale"] = {"padding": _POINT_ROOM, "nice": False, **channel.get("scale", {})}


def _widen(view: View) -> None:
    """Give an axis that need not begin at 0 a length where it has one value: its ticks would lie on each other."""
    # Layers share their scales: what one of them draws is not all that the axis shows.
    if view.is_layer:
        return
    for name in ("x", "y"):
        channel = view.spec.get("encoding", {}).get(name)
        if not _is_continuous(channel) or "domain" in (scale := channel.get("scale") or {}):
            continue
        values = {
            row[field]
            for row in view.rows
            if (field := channel.get("field")) in row and row[field] is not None
        }
        is_log = scale.get("type") == "log"
        if len(values) == 1 and (scale.get("zero") is False or is_log):
            [value] = values
            margin = abs(value) / 2 or 1
            domain = [value / 10, value * 10] if is_log else [value - margin, value + margin]
            channel["scale"] = {**scale, "domain": domain}


def _make_zoomable(spec: dict[str, Any], views: list[View]) -> None:
    """Bind scales to wheel (with Ctrl, so that the page still scrolls) and drag (not on touch screens)."""
    for part in [spec, *(view.spec for view in views)]:
        # The page's gestures replace those that a question binds itself: a scale follows one selection only.
        if "params" in part:
            part["params"] = [param for param in part["params"] if param.get("bind") != "scales"]
    for number, view in enumerate(views):
        channels = [name for name in ("x", "y") if _is_continuous(view.encoding.get(name))]
        # One selection for all layers of a view: they share the scales.
        if channels and view.is_first and view.mark in _ZOOMED:
            select = {"type": "interval", "encodings": channels, "zoom": _ZOOM, "translate": _PAN}
            zoom = {"name": f"zoom_{number}", "select": select, "bind": "scales"}
            view.spec["params"] = [*view.spec.get("params", []), zoom]


def _is_continuous(channel: dict[str, Any] | None) -> bool:
    given = channel or {}
    return given.get("type") in _CONTINUOUS and not (given.get("bin") or given.get("aggregate"))


def _compact(spec: dict[str, Any]) -> Any:
    """Round floats to six digits, as tooltips show them; what is not finite becomes null."""
    # JSON has no infinity and no NaN, and a browser stops at them.
    text = json.dumps(spec)
    return json.loads(
        text,
        parse_float=lambda digits: float(f"{float(digits):.6g}"),
        parse_constant=lambda name: None,
    )
