"""A chart at the width of its place: a column of a paper, or a phone. Panels stand below each other, names in lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from borgtrace.question.charts import LABELS
from borgtrace.report.drawable import svg
from borgtrace.report.theme import LINE_BREAK, merged
from borgtrace.report.views import unit_views

FONT = "Liberation Sans"
"""The font that the renderer brings with it, so that every machine draws the same."""
LEAST_DRAWING = 60
"""Width below which a drawing says nothing."""
STEEPNESS = 0.62
"""Height of a drawing over its width."""
LEAST_SHARE = 0.6
"""Part of the least width of a panel below which columns of panels are given up."""
ROUNDS = 5
"""So often a chart is drawn to see how wide it becomes."""
ALLOWED_EXCESS = 0.6
WIDTH_OF_PICTURE = re.compile(r'<svg[^>]* width="([\d.]+)"')
LETTER_WIDTH = 0.52
"""Of a letter on average, over its height."""
LINE_HEIGHT = 1.2
"""Of a line of text, over the height of its letters."""
LEGEND_CHANNELS = ("color", "fill", "stroke", "shape", "strokeDash", "opacity", "size")


@dataclass(frozen=True, slots=True)
class PictureLook:
    """How a picture looks.

    Parameters
    ----------
    letters
        Their size; a paper asks for 7 points at least.
    least_panel
        Width below which panels stand below each other.
    axis_room
        What an axis takes beside a drawing, about.
    names
        Width of the names beside a drawing; longer ones are broken into lines.
    config
        Vega-Lite's configuration.
    """

    letters: float
    least_panel: float
    axis_room: float
    names: float
    config: Mapping[str, Any]


LETTERS = 7
PAPER_LOOK = PictureLook(
    letters=LETTERS,
    least_panel=130,
    axis_room=42,
    names=90,
    config={
        "background": "white",
        "font": FONT,
        "style": {"guide-title": {"lineBreak": LINE_BREAK}},
        "padding": 2,
        "axis": {
            "labelFontSize": LETTERS,
            "titleFontSize": LETTERS,
            "titleFontWeight": "normal",
            "labelOverlap": "greedy",
            "tickSize": 3,
            "titlePadding": 3,
            "gridColor": "#e3e3e3",
            "gridWidth": 0.5,
        },
        "legend": {
            "labelFontSize": LETTERS,
            "titleFontSize": LETTERS,
            "titleFontWeight": "normal",
            "symbolSize": 30,
            "rowPadding": 1,
            "columnPadding": 6,
            "offset": 4,
        },
        "header": {
            "labelFontSize": LETTERS,
            "titleFontSize": LETTERS,
            "labelPadding": 2,
            "titleFontWeight": "normal",
        },
        "title": {
            "fontSize": LETTERS,
            "subtitleFontSize": LETTERS,
            "fontWeight": "normal",
            "offset": 3,
            "anchor": "start",
        },
        "line": {"strokeWidth": 1},
        "point": {"size": 12},
        "text": {"fontSize": LETTERS},
        "view": {"stroke": "#bbb", "strokeWidth": 0.5},
        "concat": {"spacing": 8},
        "facet": {"spacing": 8},
    },
)
"""A picture for a paper; a unit is a point."""


def picture_of_width(
    spec: dict[str, Any],
    width: float,
    title: str | dict[str, Any] = "",
    look: PictureLook = PAPER_LOOK,
) -> str:
    """Return a picture of a specification, as SVG, that is as wide as asked for.

    Parameters
    ----------
    spec
        Of a question's chart; its heading goes into the caption of the paper.
    width
        In units of the look.
    title
        What has to be said in the picture itself; nothing where empty.
    look
        How it looks.
    """
    page = {key: value for key, value in spec.items() if key not in ("title", "config", "$schema")}
    own = {"range": spec.get("config", {}).get("range", {})}
    page["config"] = merged(dict(look.config), own)
    page["config"]["legend"] = {**look.config["legend"], **legends_below(page, width, look)}
    if title:
        page["title"] = wrapped_title(title, width, look)
    stack_panels(page, width, look)
    drawing = ""
    for _ in range(ROUNDS):
        lower_drawings(page)
        drawing = svg(page)
        excess = width_of(drawing) - width
        if abs(excess) < ALLOWED_EXCESS:
            break
        for part, n_beside in drawings(page, 1):
            part["width"] = max(LEAST_DRAWING, part["width"] - excess / n_beside)
    return drawing


def width_of(drawing: str) -> float:
    """Return how wide a picture is."""
    (width,) = WIDTH_OF_PICTURE.findall(drawing[:1000])
    return float(width)


def lower_drawings(page: dict[str, Any]) -> None:
    """Give narrow drawings less height, but for those with a row for each name, and diagrams."""
    for part, _ in drawings(page, 1):
        if isinstance(part.get("height"), int | float) and not (
            has_names(part) or is_diagram(part)
        ):
            part["height"] = round(min(part["height"], part["width"] * STEEPNESS))


def is_diagram(part: dict[str, Any]) -> bool:
    """Return whether a drawing has places instead of axes."""
    axes = [view.encoding["x"].get("axis", {}) for view in unit_views(part) if "x" in view.encoding]
    return bool(axes) and all(axis is None for axis in axes)


def legends_below(spec: dict[str, Any], width: float, look: PictureLook) -> dict[str, Any]:
    """Return where legends stand: below the drawings, in as many columns as their names leave room for."""
    names = [""]
    for view in unit_views(spec):
        for channel in LEGEND_CHANNELS:
            encoding = view.encoding.get(channel)
            if not isinstance(encoding, dict) or encoding.get("legend", True) is None:
                continue
            if encoding.get("type") in NAMED_TYPES:
                names += [str(row.get(str(encoding.get("field")))) for row in view.rows]
    longest = max(len(name) for name in names) * look.letters * LETTER_WIDTH
    room = max(look.letters * 8, longest + look.letters * 4)
    return {
        "orient": "bottom",
        "columns": max(1, int(width // room)),
        "labelLimit": width - look.letters * 4,
    }


def wrapped_title(
    title: str | dict[str, Any], width: float, look: PictureLook
) -> str | dict[str, Any]:
    """Break a heading and the lines below it where they are longer than the picture."""
    if isinstance(title, str):
        return title
    broken = dict(title)
    for part, letter_width in (("text", LETTER_WIDTH * 1.4), ("subtitle", LETTER_WIDTH)):
        texts = title.get(part)
        if texts is None:
            continue
        letters = int(width / (look.letters * letter_width))
        lines = [texts] if isinstance(texts, str) else texts
        broken[part] = [line for text in lines for line in lines_of(text, letters)]
    return broken


def stack_panels(part: dict[str, Any], width: float, look: PictureLook) -> None:
    """Put as many panels side by side as have room, and give each drawing a first width.

    Parameters
    ----------
    part
        A part of a specification, changed in place.
    width
        What it may take.
    look
        How the picture looks.
    """
    part.pop("autosize", None)
    for row in ("hconcat", "concat"):
        if row in part:
            panels = part.pop(row)
            part["columns"] = columns_of(len(panels), width, look)
            part["concat"] = panels
            for panel in panels:
                stack_panels(panel, width / part["columns"], look)
            return
    if "vconcat" in part:
        for panel in part["vconcat"]:
            stack_panels(panel, width, look)
    elif "spec" in part:
        facet = part["facet"] = arranged(part, part.get("facet", {}), width, look)
        n_panels = n_values(part, facet.get("field") or facet.get("column", {}).get("field"))
        columns = n_panels
        if "field" in facet:
            columns = part["columns"] = columns_of(n_panels, width, look)
        stack_panels(part["spec"], width / columns, look)
    else:
        size_drawing(part, width, look)


def size_drawing(part: dict[str, Any], width: float, look: PictureLook) -> None:
    """Give a drawing, which may have panels of its own, a first width."""
    encoding = part.get("encoding", {})
    columns = 1
    if "column" in encoding:
        panels = {name: encoding.pop(name) for name in ("row", "column") if name in encoding}
        channels = arranged(part, panels, width, look)
        encoding.update({"facet": channels} if "field" in channels else channels)
    if "facet" in encoding:
        n_panels = n_values(part, encoding["facet"].get("field"))
        columns = columns_of(n_panels, width, look)
        encoding["facet"]["columns"] = columns
    elif "column" in encoding:
        columns = n_values(part, encoding["column"].get("field"))
    part["width"] = max(LEAST_DRAWING, width / columns - look.axis_room)
    for layer in part.get("layer", ()):
        layer.pop("width", None)
        if "height" in layer:
            part.setdefault("height", layer.pop("height"))
    if "title" in part and columns == 1:
        part["title"] = wrapped_title(as_title(part["title"]), 0.8 * width, look)
    break_names(part, look)
    wrap_titles(part, part["width"], look)


def arranged(
    part: dict[str, Any], channels: dict[str, Any], width: float, look: PictureLook
) -> dict[str, Any]:
    """Return how panels stand: in rows and columns where these have room, else one after the other.

    Parameters
    ----------
    part
        The panels, or what is drawn in each.
    channels
        Rows and columns of panels.
    width
        What they may take.
    look
        How the picture looks.
    """
    if "column" not in channels:
        return channels
    if "row" not in channels:
        column: dict[str, Any] = channels["column"]
        return column
    n_columns = n_values(part, channels["column"].get("field"))
    if width / n_columns >= LEAST_SHARE * look.least_panel:
        return channels
    return listed(part, channels["row"], channels["column"])


def listed(part: dict[str, Any], row: dict[str, Any], column: dict[str, Any]) -> dict[str, Any]:
    """Return panels in rows and columns as panels that follow each other: each is named by its row and its column."""
    field = f"{row['field']} and {column['field']}"
    names: dict[str, None] = {}
    for view in unit_views(part):
        for values in view.rows:
            if row["field"] in values and column["field"] in values:
                name = f"{called(values, row)}, {called(values, column)}"
                values[field] = name
                names[name] = None
    return {"field": field, "type": "nominal", "title": None, "sort": sorted(names)}


def called(values: dict[str, Any], channel: dict[str, Any]) -> str:
    """Return what a panel of a channel is called: its value, or what its heading calls it."""
    value = str(values[channel["field"]])
    names = LABELS.get(channel["field"], {})
    return names.get(value, value)


def as_title(title: Any) -> dict[str, Any]:
    """Return a heading as an object."""
    return dict(title) if isinstance(title, dict) else {"text": title}


NAMED_TYPES = ("nominal", "ordinal")


def has_names(part: dict[str, Any]) -> bool:
    """Return whether names stand beside a drawing: each needs a row, whatever the width."""
    return any(named_axis(view) is not None for view in (part, *part.get("layer", ())))


def named_axis(view: dict[str, Any]) -> dict[str, Any] | None:
    """Return the vertical channel of a view where it has names."""
    y = view.get("encoding", {}).get("y")
    is_named = isinstance(y, dict) and y.get("type") in NAMED_TYPES and "field" in y
    return y if is_named and y.get("axis", {}) is not None else None


def break_names(part: dict[str, Any], look: PictureLook) -> None:
    """Break long names beside a drawing into lines, and give each the room that it needs."""
    letters = int(look.names / (look.letters * LETTER_WIDTH))
    for view in unit_views(part):
        y = named_axis(view.spec) or named_axis(part)
        if y is None:
            continue
        axis = y["axis"] = {**y.get("axis", {}), "labelLimit": 2 * look.names}
        names = {str(row[y["field"]]) for row in view.rows if row.get(y["field"]) is not None}
        lines = {name: lines_of(name, letters) for name in sorted(names)}
        n_lines = max((len(broken) for broken in lines.values()), default=1)
        if n_lines == 1 or "labelExpr" in axis:
            continue
        axis["labelExpr"] = f"({json.dumps(lines)})[datum.label] || datum.label"
        needed = len(names) * (n_lines * LINE_HEIGHT + 0.6) * look.letters
        if not (isinstance(part.get("height"), int | float) and part["height"] >= needed):
            part["height"] = round(needed)


def wrap_titles(part: dict[str, Any], width: float, look: PictureLook) -> None:
    """Break titles of axes that are longer than their drawing."""
    height = part.get("height")
    rooms = {"x": width, "y": width}
    if isinstance(height, int | float) and not has_names(part):
        rooms["y"] = min(height, width * STEEPNESS)
    for view in (part, *part.get("layer", ())):
        for name, room in rooms.items():
            letters = max(10, int(room / (look.letters * LETTER_WIDTH)))
            channel = view.get("encoding", {}).get(name)
            if isinstance(channel, dict) and isinstance(channel.get("title"), str):
                channel["title"] = f" {LINE_BREAK}".join(lines_of(channel["title"], letters))


def lines_of(text: str, letters: int) -> list[str]:
    """Break a text into lines of so many letters, between its words.

    Examples
    --------
    >>> lines_of("tasks in the queue", 10)
    ['tasks in', 'the queue']
    """
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and len(longer) > letters:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def columns_of(n_panels: int, width: float, look: PictureLook = PAPER_LOOK) -> int:
    """Return how many panels stand side by side.

    Examples
    --------
    >>> columns_of(3, 240), columns_of(3, 504)
    (1, 3)
    """
    has_room = width >= 2 * look.least_panel
    return max(1, min(n_panels, int(width // look.least_panel) if has_room else 1))


def n_values(part: dict[str, Any], field: str | None) -> int:
    """Return how many panels a field makes."""
    values = set()
    for view in unit_views(part):
        values |= {row.get(field) for row in view.rows if field in row}
    return max(1, len(values))


def drawings(part: dict[str, Any], n_beside: int) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield each drawing with a width, and how many of them stand side by side."""
    if "width" in part and ("mark" in part or "layer" in part):
        facet = part.get("encoding", {}).get("facet", {})
        yield part, n_beside * facet.get("columns", 1)
        return
    columns = n_beside
    if "concat" in part:
        columns *= part["columns"]
    elif "spec" in part:
        columns *= part.get("columns", 1)
    for key in ("concat", "vconcat"):
        for child in part.get(key, ()):
            yield from drawings(child, columns)
    if isinstance(part.get("spec"), dict):
        yield from drawings(part["spec"], columns)
