"""The charts that experiments share: machines against overflow, their spread, boxes of percentiles."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from borgtrace.colocation.experiments._answers import Row
from borgtrace.colocation.experiments._outcomes import OUTCOMES
from borgtrace.colocation.study import PAPER_SCALE
from borgtrace.question import charts
from borgtrace.question.charts.channels import LOOKS

WIDTH, HEIGHT = 460, 320
ESTIMATOR_COLOURS = LOOKS["estimators"]
"""One color per estimator in every chart."""
OVERFLOW = "overflow probability (q)"
SEEN = "seen"
"""What a row says whose q is above 0."""
WHISKERS = "boxes: quartiles and median over the instances; whiskers: smallest and largest"
"""What the boxes of :func:`~borgtrace.question.charts.box` show."""
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
    """Rows that a logarithmic axis can show: q of 0 becomes half an overflow, and says "none in n draws"."""
    none = sorted(row["trials"] for row in rows if row["q"] == 0)
    unseen = " to ".join(f"{n:,}" for n in dict.fromkeys(none[:1] + none[-1:]))
    return [
        row
        | {
            "shown_q": row["q"] or 0.5 / max(row["trials"], 1),
            "seen": SEEN if row["q"] else f"none in {unseen} draws",
        }
        for row in rows
    ]


def overflow_marks(rows: Sequence[Row]) -> charts.Channel:
    """Return a channel of shapes: discs where overflows were seen, triangles pointing down where none was.

    Parameters
    ----------
    rows
        From :func:`with_floor`.
    """
    kinds = sorted({row["seen"] for row in rows}, key=lambda kind: kind != SEEN)
    shapes = ["circle" if kind == SEEN else "triangle-down" for kind in kinds]
    scale = {"domain": kinds, "range": shapes}
    return charts.axis("seen", "overflow", type="N", scale=scale, legend={"labelLimit": 320})


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
    instances, tasks = len({row["instance"] for row in rows}), max(row["n_tasks"] for row in rows)
    # What the estimators saw is not judged, except where they saw all.
    draws = max(row["trials"] // max(row["m_abs"], 1) for row in rows if row["clairvoyance"] == 1)
    paper = tuple(PAPER_SCALE[name] for name in ("instances", "size", "realizations"))
    note = (
        "the paper's scale"
        if (instances, tasks, draws) == paper
        else "the paper: 50 of 1,000 with 10,000"
    )
    return f"{instances} instances of {tasks:,} tasks with {draws:,} draws each ({note})"


def overflow_lines(rows: Sequence[Row], x: charts.Channel, **facets: Any) -> Any:
    """Draw q against one axis of the experiment, one line per estimator and parameter.

    Parameters
    ----------
    rows
        Summaries of cells.
    x
        The axis.
    facets
        Fields of the panels, as :meth:`~borgtrace.question.charts.Plot.facet` takes them; one panel where empty.
    """
    shown = with_floor(rows)
    plot = charts.Plot(shown, OUTCOMES, x=x, y=charts.probability_axis("shown_q", OVERFLOW))
    # Color per parameter, dashes per estimator: sixteen colors alone could not be told apart.
    label = charts.axis("label", "estimator")
    plot.add(
        charts.line(), color=label, strokeDash=charts.axis("estimator", legend=None), tips=TIPS
    )
    plot.add(charts.point(), color=label, shape=overflow_marks(shown), tips=TIPS)
    return plot.facet(**facets).draw(width=WIDTH // (2 if facets else 1), height=HEIGHT)
