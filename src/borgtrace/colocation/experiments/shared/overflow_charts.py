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

HEIGHT = 300
BOX_WIDTH = 8
"""Width of a box, in pixels."""
OVERFLOW = "overflow probability (q)"
SEEN = "seen"
"""What a row says whose q is above 0."""
WHISKERS = (
    "boxes: quartiles and median over the instances; "
    "whiskers: the furthest within 1.5 quartile ranges; dots: beyond"
)
"""What the boxes of these charts show."""
FLOOR = "q of 0 is drawn at half an overflow in the draws of its instance"
"""What boxes of q show where nothing overflowed."""


def with_floor(rows: Sequence[Row]) -> list[Row]:
    """Return rows that a logarithmic axis can show: q of 0 becomes half an overflow, and says "none in n draws".

    Parameters
    ----------
    rows
        Outcomes of the common grid.
    """
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


def labeled(rows: Sequence[Row]) -> list[Row]:
    """Return rows with their way of estimating as ``label``, and the rank of its parameter among the estimator's.

    Parameters
    ----------
    rows
        Outcomes of the common grid.

    Examples
    --------
    >>> rows = labeled([{"estimator": "gpa", "parameter": 0.1}, {"estimator": "gpa", "parameter": 0.01}])
    >>> [(row["label"], row["rank"]) for row in rows]
    [('gpa 0.1', 1), ('gpa 0.01', 0)]
    """
    parameters: dict[str, set[float]] = {}
    for row in rows:
        parameters.setdefault(row["estimator"], set()).add(row["parameter"])
    rows_with_labels = []
    for row in rows:
        label = f"{row['estimator']} {row['parameter']:g}"
        rank = sorted(parameters[row["estimator"]]).index(row["parameter"])
        rows_with_labels.append(row | {"label": label, "rank": rank})
    return rows_with_labels


def overflow_boxes(base: alt.Chart, x: alt.X, series: alt.Color) -> alt.LayerChart:
    """Draw a box of q over the instances for each place on the x axis and each parameter, and join their medians.

    Parameters
    ----------
    base
        Chart of outcomes from :func:`with_floor` and :func:`labeled`.
    x
        The axis, of an ordinal field.
    series
        The color.
    """
    import altair as alt

    # Side by side, the parameters of an estimator in their order.
    apart = base.encode(x=x, color=series, xOffset="rank:O")
    medians = apart.mark_line(strokeWidth=1.5).encode(
        y=alt.Y("median(shown_q):Q", title=OVERFLOW, **charts.probability_scale()),
        detail="label:N",
    )
    boxes = apart.mark_boxplot(size=BOX_WIDTH, outliers={"size": 8}).encode(y=overflow_axis())
    return alt.layer(medians, boxes)
