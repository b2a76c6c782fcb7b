"""How charts look on the page: colours are CSS variables, so one drawing serves light, dark and print."""

from __future__ import annotations

from typing import Any

_INK, _MUTED, _PAPER = "var(--ink)", "var(--muted)", "var(--paper)"

_INKS = ("black", "#000", "#000000", "#111", "#222", "#222222", "#333", "#333333", "#444")
_GREYS = (
    "grey",
    "gray",
    "darkgrey",
    "darkgray",
    "lightgrey",
    "lightgray",
    "silver",
    "#666",
    "#777",
    "#888",
    "#888888",
    "#999",
    "#999999",
    "#aaa",
    "#bbb",
    "#bbbbbb",
    "#ccc",
    "#cccccc",
)
_FIXED_COLOURS = {
    **dict.fromkeys(_INKS, _INK),
    **dict.fromkeys(_GREYS, _MUTED),
    **dict.fromkeys(("white", "#fff", "#ffffff"), _PAPER),
}
"""Ink and greys that a recipe may have fixed, and that would vanish on the other background."""

_COLOUR_KEYS = frozenset({"color", "fill", "stroke", "value", "range", "condition"})

CONFIG: dict[str, Any] = {
    "background": "transparent",
    "font": "system-ui, sans-serif",
    "mark": {"color": "var(--c1)", "aria": False},
    "tooltipFormat": {"numberFormat": ",.5~g"},
    "line": {"strokeWidth": 1.8},
    "text": {"fill": _INK},
    "rule": {"color": _MUTED},
    "view": {"stroke": "transparent"},
    "range": {"category": [f"var(--c{i})" for i in range(1, 9)]},
    "axis": {
        "labelColor": _INK,
        "titleColor": _INK,
        "domainColor": _MUTED,
        "tickColor": _MUTED,
        "gridColor": "var(--grid)",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelOverlap": "greedy",
        "labelSeparation": 6,
    },
    "legend": {
        "labelColor": _INK,
        "titleColor": _INK,
        "labelFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 240,
        "symbolStrokeWidth": 3,
        "symbolBaseFillColor": _MUTED,
        "symbolBaseStrokeColor": _MUTED,
    },
    "title": {"color": _INK, "subtitleColor": _MUTED, "fontSize": 14, "anchor": "start"},
    "header": {"labelColor": _INK, "titleColor": _INK, "titleFontWeight": "normal", "labelFontSize": 12},
}


def themed(spec: dict[str, Any]) -> dict[str, Any]:
    """Return `spec` in the page's colours; what it configures itself wins, fixed inks excepted.

    Examples
    --------
    >>> themed({"mark": {"type": "line", "color": "black"}})["mark"]["color"]
    'var(--ink)'
    """
    own = {key: value for key, value in spec.get("config", {}).items() if key != "background"}
    coloured = {key: value if key in _DATA else _recoloured(value, key) for key, value in spec.items()}
    return {**coloured, "config": _merged(CONFIG, _recoloured(own, ""))}


_DATA = frozenset({"data", "datasets"})


def _recoloured(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        return {k: v if k in _DATA else _recoloured(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [_recoloured(item, key) for item in value]
    if isinstance(value, str) and (key in _COLOUR_KEYS or key.endswith("Color")):
        return _FIXED_COLOURS.get(value.lower(), value)
    return value


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for key, value in over.items():
        old = result.get(key)
        result[key] = _merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return result
