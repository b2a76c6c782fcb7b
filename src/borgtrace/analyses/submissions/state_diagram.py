"""Transitions as Fig. 1 of Zhu et al. draws them: pending, running and dead, and arrows between them.

Updates do not change the state of a task and are left out; what follows an update counts from the state the task is in.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from borgtrace.question import Row, charts

if TYPE_CHECKING:
    import altair as alt

WIDTH = 340
"""Of the diagram: a phone has no more room."""
HEIGHT = 400
LINE_HEIGHT = 14
RED = "#d62728"
STATE_AFTER = {
    None: "new",
    "SUBMIT": "pending",
    "QUEUE": "pending",
    "ENABLE": "pending",
    "UPDATE_PENDING": "pending",
    "SCHEDULE": "running",
    "UPDATE_RUNNING": "running",
    "EVICT": "dead",
    "FAIL": "dead",
    "FINISH": "dead",
    "KILL": "dead",
    "LOST": "dead",
}
"""State of a task after an event; None stands for "no event yet"."""
UPDATES = ("UPDATE_PENDING", "UPDATE_RUNNING")


class Circle(NamedTuple):
    """Where a state stands, in pixels from the lower left corner, and how large it is."""

    x: float
    y: float
    radius: float


class Arrow(NamedTuple):
    """An arrow between two states, and where its events are written."""

    begin: str
    end: str
    side: float
    """Pixels by which it is moved to its right, so that two arrows between the same states lie apart."""
    text_x: float
    text_y: float
    align: str


CIRCLES = {
    "new": Circle(45, 382, 16),
    "pending": Circle(45, 270, 28),
    "running": Circle(295, 270, 28),
    "dead": Circle(170, 50, 28),
}
ARROWS = [
    Arrow("new", "pending", side=0, text_x=58, text_y=335, align="left"),
    Arrow("pending", "running", side=0, text_x=170, text_y=306, align="center"),
    Arrow("running", "dead", side=0, text_x=250, text_y=150, align="left"),
    Arrow("pending", "dead", side=8, text_x=82, text_y=140, align="right"),
    Arrow("dead", "pending", side=8, text_x=104, text_y=212, align="left"),
]


def transitions_of_states(rows: Iterable[Row]) -> list[Row]:
    """Add up the transitions between states, by the event that makes them.

    Parameters
    ----------
    rows
        Pairs of neighboring events: ``from_type``, ``to_type``, ``n``, ``is_legal_zhu``.

    Examples
    --------
    >>> begins = {"from_type": None, "to_type": "SUBMIT", "n": 5, "is_legal_zhu": True}
    >>> killed = {"from_type": "SUBMIT", "to_type": "KILL", "n": 2, "is_legal_zhu": True}
    >>> killed_later = {**killed, "from_type": "UPDATE_PENDING", "n": 1}
    >>> for row in transitions_of_states([begins, killed, killed_later]):
    ...     print(row["begin"], row["end"], row["event"], row["n"])
    new pending SUBMIT 5
    pending dead KILL 3
    """
    by_arrow: dict[tuple[str, str, str], Row] = {}
    for row in rows:
        event = row["to_type"]
        if event in UPDATES:
            continue
        begin, end = STATE_AFTER[row["from_type"]], STATE_AFTER[event]
        total = by_arrow.setdefault(
            (begin, end, event),
            {"begin": begin, "end": end, "event": event, "n": 0, "is_published": True},
        )
        total["n"] += row["n"]
        total["is_published"] = total["is_published"] and row["is_legal_zhu"]
    return sorted(by_arrow.values(), key=lambda total: (total["begin"], total["end"], -total["n"]))


def state_diagram(rows: Iterable[Row]) -> alt.LayerChart:
    """Draw the states and the arrows of the figure; below it, what the figure does not have.

    Parameters
    ----------
    rows
        The answer of ``transitions``.
    """
    import altair as alt

    totals = transitions_of_states(rows)
    drawn_pairs = {(arrow.begin, arrow.end) for arrow in ARROWS}
    elsewhere = [total for total in totals if (total["begin"], total["end"]) not in drawn_pairs]
    notes = [
        f"{total['begin']} → {total['end']} by {total['event']}: {total['n']:,}"
        for total in elsewhere
    ]
    if notes:
        notes.insert(0, "not in the figure:")
    title = charts.subtitled("States of tasks (Zhu et al., Fig. 1; updates left out)", *notes)
    diagram = alt.layer(*arrows(), *circles(), events_beside_arrows(totals))
    return diagram.properties(
        title=title, width=WIDTH, height=HEIGHT, view=alt.ViewBackground(stroke=None)
    )


def place(length: int) -> dict[str, Any]:
    """Return scale and axis of a place in pixels."""
    import altair as alt

    return {"scale": alt.Scale(domain=[0, length], nice=False), "axis": None}


def circles() -> list[alt.Chart]:
    """Draw the states as circles with their names."""
    import altair as alt

    rows = [{"state": state, **circle._asdict()} for state, circle in CIRCLES.items()]
    for row in rows:
        row["area"] = float(np.pi * row["radius"] ** 2)
    base = charts.base(rows, width=WIDTH, height=HEIGHT).encode(
        x=alt.X("x:Q", **place(WIDTH)),
        y=alt.Y("y:Q", **place(HEIGHT)),
    )
    size = alt.Size("area:Q", scale=None, legend=None)
    discs = base.mark_point(filled=True, color="white", stroke="#4c78a8", opacity=1)
    return [discs.encode(size=size), base.mark_text(color="#222").encode(text="state:N")]


def arrows() -> list[alt.Chart]:
    """Draw a line with a head for each arrow of the figure."""
    import altair as alt

    rows = [ends_of_arrow(arrow) for arrow in ARROWS]
    base = charts.base(rows, width=WIDTH, height=HEIGHT)
    x_of, y_of = place(WIDTH), place(HEIGHT)
    lines = base.mark_rule(color="#555").encode(
        x=alt.X("begin_x:Q", **x_of),
        y=alt.Y("begin_y:Q", **y_of),
        x2="end_x:Q",
        y2="end_y:Q",
    )
    heads = base.mark_point(shape="triangle", filled=True, color="#555", size=90, opacity=1).encode(
        x=alt.X("end_x:Q", **x_of),
        y=alt.Y("end_y:Q", **y_of),
        angle=alt.Angle("clockwise_degrees:Q", scale=None),
    )
    return [lines, heads]


def ends_of_arrow(arrow: Arrow) -> Row:
    """Return where an arrow begins and ends, at the edges of its circles, and how its head is turned.

    Parameters
    ----------
    arrow
        One of the figure's.
    """
    begin, end = CIRCLES[arrow.begin], CIRCLES[arrow.end]
    across = np.array([end.x - begin.x, end.y - begin.y])
    direction = across / np.hypot(*across)
    to_its_right = arrow.side * np.array([direction[1], -direction[0]])
    begin_x, begin_y = np.array(begin[:2]) + direction * begin.radius + to_its_right
    # The head is drawn around its middle: 5 pixels before the circle, its tip touches it.
    end_x, end_y = np.array(end[:2]) - direction * (end.radius + 5) + to_its_right
    return {
        "begin_x": float(begin_x),
        "begin_y": float(begin_y),
        "end_x": float(end_x),
        "end_y": float(end_y),
        # Vega's triangle points up, and turns clockwise.
        "clockwise_degrees": float(np.degrees(np.arctan2(direction[0], direction[1]))),
    }


def events_beside_arrows(totals: list[Row]) -> alt.LayerChart:
    """Write the events of each arrow with their numbers beside it, in red those that the figure does not have.

    Parameters
    ----------
    totals
        From :func:`transitions_of_states`.
    """
    import altair as alt

    published: list[Row] = []
    unpublished: list[Row] = []
    for arrow in ARROWS:
        events = [
            total for total in totals if (total["begin"], total["end"]) == (arrow.begin, arrow.end)
        ]
        for number, total in enumerate(events):
            line = {
                "x": arrow.text_x,
                "y": arrow.text_y - LINE_HEIGHT * number,
                "line": f"{total['event']} {total['n']:,}",
                "align": arrow.align,
            }
            (published if total["is_published"] else unpublished).append(line)
    layers = []
    for align in ("left", "center", "right"):
        layers.append(lines_of_text(published, align))
        layers.append(lines_of_text(unpublished, align, color=RED))
    return alt.layer(*layers)


def lines_of_text(lines: list[Row], align: str, **style: str) -> alt.Chart:
    """Write the lines that are aligned in one way."""
    import altair as alt

    rows = [line for line in lines if line["align"] == align]
    return (
        charts.base(rows, width=WIDTH, height=HEIGHT)
        .mark_text(align=align, **style)
        .encode(
            x=alt.X("x:Q", **place(WIDTH)),
            y=alt.Y("y:Q", **place(HEIGHT)),
            text="line:N",
        )
    )
