"""How charts look on the page: colors are CSS variables, so one drawing serves light, dark and print."""

import re
from typing import Any

from borgtrace.question.colours import SERIES, VARIABLES

INK = "var(--ink)"
MUTED = "var(--muted)"
PAPER = "var(--paper)"
GREYS = ("grey", "gray", "darkgrey", "darkgray", "lightgrey", "lightgray", "silver")
NAMED_COLOURS = {"black": INK, "white": PAPER} | dict.fromkeys(GREYS, MUTED)
SHADE = re.compile(r"#([0-9a-f]{1,2})\1\1")
"""A shade of gray in hex: all its digits, or all its pairs of digits, are the same."""
DARKEST_GREY = 0x45
"""Darker grays are meant as ink, lighter ones as something in the background."""
WHITE = 0xFF
COLOUR_KEYS = frozenset({"color", "fill", "stroke", "value", "range", "category", "condition"})
DATA_KEYS = frozenset({"data", "datasets"})

LINE_BREAK = "\u2063"
"""Stands in titles of axes where a line ends: seen by nobody, and allowed in the expressions made of titles."""

CONFIG: dict[str, Any] = {
    "background": "transparent",
    "font": "system-ui, sans-serif",
    # Titles stay one text where layers share an axis: Vega-Lite would join lists of lines.
    "style": {"guide-title": {"lineBreak": LINE_BREAK}},
    "mark": {"color": "var(--c1)", "aria": False},
    "tooltipFormat": {"numberFormat": ",.5~g"},
    "line": {"strokeWidth": 1.8},
    "text": {"fill": INK},
    "rule": {"color": MUTED},
    "view": {"stroke": "transparent"},
    "range": {"category": [f"var(--{colour.name})" for colour in SERIES]},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 12,
        "titleFontWeight": "normal",
        "domainColor": MUTED,
        "tickColor": MUTED,
        "gridColor": "var(--grid)",
        "titleFontSize": 12,
        "labelOverlap": "greedy",
        "labelSeparation": 6,
    },
    "legend": {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 240,
        "symbolStrokeWidth": 3,
        "symbolBaseFillColor": MUTED,
        "symbolBaseStrokeColor": MUTED,
    },
    "title": {
        "color": INK,
        "subtitleColor": MUTED,
        "fontSize": 14,
        "anchor": "start",
    },
    "header": {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 12,
        "titleFontWeight": "normal",
    },
}
"""Vega-Lite's configuration of the page's charts."""


def themed(spec: dict[str, Any]) -> dict[str, Any]:
    """Return `spec` in the page's colors; what it configures itself wins, fixed inks excepted.

    Examples
    --------
    >>> themed({"mark": {"type": "line", "color": "black"}})["mark"]["color"]
    'var(--ink)'
    """
    config = dict(spec.get("config", {}))
    # The page has a background of its own, in light, dark and print.
    config.pop("background", None)
    return {**recoloured(spec), "config": merged(CONFIG, recoloured(config))}


def recoloured(value: Any, key: str = "") -> Any:
    """Return a part of a specification, found under a key, with the page's inks and grays."""
    if isinstance(value, dict):
        parts = {}
        for name, item in value.items():
            parts[name] = item if name in DATA_KEYS else recoloured(item, name)
        return parts
    if isinstance(value, list):
        return [recoloured(item, key) for item in value]
    is_colour = key in COLOUR_KEYS or key.endswith("Color")
    if isinstance(value, str) and is_colour:
        return on_any_background(value)
    return value


def on_any_background(colour: str) -> str:
    """Replace what a question has fixed: colours of the page, and inks and grays that would vanish on dark ground."""
    if colour.lower() in VARIABLES:
        return VARIABLES[colour.lower()]
    shade = SHADE.fullmatch(colour.lower())
    if not shade:
        return NAMED_COLOURS.get(colour.lower(), colour)
    # A digit of the short form stands for two.
    level = int((shade[1] * 2)[:2], 16)
    if level < DARKEST_GREY:
        return INK
    return PAPER if level == WHITE else MUTED


def merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Return `base` with the values of `over`, level by level."""
    result = dict(base)
    for key, value in over.items():
        old = result.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            result[key] = merged(old, value)
        else:
            result[key] = value
    return result
