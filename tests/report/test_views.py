"""What is read off a chart's specification: its views, its words, its colors."""

from __future__ import annotations

from typing import Any

import pytest

from borgtrace.report.alttext import describe
from borgtrace.report.theme import themed
from borgtrace.report.views import unit_views


def flat(**spec: Any) -> list[tuple[str, bool, bool]]:
    return [(view.mark, view.is_first, view.is_layer) for view in unit_views(spec)]


def test_layers_share_a_view_and_parts_of_a_concatenation_do_not() -> None:
    layered = {"layer": [{"mark": "line"}, {"mark": {"type": "point"}}]}
    assert flat(hconcat=[{"mark": "bar"}, layered]) == [
        ("bar", True, False),
        ("line", True, True),
        ("point", False, True),
    ]
    # A layer within a layer is one of the same view.
    assert flat(layer=[{"mark": "bar"}, layered]) == [
        ("bar", True, True),
        ("line", False, True),
        ("point", False, True),
    ]


def test_data_and_encodings_come_from_the_views_around() -> None:
    inner = {"mark": "line", "encoding": {"y": {"field": "n"}, "color": {"value": "red"}}}
    spec = {
        "datasets": {"named": [{"t": 1}]},
        "data": {"name": "named"},
        "encoding": {"x": {"field": "t"}, "color": {"field": "who"}},
        "vconcat": [inner, {**inner, "data": {"values": [{"t": 2}]}}],
    }
    first, second = unit_views(spec)
    assert (first.fields("x", "y"), first.groups()) == (["t", "n"], [])
    assert (first.rows, second.rows) == ([{"t": 1}], [{"t": 2}])


@pytest.mark.parametrize(
    ("facet", "groups"),
    [
        ({"field": "a"}, ["who", "a"]),
        ({"row": {"field": "r"}, "column": {"field": "c"}}, ["who", "r", "c"]),
    ],
)
def test_facets_tell_lines_apart(facet: dict[str, Any], groups: list[str]) -> None:
    inner = {"mark": "line", "encoding": {"color": {"field": "who"}}}
    [view] = unit_views({"facet": facet, "spec": inner})
    assert view.groups() == groups


@pytest.mark.parametrize(
    ("part", "is_derived"),
    [
        ({}, False),
        ({"transform": [{"filter": "datum.n"}]}, True),
        ({"encoding": {"x": {"field": "t", "bin": True}}}, True),
        ({"encoding": {"x": {"field": "t", "timeUnit": "hours"}}}, True),
        ({"encoding": {"x": {"field": "t"}, "y": {"aggregate": "count"}}}, True),
        ({"encoding": {"x": {"field": "t"}, "tooltip": [{"field": "n"}]}}, False),
    ],
)
def test_rows_that_are_computed_with_before_they_are_drawn(
    part: dict[str, Any], is_derived: bool
) -> None:
    [view] = unit_views({**part, "layer": [{"mark": "bar"}]})
    assert view.is_derived == is_derived


K, COUNT = {"field": "k"}, {"aggregate": "count"}


@pytest.mark.parametrize(
    ("mark", "rows", "encoding", "expected"),
    [
        (
            "bar",
            list("abcdefgh"),
            {"x": K, "y": COUNT},
            "Q? Bar chart of count over k (a, b, c, d, e, f, g, h).",
        ),
        # Nine names are too many to be read aloud.
        ("bar", list("abcdefghi"), {"x": K, "y": COUNT}, "Q? Bar chart of count over k."),
        ("tick", [3, None, 1.5], {"x": K}, "Q? Strip of marks of k (1.5 to 3)."),
        ("tick", [3], {"y": K}, "Q? Strip of marks of k (3 to 3)."),
        # Flags are no numbers.
        ("tick", [True, False], {"x": K}, "Q? Strip of marks of k (True, False)."),
        ("tick", [None], {"x": K}, "Q? Strip of marks of k."),
        (
            "rect",
            [1, 2],
            {"x": K, "y": {"aggregate": "mean", "field": "k"}},
            "Q? Heat map of mean k over k (1 to 2).",
        ),
        (
            "rect",
            [1],
            {"x": {**K, "title": "key"}, "color": COUNT},
            "Q? Heat map of key (1 to 1), by count.",
        ),
        ("area", [1], {"x": {"value": 3}, "y": K}, "Q? Area chart of k (1 to 1)."),
        # Rules and words are part of what the others say; without an axis there is nothing to say.
        ("rule", [1], {"x": K}, "Q?"),
        ("bar", [1], {"color": K}, "Q?"),
    ],
)
def test_a_chart_in_words(
    mark: str,
    rows: list[Any],
    encoding: dict[str, Any],
    expected: str,
) -> None:
    values = [{"k": row} for row in rows]
    assert (
        describe(
            {
                "mark": mark,
                "data": {"values": values},
                "encoding": encoding,
            },
            "Q?",
        )
        == expected
    )


def test_four_views_are_told_and_each_once() -> None:
    views = [{"mark": "bar", "encoding": {"x": {"field": name}}} for name in "aabcdef"]
    four = " ".join(f"Bar chart of {name}." for name in "abcd")
    assert describe({"hconcat": views}, "Q?") == f"Q? {four}"


@pytest.mark.parametrize(
    ("colour", "shown"),
    [
        ("black", "var(--ink)"),
        ("White", "var(--paper)"),
        ("lightgray", "var(--muted)"),
        ("#000", "var(--ink)"),
        ("#444", "var(--ink)"),
        # 0x45 is the first that is meant as background.
        ("#444444", "var(--ink)"),
        ("#454545", "var(--muted)"),
        ("#FEFEFE", "var(--muted)"),
        ("#fff", "var(--paper)"),
        ("#ffffff", "var(--paper)"),
        ("#123", "#123"),
        ("tomato", "tomato"),
    ],
)
def test_inks_that_would_vanish_on_the_other_background_are_replaced(
    colour: str, shown: str
) -> None:
    assert themed({"mark": {"type": "bar", "color": colour}})["mark"]["color"] == shown


def test_a_chart_brings_its_configuration_but_no_background() -> None:
    spec = themed(
        {
            "mark": "bar",
            "config": {"background": "white", "axis": {"titleColor": "black"}},
            "title": "black",
        }
    )
    assert spec["config"]["background"] == "transparent"
    assert spec["config"]["axis"]["titleColor"] == "var(--ink)"
    # Only colors are colors.
    assert spec["title"] == "black"
