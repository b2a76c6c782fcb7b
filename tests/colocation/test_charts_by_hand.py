"""What charts draw of a few rows: where names stand, sizes and channels of marks, panels."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pyarrow as pa
import pytest

from borgtrace.colocation.experiments.packing import packing_base
from borgtrace.colocation.experiments.shared import dot_names, overflow_charts
from borgtrace.colocation.experiments.shared.answers import spread
from borgtrace.colocation.experiments.usage import relative_difference
from tests.colocation.test_figures import base, marks
from tests.rows import chosen_columns

Spec = dict[str, Any]


def name(
    text: str,
    m: float,
    q: float,
    side: str = "above",
) -> dict[str, Any]:
    return {
        "name": text,
        "m": m,
        "shown_q": q,
        "side": side,
    }


# The corners of a chart of 560 × 340 pixels: m is a pixel, and a power of ten of q is ten.
CORNERS = [name("low", 0, 1e-34), name("high", 560, 1.0)]


@pytest.mark.parametrize(
    ("first", "second", "touch"),
    [
        # A letter is six pixels wide: halves of one and of two letters are 3 + 6.
        (name("a", 100, 1e-10), name("bb", 109, 1e-10), True),
        (name("a", 100, 1e-10), name("bb", 109.5, 1e-10), False),
        (name("a", 100, 1e-10), name("bb", 91, 1e-10), True),
        (name("a", 100, 1e-10), name("bb", 90.5, 1e-10), False),
        # A name of two letters on the left ends 8 pixels before its dots: its middle is at 86.
        (name("aa", 100, 1e-10, "left"), name("bb", 98, 10**-11.1), True),
        (name("aa", 100, 1e-10, "left"), name("bb", 98.5, 10**-11.1), False),
        (name("aa", 100, 1e-10, "left"), name("bb", 74, 10**-11.1), True),
        (name("aa", 100, 1e-10, "left"), name("bb", 73.5, 10**-11.1), False),
        # One on the right begins 8 pixels behind them: its middle is at 114.
        (name("aa", 100, 1e-10, "right"), name("bb", 126, 10**-11.1), True),
        (name("aa", 100, 1e-10, "right"), name("bb", 126.5, 10**-11.1), False),
        # One below ends 4 pixels before them, at 90, and stands 11 lower, as one above does on dots 22 lower.
        (name("aa", 100, 1e-10, "below"), name("bb", 102, 10**-12.2), True),
        (name("aa", 100, 1e-10, "below"), name("bb", 102.5, 10**-12.2), False),
        # Below and above are 22 pixels apart, and with dots of a tenth of the q 12: two letters' heights.
        (name("a", 100, 1e-10, "below"), name("b", 93, 1e-11), True),
        (name("a", 100, 1e-10, "below"), name("b", 93, 0.9e-11), True),
        (name("a", 100, 1e-10, "below"), name("b", 93, 1.001e-11), False),
        (name("a", 100, 1e-10), name("b", 100, 1e-10), True),
        (name("a", 100, 1e-10), name("b", 100, 1e-13), False),
    ],
)
def test_a_name_is_left_out_where_it_would_touch_one_before(
    first: dict[str, Any], second: dict[str, Any], touch: bool
) -> None:
    names = dot_names.without_overlaps([*CORNERS, first, second])
    assert [row["name"] for row in names] == [
        "low",
        "high",
        first["name"],
        *([] if touch else [second["name"]]),
    ]
    # Whether it touches the first or any later one.
    assert (
        len(dot_names.without_overlaps([*CORNERS, first, name("c", 300, 1e-20), second]))
        == 5 - touch
    )


def test_what_is_left_out_hides_nobody() -> None:
    names = [
        name("aa", 100, 1e-10),
        name("bb", 111, 1e-10),
        name("cc", 122.5, 1e-10),
    ]
    assert [row["name"] for row in dot_names.without_overlaps([*CORNERS, *names])] == [
        "low",
        "high",
        "aa",
        "cc",
    ]


def dots(estimator: str, q: list[float]) -> list[dict[str, Any]]:
    return [
        {
            "instance": k,
            "estimator": estimator,
            "parameter": 0.25,
            "m": m,
            "shown_q": each,
        }
        for k, (m, each) in enumerate(zip((1.5, 1.25, 2.0, 3.0), q, strict=False))
    ]


@pytest.mark.parametrize(
    ("estimator", "q", "side", "m", "shown_q"),
    [
        # Sorted, m is 1.25, 1.5, 2 and q .1, .2, .3.
        ("gpa", [0.3, 0.1, 0.2], "below", 1.25, 0.2),
        ("average", [0.3, 0.1, 0.2], "left", 1.25, 0.2),
        ("percentile", [0.3, 0.1, 0.2], "above", 1.5, 0.3),
        ("percentile", [0.5, 0.1, 0.2], "above", 1.5, 0.5),
        # Above a half, where the axes leave room on the right alone.
        ("percentile", [0.51, 0.1, 0.2], "right", 2.0, 0.2),
        ("gpa", [0.1, 0.9, 0.2], "right", 2.0, 0.2),
        # Of four the third.
        ("gpa", [0.3, 0.1, 0.2, 0.4], "below", 1.25, 0.3),
        ("percentile", [0.3, 0.1, 0.2, 0.4], "above", 2.0, 0.4),
    ],
)
def test_which_side_of_its_dots_a_name_is_written_on(
    estimator: str,
    q: list[float],
    side: str,
    m: float,
    shown_q: float,
) -> None:
    name_row = dot_names.name_of_dots(dots(estimator, q))
    assert name_row == {
        "instance": 0,
        "estimator": estimator,
        "parameter": 0.25,
        "name": "0.25",
        "side": side,
        "m": m,
        "shown_q": shown_q,
    }


def mark(layer: Spec, *wanted: str) -> tuple[Any, ...]:
    return (layer["mark"]["type"], *(layer["mark"].get(name) for name in wanted))


def test_sizes_and_marks_of_figures_7_to_9() -> None:
    rows = overflow_charts.labeled(base().to_pylist())
    for field, names in (("m_abs", True), ("m", False)):
        panel = packing_base.machines_by_estimator(rows, field, "machines", names=names)
        (boxes,) = marks(machines := panel.to_dict())
        assert machines["title"] == "Machines (Fig. 7)"
        assert machines["width"] == 210
        # No extent of whiskers is that of Tukey: 1.5 ranges of the quartiles.
        assert mark(boxes, "size", "extent") == ("boxplot", 11, None)
        assert boxes["encoding"]["color"]["legend"] is None
        assert boxes["encoding"]["x"]["field"] == field
        assert boxes["encoding"]["x"]["scale"] == {"zero": False}
        # Both panels list the estimators in one order, whichever of them have dots beyond their whiskers.
        labels = ["gpa 0.1", "gpa 0.001", "average 1", "percentile 99", "cantelli 1"]
        assert boxes["encoding"]["y"]["sort"] == labels
        assert boxes["encoding"]["y"]["axis"]["labels"] is names
    line, box = marks(excess := packing_base.excess_over_target(rows).to_dict())
    assert excess["width"] == 180
    assert excess["height"] == 300
    assert mark(line, "strokeDash") == ("rule", [5, 3])
    assert line["encoding"]["y"]["datum"] == 0
    assert mark(box, "size") == ("boxplot", 20)
    assert box["encoding"]["x"]["axis"] == {"labelAngle": 0}
    assert box["encoding"]["x"]["sort"] == "descending"
    layers = marks(overflows := packing_base.machines_against_overflow(rows).to_dict())
    assert overflows["width"] == 560
    assert overflows["height"] == 340
    assert [
        mark(layer, "align", "dx", "dy", "fontSize", "size", "opacity", "filled")
        for layer in layers
    ] == [
        ("point", None, None, None, None, 28, 0.6, True),
        *(
            ("text", *place, 10, None, None, None)
            for place in (("right", -8, 0), ("left", 8, 0), ("right", -4, 11), ("center", 0, -11))
        ),
    ]
    assert {layer["encoding"]["text"]["field"] for layer in layers[1:]} == {"name"}
    # Each is written from its own rows: gpa below its dots, others on the left, percentiles above.
    sides = [{row["side"] for row in layer["data"]["values"]} for layer in layers[1:]]
    assert sides == [{"left"}, set(), {"below"}, {"above"}]


def test_a_box_for_each_parameter_beside_the_other_and_a_line_between_medians() -> None:
    outcomes = [
        {"estimator": "gpa", "parameter": 0.1, "q": 0.01, "trials": 2_000},
        {"estimator": "gpa", "parameter": 0.01, "q": 0.0, "trials": 2_000},
        {"estimator": "average", "parameter": 1.25, "q": 0.2, "trials": 2_000},
    ]
    rows = overflow_charts.labeled(overflow_charts.with_floor(outcomes))
    # Ranks run from 0 within each estimator, so that its boxes stand around their place on the axis.
    assert [(row["label"], row["rank"]) for row in rows] == [
        ("gpa 0.1", 1),
        ("gpa 0.01", 0),
        ("average 1.25", 0),
    ]
    assert rows[1]["shown_q"] == 0.5 / 2_000
    spec = overflow_charts.overflow_boxes(
        alt.Chart(alt.Data(values=rows)),
        alt.X("capacity:O"),
        alt.Color("label:N"),
    ).to_dict()
    line, box = marks(spec)
    assert [mark(line)[0], mark(box)[0]] == ["line", "boxplot"]
    assert line["encoding"]["y"]["aggregate"] == "median"
    assert line["encoding"]["detail"]["field"] == "label"
    for layer in (line, box):
        assert layer["encoding"]["xOffset"] == {"field": "rank", "type": "ordinal"}
        assert layer["encoding"]["y"]["field"] == "shown_q"
        assert layer["encoding"]["y"]["scale"] == {"type": "log"}


def test_whiskers_end_at_the_furthest_values_within_one_and_a_half_ranges() -> None:
    # Quartiles of 0 … 8 are 2 and 6: whiskers may reach from −4 to 12.
    nine = np.arange(9.0)
    assert spread(nine)["whisker_low"] == 0
    assert spread(nine)["whisker_high"] == 8
    eleven = np.array([-6.0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16])
    # Quartiles 2.5 and 7.5, range 5: −5 … 15.
    assert (spread(eleven)["p25"], spread(eleven)["p75"]) == (2.5, 7.5)
    assert spread(eleven)["whisker_low"] == 1
    assert spread(eleven)["whisker_high"] == 9
    # At exactly 1.5 ranges a value belongs to the whisker.
    eleven[0], eleven[-1] = -5, 15
    assert spread(eleven)["whisker_low"] == -5
    assert spread(eleven)["whisker_high"] == 15


def test_boxes_of_relative_differences_have_their_whiskers() -> None:
    row = {
        "n_samples": 10,
        "p5": 0.1,
        "p25": 0.2,
        "median": 0.3,
        "p75": 0.4,
        "p95": 0.5,
        "whisker_low": 0.0,
        "whisker_high": 0.6,
    }
    spec = relative_difference.QUESTION.chart(pa.Table.from_pylist([row])).to_dict()
    layers = marks(spec)
    assert [
        (
            layer["mark"]["type"],
            layer["encoding"]["y"]["field"],
            layer["encoding"].get("y2", {}).get("field"),
        )
        for layer in layers
    ] == [
        ("rule", "whisker_low", "whisker_high"),
        ("bar", "p25", "p75"),
        ("tick", "median", None),
    ]
    assert [mark(layer, "size", "opacity", "color")[1:] for layer in layers] == [
        (None, None, None),
        (12, 0.6, None),
        (12, None, "black"),
    ]
    assert {layer["encoding"]["y"]["title"] for layer in layers} == {
        "(mean average − mean of samples) / mean average"
    }
    # A heading stands over its notes.
    title = spec["title"]
    expected = {
        "text": "Error of a mean from few samples (Fig. 1)",
        "anchor": "start",
        "subtitle": [
            "boxes: quartiles and median over tasks; whiskers: the furthest within 1.5 quartile ranges"
        ],
    }
    assert chosen_columns(title, expected) == expected


def test_numbers_of_draws_that_saw_none_are_the_smallest_and_the_largest() -> None:
    rows = overflow_charts.with_floor(
        [{"q": 0.0, "trials": n} for n in (30_000, 2_000, 50_000, 40_000)]
    )
    assert {row["seen"] for row in rows} == {"none in 2,000 to 50,000 draws"}


def test_one_machine_has_a_draw_for_each_trial() -> None:
    one = {
        "instance": [0],
        "n_tasks": [5],
        "m_abs": [1],
        "trials": [300],
        "clairvoyance": [1.0],
    }
    assert overflow_charts.scale_of(pa.table(one)).startswith(
        "1 instances of 5 tasks with 300 draws each"
    )


def test_none_of_no_draws_is_half_an_overflow() -> None:
    # An instance without machines has no draws.
    (row,) = overflow_charts.with_floor([{"q": 0.0, "trials": 0}])
    assert row["shown_q"] == 0.5
    assert row["seen"] == "none in 0 draws"
    seen = overflow_charts.with_floor(
        [
            {"q": 0.25, "trials": 1},
            {"q": 0.0, "trials": 1},
        ]
    )
    assert [(row["shown_q"], row["seen"]) for row in seen] == [
        (0.25, "seen"),
        (0.5, "none in 1 draws"),
    ]


@pytest.mark.parametrize(
    ("instances", "tasks", "draws", "note"),
    [
        (50, 1_000, 10_000, "the paper's scale"),
        (49, 1_000, 10_000, "the paper: 50 of 1,000 with 10,000"),
        (50, 1_001, 10_000, "the paper: 50 of 1,000 with 10,000"),
        (50, 1_000, 9_999, "the paper: 50 of 1,000 with 10,000"),
    ],
)
def test_the_scale_beside_the_papers(
    instances: int,
    tasks: int,
    draws: int,
    note: str,
) -> None:
    # Two machines, of which each draw is a trial; an estimator that saw half is judged on the others.
    known = {"n_tasks": tasks, "m_abs": 2}
    rows = [
        known
        | {
            "instance": k,
            "trials": 2 * draws,
            "clairvoyance": 1.0,
        }
        for k in range(instances)
    ]
    rows += [
        known
        | {
            "instance": 0,
            "n_tasks": 1,
            "trials": 90_000,
            "clairvoyance": 0.5,
        }
    ]
    text = f"{instances} instances of {tasks:,} tasks with {draws:,} draws each ({note})"
    assert overflow_charts.scale_of(pa.Table.from_pylist(rows)) == text
