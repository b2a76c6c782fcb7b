"""How many machines does each estimator need, and how often do they overflow?

Fig. 7, 8 and 9 of Janus & Rzadca (SoCC'17): random instances of 1,000 tasks, machines of capacity 1, all realizations
seen (O = E = R), First Fit and Best Fit, rebalanced. m is machines ÷ ⌈Σ mean usage⌉; q the share of (machine,
realization) pairs whose tasks exceed the machine. A task that fails the test alone is unplaceable: it is counted
separately, and left out of m's lower bound.

Reference: Janus & Rzadca, SoCC'17, Fig. 7–9.
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from borgtrace.colocation import Cell
from borgtrace.colocation.experiments._answers import Row, grouped, rows_where
from borgtrace.colocation.experiments._charts import (
    ESTIMATOR_COLOURS,
    HEIGHT,
    OVERFLOW,
    WHISKERS,
    from_data,
    overflow_marks,
    scale_of,
    with_floor,
)
from borgtrace.colocation.experiments._outcomes import (
    OUTCOMES,
    grid_experiment,
    paper_estimators,
    rare,
)
from borgtrace.question.charts import (
    Chart,
    Plot,
    axis,
    box,
    palette,
    point,
    probability_axis,
    rule,
    text,
    titled,
)


def cells() -> list[Cell]:
    """Every estimator of the paper, with both packers."""
    return [Cell(e, packer=p) for e in paper_estimators() for p in ("best-fit", "first-fit")]


_WIDTH, _HEIGHT, _LETTER = 560, 340, 6
"""Of Fig. 8, and of a letter of its names, in pixels."""
_SIDES = {
    "left": ("right", -8, 0),
    "right": ("left", 8, 0),
    "below": ("right", -4, 11),
    "above": ("center", 0, -11),
}
"""How a name stands beside its dots: alignment and distance, in pixels."""


def plot(result: pa.Table) -> Chart:
    """Draw machines per estimator, machines against overflow, and GPA's relative excess over its target, Best Fit."""
    # Here, because only drawing needs it: what computes stays free of drawing libraries.
    import altair as alt

    best = rows_where(result, packer="best-fit")
    rows = [row | {"label": f"{row['estimator']} {row['parameter']:g}"} for row in best]
    first = alt.hconcat(_machines(rows), _excess(rows))
    drawn = alt.vconcat(first, _overflows(rows)).resolve_scale(
        color="independent", shape="independent"
    )
    return titled(
        drawn,
        "Machines and overflow by estimator, Best Fit, rebalanced (Fig. 7 to 9)",
        scale_of(result),
        WHISKERS,
    )


def _machines(rows: list[Row]) -> Chart:
    """Fig. 7: a box over the instances per estimator."""
    colour = palette("estimator", ESTIMATOR_COLOURS)
    plot = Plot(
        rows,
        OUTCOMES,
        x=from_data("m_abs", "machines in use"),
        y=axis("label", type="N", order="data"),
    )
    plot.add(box(size=11), color=replace(colour, options={"legend": None}))
    return plot.draw("Machines in use (Fig. 7)", width=330, height=None)


def _excess(rows: list[Row]) -> Chart:
    """Fig. 9: (q − ρ) ÷ ρ of GPA, a box over the instances per target."""
    gpa = [
        row | {"excess": row["q"] / row["parameter"] - 1}
        for row in rows
        if row["estimator"] == "gpa"
    ]
    excess = axis("excess", "(q − ρ) ÷ ρ of gpa", axis={"format": "+%"})
    plot = Plot(
        gpa,
        x=axis("parameter", "target (ρ)", type="O", order="descending", axis={"labelAngle": 0}),
        y=excess,
    )
    return (
        plot.add(rule(dashed=True), y=0)
        .add(box(size=20, color=ESTIMATOR_COLOURS["gpa"]))
        .draw("Overflow over its target (Fig. 9)", width=220, height=HEIGHT)
    )


def _overflows(rows: list[Row]) -> Chart:
    """Fig. 8: a dot per instance of GPA, average and percentile."""
    shown = with_floor(
        [row for row in rows if row["estimator"] in ("gpa", "average", "percentile")]
    )
    x = from_data("m", "machines ÷ lower bound (m)")
    plot = Plot(shown, OUTCOMES, x=x, y=probability_axis("shown_q", OVERFLOW))
    plot.add(
        point(28, opacity=0.6),
        color=palette("estimator", ESTIMATOR_COLOURS),
        shape=overflow_marks(shown),
    )
    # Pairs of estimators lie on each other (percentile 70, average 1.25 and gpa .1): each has a side of its own.
    names = _apart([_name(group) for _, group in grouped(shown, "label")])
    for side, (align, dx, dy) in _SIDES.items():
        beside = [row for row in names if row["side"] == side]
        plot.add(text(align=align, dx=dx, dy=dy, fontSize=10), data=beside, text="name")
    return plot.draw(
        "Machines against overflow: a dot per instance, named by the parameter (Fig. 8)",
        width=_WIDTH,
        height=_HEIGHT,
    )


def _apart(names: list[Row]) -> list[Row]:
    """Leave out names that would be written over another: in small cells parameters give equal packings."""
    m, q = np.array([row["m"] for row in names]), np.log10([row["shown_q"] for row in names])
    places, heights = (
        np.interp(m, (m.min(), m.max()), (0, _WIDTH)),
        np.interp(q, (q.min(), q.max()), (0, -_HEIGHT)),
    )
    kept: list[tuple[float, float, float, Row]] = []
    for row, left, top in zip(names, places, heights, strict=True):
        align, dx, dy = _SIDES[row["side"]]
        half = 0.5 * _LETTER * len(row["name"])
        x, y = left + dx + {"left": half, "right": -half, "center": 0}[align], top + dy
        if all(
            abs(x - at) > half + width or abs(y - height) > 2 * _LETTER
            for at, height, width, _ in kept
        ):
            kept.append((x, y, half, row))
    return [row for *_, row in kept]


def _name(dots: list[Row]) -> Row:
    """A parameter, on which side of its dots it is written, and the place of that edge."""
    m, q = (sorted(row[name] for row in dots) for name in ("m", "shown_q"))
    first, middle = dots[0], len(dots) // 2
    side = {"gpa": "below", "percentile": "above"}.get(first["estimator"], "left")
    # In the corner where nearly all draws overflow the axes leave room on this side alone.
    side = "right" if q[-1] > 0.5 else side
    x, y = {"above": (m[middle], q[-1]), "right": (m[-1], q[middle])}.get(side, (m[0], q[middle]))
    return first | {"name": f"{first['parameter']:g}", "side": side, "m": x, "shown_q": y}


EXPERIMENT = grid_experiment(cells, plot, 320, (rare,))
