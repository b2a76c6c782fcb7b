"""The charts that experiments share: machines against overflow, their spread, boxes of percentiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from borgtrace.colocation.experiments._outcomes import OUTCOMES, summaries
from borgtrace.colocation.experiments._rows import Row
from borgtrace.recipe import charts

WIDTH, HEIGHT = 460, 320
SERIES_COLOURS = {"inst": "#e4572e", "avg": "#4c9be8"}
"""Color of the instantaneous and of the average usage in every chart."""
ESTIMATOR_COLOURS = {
    "average": "#4c78a8",
    "percentile": "#72b7b2",
    "cantelli": "#b279a2",
    "gpa": "#e45756",
    "gpa-calibrated": "#ff9da6",
    "convolution": "#54a24b",
    "saddlepoint": "#eeca3b",
    "chernoff": "#9d755d",
    "bernstein": "#bab0ac",
    "hoeffding": "#888888",
    "cornish-fisher": "#f58518",
    "request": "#222222",
}
"""One color per estimator in every chart."""
OVERFLOW = "overflow probability (q)"
TIPS = ("label", "packer", "data", "capacity", "clairvoyance", "m_abs", "m", "q", "n_unplaceable")


def from_data(name: str, title: str | None = "auto") -> charts.Channel:
    """Return an axis that need not begin at 0.

    Parameters
    ----------
    name
        Column of the rows.
    title
        Of the axis; by default that of the column.
    """
    return charts.axis(name, title, scale={"zero": False})


def with_floor(rows: Sequence[Row]) -> list[Row]:
    """Rows that a logarithmic axis can show: q of 0 becomes half an overflow."""
    return [row | {"shown_q": max(row["q"], 0.5 / max(row["trials"], 1))} for row in rows]


def overflow_chart(rows: Sequence[Row], title: str, **channels: Any) -> Any:
    """Draw mean machines against mean overflow, one point per cell, pale where no overflow was seen.

    Parameters
    ----------
    rows
        Summaries of cells.
    title
        Of the chart.
    channels
        Further channels of the points, such as ``shape``.
    """
    plot = charts.Plot(
        with_floor(rows),
        OUTCOMES,
        x=from_data("m", "machines ÷ lower bound (m)"),
        y=charts.probability_axis("shown_q", OVERFLOW),
        color=charts.palette("estimator", ESTIMATOR_COLOURS),
    )
    plot.add(charts.point(70), opacity=charts.when("datum.q > 0", 1, 0.35), tips=TIPS, **channels)
    return plot.add(charts.text(align="left", dx=7, fontSize=9), text="label").draw(title, width=WIDTH, height=HEIGHT)


def spread_chart(result: pa.Table, column: str, title: str) -> Any:
    """Draw mean and extremes over the instances of ``m`` or ``q``, one line per cell.

    Parameters
    ----------
    result
        Outcomes of the common grid.
    column
        ``m`` or ``q``.
    title
        Of the axis.
    """
    rows = []
    for row in with_floor(summaries(result)):
        # The floor of `with_floor`, so that both ends of a rule lie on the same axis as its point.
        least = 0.5 / max(row["trials"], 1) if column == "q" else 0.0
        ends = {end: max(row[f"{column}_{end}"], least) for end in ("low", "high")}
        rows.append(row | ends | {"middle": row["shown_q"] if column == "q" else row["m"]})
    # q spans powers of ten, m stays between 1 and a few.
    scale = charts.probability_axis if column == "q" else from_data
    plot = charts.Plot(rows, y=charts.axis("label", None, order="data"), color="packer", yOffset="packer")
    plot.add(charts.rule(), x=scale("low", title), x2="high").add(charts.point(), x=scale("middle", title))
    return plot.draw(width=300, height=HEIGHT)


def overflow_lines(rows: Sequence[Row], x: str, title: str) -> Any:
    """Draw q against one axis of the experiment, one line per estimator and parameter.

    Parameters
    ----------
    rows
        Summaries of cells.
    x
        Column of the axis, drawn as logarithms.
    title
        Of the chart.
    """
    plot = charts.Plot(
        with_floor(rows), OUTCOMES, x=charts.log_axis(x, least=None), y=charts.probability_axis("shown_q", OVERFLOW)
    )
    # Color per parameter, dashes per estimator: sixteen colors alone could not be told apart.
    label = charts.axis("label", "estimator")
    plot.add(charts.line(), color=label, strokeDash="estimator", tips=TIPS).add(charts.point(), color=label, tips=TIPS)
    return plot.draw(title, width=WIDTH, height=HEIGHT)


def box_plot(rows: pa.Table | list[Row], title: str, y: str, **channels: Any) -> Any:
    """Draw boxes from the columns p5, p25, median, p75, p95: whiskers are the outer percentiles.

    Parameters
    ----------
    rows
        One row per box.
    title
        Of the chart.
    y
        Title of the axis of values.
    channels
        Further channels, such as ``x`` and ``color``.
    """
    plot = charts.Plot(rows, **channels)
    plot.add(charts.rule(), y=charts.axis("p5", y), y2="p95")
    plot.add(charts.bar(size=12, opacity=0.6), y=charts.axis("p25", y), y2="p75")
    return plot.add(charts.tick(size=12, color="black"), y=charts.axis("median", y)).draw(title)
