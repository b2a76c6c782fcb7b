"""Where the names of dots stand in a chart of machines against overflow."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from borgtrace.colocation.experiments.shared.answers import Row


class NamePlacement(NamedTuple):
    """How a name stands beside its dots: alignment, and distance in pixels."""

    align: Literal["left", "center", "right"]
    dx: int
    dy: int


DOTS_WIDTH = 560
DOTS_HEIGHT = 340
"""Size of Fig. 8, in pixels."""
LETTER = 6
"""Width of a letter of its names."""
SIDES = {
    "left": NamePlacement("right", -8, 0),
    "right": NamePlacement("left", 8, 0),
    "below": NamePlacement("right", -4, 11),
    "above": NamePlacement("center", 0, -11),
}


def name_of_dots(dots: list[Row]) -> Row:
    """Return a row with the parameter of some dots, the side on which it is written, and where that side ends.

    Parameters
    ----------
    dots
        Outcomes of one way of packing, one for each instance.
    """
    m = sorted(row["m"] for row in dots)
    q = sorted(row["shown_q"] for row in dots)
    middle = len(dots) // 2
    first = dots[0]
    # In the corner where nearly all draws overflow the axes leave room on the right alone.
    if q[-1] > 0.5:
        side, x, y = "right", m[-1], q[middle]
    elif first["estimator"] == "percentile":
        side, x, y = "above", m[middle], q[-1]
    elif first["estimator"] == "gpa":
        side, x, y = "below", m[0], q[middle]
    else:
        side, x, y = "left", m[0], q[middle]
    return first | {
        "name": f"{first['parameter']:g}",
        "side": side,
        "m": x,
        "shown_q": y,
    }


class NameBox(NamedTuple):
    """Where a name is written: its middle, and half its width, in pixels."""

    x: float
    y: float
    half_width: float

    def touches(self, other: NameBox) -> bool:
        """Whether two names would be written over each other."""
        is_near_in_x = abs(self.x - other.x) <= self.half_width + other.half_width
        return is_near_in_x and abs(self.y - other.y) <= 2 * LETTER


def without_overlaps(names: list[Row]) -> list[Row]:
    """Leave out names that would be written over another: in small cells parameters give equal packings.

    Parameters
    ----------
    names
        From :func:`name_of_dots`.
    """
    m = np.array([row["m"] for row in names])
    log_q = np.log10([row["shown_q"] for row in names])
    dots_x = np.interp(m, (m.min(), m.max()), (0, DOTS_WIDTH))
    dots_y = np.interp(log_q, (log_q.min(), log_q.max()), (0, -DOTS_HEIGHT))
    boxes: list[NameBox] = []
    kept_names = []
    for row, dot_x, dot_y in zip(names, dots_x, dots_y, strict=True):
        placement = SIDES[row["side"]]
        half_width = 0.5 * LETTER * len(row["name"])
        shift = {"left": half_width, "right": -half_width, "center": 0}[placement.align]
        box = NameBox(dot_x + placement.dx + shift, dot_y + placement.dy, half_width)
        if not any(box.touches(other) for other in boxes):
            boxes.append(box)
            kept_names.append(row)
    return kept_names
