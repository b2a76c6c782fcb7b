"""The charts that experiments share: machines against overflow, their spread, boxes of percentiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from borgtrace.colocation.experiments.shared.answers import Row
from borgtrace.colocation.options import PAPER_SCALE
from borgtrace.question import charts

if TYPE_CHECKING:
    import altair as alt

WIDTH = 460
HEIGHT = 320
OVERFLOW = "overflow probability (q)"
SEEN = "seen"
"""What a row says whose q is above 0."""
WHISKERS = "boxes: quartiles and median over the instances; whiskers: smallest and largest"
"""What the boxes of these charts show."""
TIPS = (
    "label",
    "packer",
    "data",
    "capacity",
    "fill",
    "clairvoyance",
    "m_abs",
    "m",
    "q",
    "seen",
    "n_unplaceable",
)
"""Fields of the tooltip of a packing."""


def with_floor(rows: Sequence[Row]) -> list[Row]:
    """Return rows that a logarithmic axis can show: q of 0 becomes half an overflow, and says "none in n draws"."""
    trials_without = sorted(row["trials"] for row in rows if row["q"] == 0)
    extremes = dict.fromkeys(trials_without[:1] + trials_without[-1:])
    unseen = " to ".join(f"{trials:,}" for trials in extremes)
    shown = []
    for row in rows:
        least_q = 0.5 / max(row["trials"], 1)
        seen = SEEN if row["q"] else f"none in {unseen} draws"
        shown.append(
            {
                **row,
                "shown_q": row["q"] or least_q,
                "seen": seen,
            }
        )
    return shown


def overflow_axis(field: str = "shown_q") -> alt.Y:
    """Return the y axis of overflow probabilities."""
    import altair as alt

    return alt.Y(f"{field}:Q", title=OVERFLOW, **charts.probability_scale())


def estimator_color(rows: Sequence[Row]) -> alt.Color:
    """Return the color channel of estimators, the same in every chart."""
    return charts.color(rows, "estimator", charts.ESTIMATOR_COLORS, title="estimator")


def overflow_marks(rows: Sequence[Row]) -> alt.Shape:
    """Return a channel of shapes: discs where overflows were seen, triangles pointing down where none was.

    Parameters
    ----------
    rows
        From :func:`with_floor`.
    """
    import altair as alt

    kinds = sorted({row["seen"] for row in rows}, key=lambda kind: kind != SEEN)
    shapes = ["circle" if kind == SEEN else "triangle-down" for kind in kinds]
    return alt.Shape(
        "seen:N",
        title="overflow",
        scale=alt.Scale(domain=kinds, range=shapes),
        legend=alt.Legend(labelLimit=320),
    )


def scale_of(result: pa.Table) -> str:
    """Return at which scale outcomes were measured, beside the paper's.

    Parameters
    ----------
    result
        Outcomes of the common grid.

    Examples
    --------
    >>> outcomes = {"instance": [0, 1], "n_tasks": [80, 80], "m_abs": [4, 5], "trials": [800, 1000]}
    >>> scale_of(pa.table({**outcomes, "clairvoyance": [1.0, 1.0]}))
    '2 instances of 80 tasks with 200 draws each (the paper: 50 of 1,000 with 10,000)'
    """
    rows = result.to_pylist()
    instances = len({row["instance"] for row in rows})
    tasks = max(row["n_tasks"] for row in rows)
    # What the estimators saw is not judged, except where they saw all.
    draws = max(row["trials"] // max(row["m_abs"], 1) for row in rows if row["clairvoyance"] == 1)
    paper = tuple(PAPER_SCALE[name] for name in ("instances", "size", "realizations"))
    note = (
        "the paper's scale"
        if (instances, tasks, draws) == paper
        else "the paper: 50 of 1,000 with 10,000"
    )
    return f"{instances} instances of {tasks:,} tasks with {draws:,} draws each ({note})"


def overflow_lines(rows: Sequence[Row], x: alt.X, *, width: int = WIDTH) -> alt.LayerChart:
    """Draw q against one axis of the experiment, one line per estimator and parameter.

    Parameters
    ----------
    rows
        Summaries of cells.
    x
        The axis.
    width
        Of the chart, in pixels.
    """
    import altair as alt

    shown = with_floor(rows)
    # Color per parameter, dashes per estimator: sixteen colors alone could not be told apart.
    base = charts.base(shown, width=width, height=HEIGHT).encode(
        x=x,
        y=overflow_axis(),
        color=alt.Color("label:N", title="estimator"),
        tooltip=charts.tooltips(shown, *TIPS),
    )
    lines = base.mark_line().encode(strokeDash=alt.StrokeDash("estimator:N", legend=None))
    points = base.mark_point(filled=True).encode(shape=overflow_marks(shown))
    return alt.layer(lines, points)
