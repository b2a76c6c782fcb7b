"""Charts whose texts can be drawn: the one way from a chart to Vega-Lite, SVG and PNG.

Names come from foreign files. A control character in one ends the whole process in the renderer, since XML has no way
to write it, and a lone surrogate cannot be written at all.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from borgtrace.errors import harmless

if TYPE_CHECKING:
    import altair as alt

# What XML 1.0 leaves out.
_UNDRAWABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def drawable_text(text: str) -> str:
    r"""Return a text in which everything can be drawn; what cannot is written as `harmless` writes it.

    Examples
    --------
    >>> print(drawable_text("a\x1b[31mb\0\uffff"))
    a\u001b[31mb\u0000\uffff
    """
    return _UNDRAWABLE.sub(lambda mark: f"\\u{ord(mark[0]):04x}", text)


def drawable(value: Any) -> Any:
    r"""Return a specification in which every text can be drawn, names of fields among them.

    Examples
    --------
    >>> drawable({"title": ["a\x01"], "width": 20})
    {'title': ['a\\u0001'], 'width': 20}
    """
    if isinstance(value, str):
        return drawable_text(harmless(value))
    if isinstance(value, dict):
        return {drawable(key): drawable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [drawable(item) for item in value]
    return value


def specification(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """Return a chart in Vega-Lite, with all its rows, as it can be drawn."""
    import altair as alt

    # Altair refuses more than 5,000 rows; how many are too many for a page is decided after they are reduced.
    with alt.data_transformers.enable("default", max_rows=None):
        # Validation takes a second per 5,000 rows.
        spec: dict[str, Any] = drawable(chart.to_dict(validate=False))
    return spec


def svg(spec: dict[str, Any]) -> str:
    """Return the picture of a specification as SVG."""
    # Here: a command that draws nothing need not load the renderer.
    import vl_convert

    return str(vl_convert.vegalite_to_svg(drawable(spec)))


def png(spec: dict[str, Any], scale: float = 2) -> bytes:
    """Return the picture of a specification as PNG."""
    import vl_convert

    return bytes(vl_convert.vegalite_to_png(drawable(spec), scale=scale))
