"""A chart at the width of a column or a page of a paper: panels below each other, letters of 7 points, no title."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from borgtrace.report.drawable import svg
from borgtrace.report.theme import LINE_BREAK, merged
from borgtrace.report.views import unit_views

FONT = "Liberation Sans"
"""The font that the renderer brings with it, so that every machine draws the same."""
LETTERS = 7
"""Size of letters in points, which papers ask for at least."""
LEAST_PANEL = 130
"""Width in points below which panels stand below each other."""
LEAST_DRAWING = 60
"""Width in points below which a drawing says nothing."""
AXIS_ROOM = 42
STEEPNESS = 0.62
"""Height of a drawing over its width."""
ROUNDS = 4
"""So often a chart is drawn to see how wide it becomes."""
WIDTH_OF_PICTURE = re.compile(r'<svg[^>]* width="([\d.]+)"')
CONFIG: dict[str, Any] = {
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
        "labelLimit": 90,
        "gridColor": "#e3e3e3",
        "gridWidth": 0.5,
    },
    "legend": {
        "orient": "bottom",
        "labelFontSize": LETTERS,
        "titleFontSize": LETTERS,
        "titleFontWeight": "normal",
        "symbolSize": 30,
        "rowPadding": 1,
        "columnPadding": 6,
        "offset": 4,
        "labelLimit": 140,
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
}
"""Vega-Lite's configuration of a picture for a paper; a unit is a point."""


def laid_out(spec: dict[str, Any], width: float, title: str = "") -> dict[str, Any]:
    """Return a specification whose picture is as wide as asked for.

    Parameters
    ----------
    spec
        Of a question's chart; its heading goes into the caption of the paper.
    width
        In points.
    title
        What has to be said in the picture itself; nothing where empty.
    """
    page = {key: value for key, value in spec.items() if key not in ("title", "config", "$schema")}
    own = {"range": spec.get("config", {}).get("range", {})}
    page["config"] = merged(CONFIG, own)
    page["config"]["legend"] = {**CONFIG["legend"], "columns": max(1, int(width // 75))}
    if title:
        page["title"] = title
    stack_panels(page, width, page)
    for _ in range(ROUNDS):
        excess = width_of(page) - width
        if abs(excess) < 0.5:
            break
        for part, n_beside in drawings(page, 1):
            part["width"] = max(LEAST_DRAWING, part["width"] - excess / n_beside)
    for part, _ in drawings(page, 1):
        if isinstance(part.get("height"), int | float):
            part["height"] = round(min(part["height"], part["width"] * STEEPNESS))
    return page


def width_of(spec: dict[str, Any]) -> float:
    """Return how wide the picture of a specification is."""
    (width,) = WIDTH_OF_PICTURE.findall(svg(spec)[:1000])
    return float(width)


def stack_panels(part: dict[str, Any], width: float, root: dict[str, Any]) -> None:
    """Put as many panels side by side as have room, and give each drawing a first width.

    Parameters
    ----------
    part
        A part of a specification, changed in place.
    width
        What it may take.
    root
        The whole, whose data its parts share.
    """
    part.pop("autosize", None)
    for row in ("hconcat", "concat"):
        if row in part:
            panels = part.pop(row)
            part["columns"] = columns_of(len(panels), width)
            part["concat"] = panels
            for panel in panels:
                stack_panels(panel, width / part["columns"], root)
            return
    if "vconcat" in part:
        for panel in part["vconcat"]:
            stack_panels(panel, width, root)
    elif "spec" in part:
        facet = part.get("facet", {})
        n_panels = n_values(part, facet.get("field") or facet.get("column", {}).get("field"))
        columns = n_panels
        if "field" in facet:
            columns = part["columns"] = columns_of(n_panels, width)
        stack_panels(part["spec"], width / columns, root)
    else:
        size_drawing(part, width)


def size_drawing(part: dict[str, Any], width: float) -> None:
    """Give a drawing, which may have panels of its own, a first width."""
    encoding = part.get("encoding", {})
    columns = 1
    if "column" in encoding and "row" not in encoding:
        encoding["facet"] = encoding.pop("column")
    if "facet" in encoding:
        n_panels = n_values(part, encoding["facet"].get("field"))
        columns = columns_of(n_panels, width)
        encoding["facet"]["columns"] = columns
    elif "column" in encoding:
        columns = n_values(part, encoding["column"].get("field"))
    part["width"] = max(LEAST_DRAWING, width / columns - AXIS_ROOM)
    for layer in part.get("layer", ()):
        layer.pop("width", None)
        if "height" in layer:
            part.setdefault("height", layer.pop("height"))
    wrap_titles(part, part["width"])


def wrap_titles(part: dict[str, Any], width: float) -> None:
    """Break titles of axes that are longer than their drawing."""
    letters = max(10, int(width / (LETTERS * 0.52)))
    for view in (part, *part.get("layer", ())):
        for name in ("x", "y"):
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


def columns_of(n_panels: int, width: float) -> int:
    """Return how many panels stand side by side.

    Examples
    --------
    >>> columns_of(3, 240), columns_of(3, 504)
    (1, 3)
    """
    return max(1, min(n_panels, int(width // LEAST_PANEL) if width >= 2 * LEAST_PANEL else 1))


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
