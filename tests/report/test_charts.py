"""What happens to a chart on its way to the page."""

from __future__ import annotations

import json
from typing import Any

import altair as alt
import pyarrow as pa
import pytest
from altair.utils.schemapi import debug_mode

from borgtrace.report.charts import ROWS, UndrawableError, figure
from borgtrace.report.drawable import specification
from borgtrace.report.theme import themed
from borgtrace.report.views import unit_views

from . import questions_of_tests as questions


def spec_of(chart: Any) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads(figure(chart, "Why?").spec)
    return spec


def test_long_step_function_is_reduced_and_keeps_its_peak() -> None:
    embedded = figure(questions.step_line(questions.rows(questions.N_STEPS // 2)), "Why?")
    (data,) = json.loads(embedded.spec)["datasets"].values()
    assert embedded.n_rows == len(data) <= ROWS
    assert max(row["n"] for row in data) == questions.PEAK
    assert {row["series"] for row in data} == {"a", "b"}


def test_inline_values_are_reduced_too() -> None:
    values = [{"t": i, "n": i % 3} for i in range(24_000)]
    with debug_mode(False):  # or Altair validates each row for ten seconds
        data = alt.Data(values=values)
    embedded = figure(alt.Chart(data).mark_line().encode(x="t:Q", y="n:Q"), "Why?")
    assert embedded.n_rows <= ROWS


def test_aggregated_data_is_left_alone_up_to_a_limit() -> None:
    def histogram(n: int) -> Any:
        table = pa.table({"t": list(range(n))})
        return alt.Chart(table).mark_bar().encode(x=alt.X("t:Q", bin=True), y="count()")

    assert figure(histogram(20_000), "Why?").n_rows == 20_000
    with pytest.raises(UndrawableError) as caught:
        figure(histogram(20_001), "Why?")
    assert str(caught.value) == "20,001 points are too many to draw"


def test_lines_and_areas_show_values_everywhere() -> None:
    marks = [
        view.spec["mark"]
        for view in unit_views(spec_of(questions.side_by_side(questions.rows(10))))
    ]
    assert [bool(mark.get("point")) for mark in marks] == [True, False, True]
    assert all(mark["tooltip"] is True for mark in marks)


def test_one_zoom_per_view_on_continuous_axes_only() -> None:
    views = list(unit_views(spec_of(questions.side_by_side(questions.rows(10)))))
    encodings = [[p["select"]["encodings"] for p in view.spec.get("params", [])] for view in views]
    assert encodings == [
        [["x", "y"]],
        [],
        [["x"]],
    ]
    assert not any(
        "params" in view.spec for view in unit_views(spec_of(questions.facets(questions.rows(10))))
    )


def test_a_questions_own_zoom_leaves_wheel_and_touch_to_the_page() -> None:
    spec = spec_of(questions.interactive(questions.rows(10)))
    (param,) = spec["params"]
    assert param["bind"] == "scales"
    assert param["select"]["zoom"] == "wheel![event.ctrlKey || event.metaKey]"
    assert "touch" in param["select"]["translate"]


def test_fixed_inks_follow_the_background() -> None:
    spec = spec_of(questions.side_by_side(questions.rows(10)))
    assert spec["hconcat"][0]["layer"][1]["mark"]["color"] == "var(--ink)"
    assert spec_of(questions.interactive(questions.rows(10)))["encoding"]["color"] == {
        "value": "var(--ink)"
    }


def test_data_is_never_recoloured_and_own_configuration_wins() -> None:
    spec = themed(
        {
            "data": {"values": [{"color": "black"}]},
            "mark": "bar",
            "config": {"axis": {"grid": False}},
        }
    )
    assert spec["data"]["values"] == [{"color": "black"}]
    assert spec["config"]["axis"]["grid"] is False
    assert spec["config"]["axis"]["labelColor"] == "var(--ink)"


def test_numbers_are_short_and_finite() -> None:
    table = pa.table(
        {
            "x": [
                1.23456789012345,
                float("nan"),
                float("inf"),
            ],
            "y": [1, 2, 3],
        }
    )
    spec = spec_of(
        alt.Chart(alt.Data(values=table.to_pylist())).mark_point().encode(x="x:Q", y="y:Q")
    )
    (rows,) = spec["datasets"].values() if "datasets" in spec else (spec["data"]["values"],)
    assert [row["x"] for row in rows] == [1.23457, None, None]


def test_text_for_those_who_cannot_see() -> None:
    embedded = figure(questions.step_line(questions.rows(120)), "How long?")
    assert embedded.alt == (
        "How long? Line chart of tasks in the queue (0 to 7.778e+04) over hour of the trace (0 to 1.983), "
        "by series (a, b)."
    )
    assert json.loads(embedded.spec)["description"] == embedded.alt


def test_points_on_the_edge_of_a_plot_are_whole_and_tooltips_speak_words() -> None:
    chart = (
        alt.Chart(pa.table({"n_jobs": [0, 1]}))
        .mark_point()
        .encode(
            x="n_jobs:Q",
            y=alt.Y("n_jobs:Q", scale=alt.Scale(domain=[0, 1])),
            tooltip=["n_jobs:Q"],
            color="n_jobs:N",
        )
    )
    encoding = json.loads(figure(chart, "Which?").spec)["encoding"]
    assert encoding["x"]["scale"] == {"padding": 8, "nice": False}
    assert encoding["y"]["scale"] == {
        "padding": 8,
        "nice": False,
        "domain": [0, 1],
    }
    assert encoding["tooltip"][0]["title"] == encoding["color"]["title"] == "jobs"
    assert "title" not in encoding["x"]


def test_an_aggregate_keeps_the_title_that_vega_gives_it() -> None:
    chart = (
        alt.Chart(pa.table({"n_jobs": [0, 1]}))
        .mark_bar()
        .encode(x="n_jobs:N", color="mean(n_jobs):Q")
    )
    spec = spec_of(chart)
    assert "title" not in spec["encoding"]["color"]
    # The page says which version of the schema it draws by.
    assert "$schema" not in spec


def test_a_line_has_no_room_at_the_ends_of_its_axes() -> None:
    encoding = spec_of(questions.step_line(questions.rows(10)))["encoding"]
    assert "scale" not in encoding["x"]
    points = (
        alt.Chart(questions.rows(10))
        .mark_point()
        .encode(x=alt.X("hour:Q", scale=None), y="series:N")
    )
    assert spec_of(points)["encoding"]["x"]["scale"] is None


def test_panels_of_the_same_rows_are_reduced_by_what_both_draw() -> None:
    rows = [
        {
            "t": i,
            "low": -(i == 1_333),
            "high": int(i == 3_666),
        }
        for i in range(4_500)
    ]
    base = alt.Chart(alt.Data(values=rows)).mark_line().encode(x="t:Q")
    embedded = figure(base.encode(y="low:Q") | base.encode(y="high:Q"), "Why?")
    drawn = [view.rows for view in unit_views(json.loads(embedded.spec))]
    assert embedded.n_rows == sum(map(len, {id(rows): rows for rows in drawn}.values())) <= 2 * ROWS
    assert min(row["low"] for row in drawn[0]) == -1
    assert max(row["high"] for row in drawn[1]) == 1


def test_a_chart_is_not_validated_row_by_row() -> None:
    class Drawn:
        """Stands for a chart: validation takes a second per 5,000 rows."""

        def to_dict(self, *, validate: bool) -> dict[str, Any]:
            return {"validate": validate}

    assert specification(Drawn())["validate"] is False  # type: ignore[arg-type]


def test_fields_that_nothing_names_are_left_out() -> None:
    rows = [
        {
            "x": 1,
            "y": 2,
            "told": 3,
            "tested": 4,
            "unseen": 5,
        }
    ]
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_point()
        .encode(
            x="x:Q",
            y="y:Q",
            tooltip="told:Q",
            color=alt.condition("datum.tested > 3", alt.value("red"), alt.value("blue")),
        )
    )
    spec = json.loads(figure(chart, "Why?").spec)
    assert spec["data"]["values"] == [
        {
            "x": 1,
            "y": 2,
            "told": 3,
            "tested": 4,
        }
    ]


@pytest.mark.parametrize(
    ("values", "scale", "domain"),
    [
        ((4, 4), {"zero": False}, [2, 6]),
        ((4, None), {"zero": False}, [2, 6]),
        ((-4, -4), {"zero": False}, [-6, -2]),
        # Half of 0 is no length, and what is counted is never below it.
        ((0, 0), {"zero": False}, [0, 1]),
        ((4, 4), {"type": "log"}, [0.4, 40]),
        ((0, 0), {"type": "symlog"}, [0, 1]),
        ((4, 4), {"zero": False, "domain": [0, 9]}, [0, 9]),
        ((4, 5), {"zero": False}, None),
        ((4, 4), {"zero": True}, None),
        ((4, 4), {}, None),
    ],
)
def test_an_axis_of_one_value_has_a_length(
    values: tuple[Any, Any], scale: dict[str, Any], domain: list[float] | None
) -> None:
    chart = alt.Chart(alt.Data(values=[{"x": x, "y": y} for x, y in enumerate(values)]))
    y = alt.Y("y:Q", **({"scale": alt.Scale(**scale)} if scale else {}))
    spec = json.loads(figure(chart.mark_line().encode(x="x:Q", y=y), "Why?").spec)
    assert spec["encoding"]["y"].get("scale", {}).get("domain") == domain


def test_a_layer_of_one_value_leaves_the_axis_to_the_others() -> None:
    many = (
        alt.Chart(alt.Data(values=[{"x": 1, "y": 4}, {"x": 2, "y": 400}]))
        .mark_point()
        .encode(x="x:Q")
    )
    label = alt.Chart(alt.Data(values=[{"x": 1, "y": 4}])).mark_text(text="here").encode(x="x:Q")
    y = alt.Y("y:Q", scale=alt.Scale(type="log"))
    spec = json.loads(figure(many.encode(y=y) + label.encode(y=y), "Why?").spec)
    assert ["domain" in layer["encoding"]["y"]["scale"] for layer in spec["layer"]] == [
        False,
        False,
    ]


def axis_of(chart: alt.Chart, name: str) -> dict[str, Any]:
    encoding = json.loads(figure(chart, "Why?").spec)["encoding"]
    axis: dict[str, Any] = encoding[name].get("axis", {})
    return axis


def test_what_is_counted_is_labelled_with_whole_numbers() -> None:
    rows = [{"hour": hour, "n": n} for hour, n in ((0, 1), (1, 0))]
    chart = alt.Chart(alt.Data(values=rows)).mark_line().encode(x="hour:Q", y="n:Q")
    assert axis_of(chart, "x")["tickMinStep"] == axis_of(chart, "y")["tickMinStep"] == 1
    rows[0]["n"] = 0.5
    assert axis_of(chart, "y") == {}
    # Its own labels, and a scale without even steps, stay.
    assert axis_of(chart.encode(x=alt.X("hour:Q", axis=alt.Axis(format="%"))), "x") == {
        "format": "%"
    }
    assert axis_of(chart.encode(x=alt.X("hour:Q", scale=alt.Scale(type="log"))), "x") == {}


@pytest.mark.parametrize("value", [None, float("nan"), 0])
def test_a_chart_that_would_show_nothing_is_refused(value: float | None) -> None:
    y = alt.Y("y:Q", scale=alt.Scale(type="log"))
    chart = alt.Chart(alt.Data(values=[{"x": 1, "y": value}])).mark_point().encode(x="x:Q", y=y)
    with pytest.raises(UndrawableError) as caught:
        figure(chart, "Why?")
    assert str(caught.value) == "no row of the answer has all values that it would show"
