"""Charts whose texts can be drawn: the one way from a chart to Vega-Lite, SVG and PNG.

Names come from foreign files. A control character in one ends the whole process in the renderer, since XML has no way
to write it, and a lone surrogate cannot be written at all.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from borgtrace.errors import harmless
from borgtrace.question.colours import SERIES, distinct
from borgtrace.report.views import View, unit_views

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
    return with_distinct_colours(spec)


def with_distinct_colours(spec: dict[str, Any]) -> dict[str, Any]:
    """Give a chart as many colours as its longest legend has names: Vega begins again after the tenth.

    Examples
    --------
    >>> rows = [{"policy": f"policy {number}"} for number in range(30)]
    >>> chart = {"data": {"values": rows}, "mark": "bar", "encoding": {"color": {"field": "policy", "type": "nominal"}}}
    >>> len(set(with_distinct_colours(chart)["config"]["range"]["category"]))
    30
    """
    n_names = max([len(SERIES), *(names_of_colours(view) for view in unit_views(spec))])
    config = dict(spec.get("config", {}))
    shades = {"category": list(islice(distinct(), n_names)), **config.get("range", {})}
    return {**spec, "config": {**config, "range": shades}}


def names_of_colours(view: View) -> int:
    """Return how many names the colours of a view stand for; 0 where they stand for numbers."""
    names = set()
    for channel in ("color", "fill", "stroke"):
        encoding = view.encoding.get(channel)
        if isinstance(encoding, dict) and encoding.get("type") in ("nominal", "ordinal"):
            names |= {row.get(str(encoding.get("field"))) for row in view.rows}
    return len(names)


def svg(spec: dict[str, Any]) -> str:
    """Return the picture of a specification as SVG."""
    # Here: a command that draws nothing need not load the renderer.
    import vl_convert

    return str(vl_convert.vegalite_to_svg(drawable(spec)))


def png(spec: dict[str, Any], scale: float = 2) -> bytes:
    """Return the picture of a specification as PNG."""
    import vl_convert

    return bytes(vl_convert.vegalite_to_png(drawable(spec), scale=scale))
