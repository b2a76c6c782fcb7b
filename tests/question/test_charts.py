"""What charts share: sizes, scales, colors, tooltips, series and thinned curves."""

from __future__ import annotations

from typing import Any

import altair as alt
import pyarrow as pa
import pytest

from borgtrace.question import charts, colours
from tests.rows import chosen_columns

ROWS = [
    {
        "tier": "production",
        "wait": 1.5,
        "n": 3,
    },
    {
        "tier": "free",
        "wait": 2.5,
        "n": 0,
    },
]


def encoding(chart: alt.Chart) -> dict[str, Any]:
    return chart.to_dict()["encoding"]


def points(**channels: Any) -> alt.Chart:
    return charts.base(ROWS).mark_point().encode(**channels)


def test_a_chart_has_a_size_and_a_title() -> None:
    spec = charts.base(ROWS, "Waits").mark_point().to_dict()
    assert (spec["width"], spec["height"], spec["title"]) == (420, 240, "Waits")
    assert spec["data"] == {"values": ROWS}


def test_a_chart_without_a_height_leaves_it_to_the_names() -> None:
    spec = charts.base([], width=10, height=None).mark_point().to_dict()
    assert spec["width"] == 10
    assert "height" not in spec
    assert "title" not in spec


def test_tooltips_show_every_field_unless_told_otherwise() -> None:
    every = encoding(points(tooltip=charts.tooltips(ROWS)))["tooltip"]
    assert [tip["field"] for tip in every] == ["tier", "wait", "n"]
    named = encoding(points(tooltip=charts.tooltips(ROWS, "n", "wait")))["tooltip"]
    assert [tip["field"] for tip in named] == ["n", "wait"]
    assert charts.tooltips([]) == []


def test_numbers_with_a_fraction_are_shortened_in_tooltips() -> None:
    tooltip = encoding(points(tooltip=charts.tooltips(ROWS)))["tooltip"]
    assert [tip.get("format") for tip in tooltip] == [None, ".6~g", None]
    assert [tip["type"] for tip in tooltip] == ["nominal", "quantitative", "quantitative"]


def test_a_field_takes_its_kind_from_its_first_value() -> None:
    rows = [{"name": None, "flag": True}, {"name": "a", "flag": False}]
    tips = [tip.to_dict() for tip in charts.tooltips(rows)]
    assert [tip["type"] for tip in tips] == ["nominal", "nominal"]


def test_tiers_have_their_colors_in_their_order() -> None:
    color = encoding(points(color=charts.tier_color(ROWS)))["color"]
    assert color["scale"] == {
        "domain": ["free", "production"],
        "range": [colours.TIERS["free"].light, colours.TIERS["production"].light],
    }
    assert color["title"] == "tier"


def test_a_name_without_a_listed_color_gets_a_color_of_its_own() -> None:
    color = charts.color(ROWS, "tier", {"production": "#e4572e"})
    assert encoding(points(color=color))["color"]["scale"] == {
        "domain": ["production", "free"],
        "range": ["#e4572e", charts.SPARE_COLORS[0]],
    }


def test_names_that_are_missing_have_no_color() -> None:
    rows = [{"tier": None}, {"tier": "free"}]
    scale = charts.tier_color(rows).to_dict()["scale"]
    assert scale["domain"] == ["free"]


def test_a_rule_is_drawn_once_across_the_plot() -> None:
    rule = charts.rule_at(y=2.0, color="black").to_dict()
    expected = {
        "data": {"values": [{}]},
        "encoding": {"y": {"datum": 2.0}},
        "mark": {
            "type": "rule",
            "strokeDash": [5, 3],
            "color": "black",
        },
    }
    assert chosen_columns(rule, expected) == expected
    assert charts.rule_at(x=1).to_dict()["encoding"] == {"x": {"datum": 1}}


def test_panels_say_what_codes_mean() -> None:
    rows = [{"resource": "cpu", "n": 1}, {"resource": "memory", "n": 2}]
    chart = charts.base(rows).mark_point().encode(x="n:Q")
    by_row = chart.facet(row=charts.rows_of_panels("resource", labelAngle=0)).to_dict()
    row = by_row["facet"]["row"]
    assert '"cpu": "CPU"' in row["header"]["labelExpr"]
    assert (row["header"]["labelAngle"], row["title"]) == (0, None)
    by_column = chart.facet(column=charts.columns_of_panels("n")).to_dict()
    assert by_column["facet"]["column"] == {
        "field": "n",
        "type": "nominal",
        "title": None,
        "header": {},
    }


def test_wrapped_panels_keep_the_order_of_the_rows() -> None:
    chart = points(x="n:Q").facet(facet=charts.wrapped_panels("tier"), columns=4).to_dict()
    assert (chart["columns"], chart["facet"]["sort"], chart["facet"]["title"]) == (4, None, None)


def test_a_legend_says_what_codes_mean() -> None:
    assert '"max_per_machine": "per machine"' in charts.legend("kind").to_dict()["labelExpr"]
    assert charts.legend("tier", orient="top").to_dict() == {"orient": "top"}


def test_a_logarithmic_scale_has_a_line_at_1_2_and_5_of_each_decade() -> None:
    x = encoding(points(x=alt.X("n:Q", **charts.log_scale(least=1))))["x"]
    assert x["scale"] == {"type": "log"}
    assert x["axis"]["values"][:5] == [0, 1, 2, 5, 10]


def test_a_logarithmic_scale_may_leave_its_ticks_to_vega() -> None:
    scale = charts.log_scale(
        least=None,
        type="symlog",
        constant=0.001,
    )
    x = encoding(points(x=alt.X("n:Q", **scale)))["x"]
    assert x["scale"] == {"type": "symlog", "constant": 0.001}
    assert "axis" not in x


def test_counts_have_whole_numbers_on_a_scale_that_shows_zero() -> None:
    x = encoding(points(x=alt.X("n:Q", **charts.count_scale())))["x"]
    assert x["scale"] == {"type": "symlog"}
    assert x["axis"]["values"][:4] == [0, 1, 2, 5]


def test_durations_are_labeled_in_their_units() -> None:
    x = encoding(points(x=alt.X("wait:Q", **charts.duration_scale())))["x"]
    assert x["scale"] == {"type": "symlog"}
    assert "' min'" in x["axis"]["labelExpr"]
    assert x["axis"]["values"][-1] == 864_000
    plain = encoding(points(x=alt.X("wait:Q", **charts.duration_scale("log", nice=False))))["x"]
    assert plain["scale"] == {"type": "log", "nice": False}


def test_probabilities_have_a_line_per_decade() -> None:
    y = encoding(points(y=alt.Y("n:Q", **charts.probability_scale())))["y"]
    assert y["scale"] == {"type": "log"}
    assert y["axis"]["format"] == ".0e"
    assert y["axis"]["values"][0] == 1e-12


def test_notes_stand_below_a_title() -> None:
    title = charts.subtitled("All", "2,000 rows", "so").to_dict()
    assert title == {
        "text": "All",
        "subtitle": ["2,000 rows", "so"],
        "anchor": "start",
    }


def test_columns_become_series() -> None:
    melted = charts.melted(ROWS, {"n": "tasks", "wait": "seconds"})
    assert melted[:2] == [
        {
            "tier": "production",
            "series": "tasks",
            "value": 3,
        },
        {
            "tier": "production",
            "series": "seconds",
            "value": 1.5,
        },
    ]
    assert charts.melted(ROWS[:1], {"n": "tasks"}, "amount")[0]["amount"] == 3


def test_a_thinned_curve_keeps_its_ends_and_extremes() -> None:
    values = [0.0] * 100
    values[37] = 9.0
    values[62] = -5.0
    curve = pa.table(
        {
            "place": range(100),
            "n": values,
            "none": [float("nan")] * 100,
        }
    )
    thinned = charts.thinned(curve, ["n", "none"], 24)
    # 24 ÷ (2 + 2 × 2) = 4 parts of 25 rows: the ends of each, and its extremes where they lie inside.
    assert thinned["place"].to_pylist() == [0, 24, 25, 37, 49, 50, 62, 74, 75, 99]
    assert charts.thinned(curve, ["n"], 100) is curve


@pytest.mark.parametrize(
    ("last", "title", "marks"),
    [
        (71, "hour of the trace", None),
        (72, "hour of the trace", None),
        (743, "day of the trace", 31),
        (80, "day of the trace", 4),
        (96, "day of the trace", 5),
    ],
)
def test_long_traces_are_marked_by_days(last: int, title: str, marks: int | None) -> None:
    rows = [{"hour": hour, "n": 1} for hour in (0, last)]
    x = charts.hour_axis(rows).to_dict()
    assert x["title"] == title
    if marks is None:
        assert x["axis"] == {"tickMinStep": 1}
    else:
        # The beginning of each day, numbered from 0.
        assert x["axis"]["values"] == [24 * day for day in range(marks)]
        assert x["axis"]["labelExpr"] == "datum.value / 24"
        # A month of them leaves no room for every number.
        assert x["axis"]["labelOverlap"] is True


def test_hours_may_be_unknown() -> None:
    assert charts.hour_axis([]).to_dict()["title"] == "hour of the trace"
    rows = [{"hour": None}, {"hour": 100}]
    assert charts.hour_axis(rows).to_dict()["title"] == "day of the trace"
    assert charts.hour_axis(rows, "day", "hour of the week").to_dict()["title"] == (
        "hour of the week"
    )
