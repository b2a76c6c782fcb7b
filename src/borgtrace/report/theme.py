"""How charts look on the page: colors are CSS variables, so one drawing serves light, dark and print."""

import json
import re
from importlib.resources import files
from typing import Any

_INK, _MUTED, _PAPER = "var(--ink)", "var(--muted)", "var(--paper)"

_GREYS = ("grey", "gray", "darkgrey", "darkgray", "lightgrey", "lightgray", "silver")
_NAMED = {"black": _INK, "white": _PAPER} | dict.fromkeys(_GREYS, _MUTED)
_SHADE = re.compile(r"#([0-9a-f]{1,2})\1\1")
"""A shade of gray in hex: all its digits, or all its pairs of digits, are the same."""
# Darker grays are meant as ink, lighter ones as something in the background.
_DARKEST_GREY, _WHITE = 0x45, 0xFF

_COLOUR_KEYS = frozenset({"color", "fill", "stroke", "value", "range", "condition"})

CONFIG: dict[str, Any] = json.loads(
    files("borgtrace.report").joinpath("theme.json").read_text("utf-8")
)
"""Vega-Lite's configuration of the page's charts."""


def themed(spec: dict[str, Any]) -> dict[str, Any]:
    """Return `spec` in the page's colors; what it configures itself wins, fixed inks excepted.

    Examples
    --------
    >>> themed({"mark": {"type": "line", "color": "black"}})["mark"]["color"]
    'var(--ink)'
    """
    # The page has a background of its own, in light, dark and print.
    own = {key: value for key, value in spec.get("config", {}).items() if key != "background"}
    return {**_recoloured(spec, ""), "config": _merged(CONFIG, _recoloured(own, ""))}


_DATA = frozenset({"data", "datasets"})


def _recoloured(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        return {k: v if k in _DATA else _recoloured(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [_recoloured(item, key) for item in value]
    if isinstance(value, str) and (key in _COLOUR_KEYS or key.endswith("Color")):
        return _on_any_background(value)
    return value


def _on_any_background(colour: str) -> str:
    """Replace an ink or a gray that a question has fixed, and that would vanish on the other background."""
    shade = _SHADE.fullmatch(colour.lower())
    if not shade:
        return _NAMED.get(colour.lower(), colour)
    # A digit of the short form stands for two.
    level = int((shade[1] * 2)[:2], 16)
    return _INK if level < _DARKEST_GREY else _PAPER if level == _WHITE else _MUTED


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for key, value in over.items():
        old = result.get(key)
        result[key] = (
            _merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
        )
    return result
