"""What the charts of colocation share: sizes, colours of the two series, layers."""

from __future__ import annotations

from typing import Any

WIDTH, HEIGHT = 420, 240
SERIES_COLOURS = {"inst": "#e4572e", "avg": "#4c9be8"}
"""Colour of the instantaneous and of the average usage in every chart."""


def data(rows: list[dict[str, Any]]) -> Any:
    """Return rows as the data of a chart."""
    return {"values": rows}


def series_colour() -> Any:
    """Return the colour encoding of the column ``series``: inst or avg."""
    import altair as alt

    scale = alt.Scale(domain=list(SERIES_COLOURS), range=list(SERIES_COLOURS.values()))
    return alt.Color("series:N", scale=scale, title="CPU usage")


def layered(*layers: Any, title: str) -> Any:
    """Draw several marks over each other."""
    import altair as alt

    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=title)


def box_plot(rows: list[dict[str, Any]], x: Any, y_title: str, title: str, **encoding: Any) -> Any:
    """Draw boxes from the columns p5, p25, median, p75, p95: whiskers are the outer percentiles."""
    import altair as alt

    base = alt.Chart(data(rows)).encode(x=x, **encoding)
    whisker = base.mark_rule().encode(y=alt.Y("p5:Q", title=y_title), y2="p95:Q")
    box = base.mark_bar(size=12, opacity=0.6).encode(y=alt.Y("p25:Q", title=y_title), y2="p75:Q")
    middle = base.mark_tick(size=12, color="black").encode(y=alt.Y("median:Q", title=y_title))
    return layered(whisker, box, middle, title=title)
