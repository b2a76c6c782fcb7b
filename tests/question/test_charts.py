"""The grammar of charts: what comes from the data and the declaration, and what a chart says itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from borgtrace.question.charts.channels import SPARE_COLOURS
from borgtrace.question.charts.listed import listed_chart
from borgtrace.question.charts.plot import axis_title

from borgtrace.question.charts import (
    Plot,
    area,
    axis,
    bar,
    box,
    count_axis,
    duration_axis,
    hour_axis,
    line,
    palette,
    point,
    probability_axis,
    rect,
    rule,
    series,
    step,
    text,
    thinned,
    tick,
    when,
)
from borgtrace.schema import Column, Table

DECLARED = Table(
    "waits",
    "tier and hour",
    ("tier", "hour"),
    (
        Column("tier", "string", "id", "Tier of the tasks.", nullable=False),
        Column(
            "wait", "float64", "s", "Mean wait of the tier; NULL without tasks.", nullable=False
        ),
        Column("n", "int64", "count", "Tasks that were scheduled.", nullable=False),
    ),
)
TABLE = pa.table({"tier": ["production", "free"], "wait": [1.5, 2.5], "n": [3, 0]})


def spec(plot: Plot, **options: Any) -> dict[str, Any]:
    drawn: dict[str, Any] = plot.draw("Waits", **options).to_dict()
    return drawn


def test_axes_say_what_a_column_is_and_its_unit() -> None:
    encoding = spec(Plot(TABLE, DECLARED, x="n", y="wait").add(point()))["encoding"]
    assert encoding["x"] == {
        "field": "n",
        "type": "quantitative",
        "title": "tasks that were scheduled",
    }
    assert encoding["y"]["title"] == "mean wait of the tier (s)"


def test_tooltips_show_every_declared_column_unless_told_otherwise() -> None:
    plot = Plot(TABLE, DECLARED, x="n", y="wait")
    assert [tip["field"] for tip in spec(plot.add(point()))["encoding"]["tooltip"]] == [
        "n",
        "wait",
        "tier",
    ]
    few = Plot(TABLE, DECLARED, x="n", y="wait").add(point(), tips=())
    assert [tip["field"] for tip in spec(few)["encoding"]["tooltip"]] == ["n", "wait"]


def test_tiers_have_their_colours_in_their_order() -> None:
    scale = spec(Plot(TABLE, DECLARED, x="n", y="wait", color="tier").add(point()))["encoding"][
        "color"
    ]["scale"]
    assert scale == {"domain": ["free", "production"], "range": ["#88a", "#e4572e"]}


def test_a_name_that_a_palette_does_not_list_gets_a_colour_of_its_own() -> None:
    plot = Plot(TABLE, x="n", y="wait", color=palette("tier", {"production": "#e4572e"})).add(
        point()
    )
    scale = spec(plot)["encoding"]["color"]["scale"]
    assert scale == {"domain": ["production", "free"], "range": ["#e4572e", SPARE_COLOURS[0]]}


def test_a_reference_rule_is_drawn_once_across_the_plot() -> None:
    layers = spec(Plot(TABLE, DECLARED, x="n", y="wait").add(line()).add(rule(dashed=True), y=2.0))[
        "layer"
    ]
    assert layers[1]["data"] == {"values": [{}]}
    assert layers[1]["encoding"] == {"y": {"datum": 2.0}}


def test_the_first_layer_names_the_axis() -> None:
    plot = Plot(TABLE, DECLARED, x="n").add(area(), y=axis("wait", "wait (s)")).add(line(), y="n")
    first, second = spec(plot)["layer"]
    assert first["encoding"]["y"]["title"] == "wait (s)"
    assert "title" not in second["encoding"]["y"]


def test_columns_become_series_in_the_order_given() -> None:
    drawn = spec(Plot(TABLE, x="tier", y=series("amount", n="tasks", wait="seconds")).add(line()))
    assert drawn["encoding"]["color"]["sort"] == ["tasks", "seconds"]
    assert drawn["data"]["values"][0] == {"tier": "production", "series": "tasks", "value": 3}
    assert drawn["encoding"]["y"]["title"] == "amount"


def test_facets_say_what_codes_mean() -> None:
    rows = [{"resource": "cpu", "n": 1}, {"resource": "memory", "n": 2}]
    plot = (
        Plot(rows, x="n")
        .add(point(), opacity=when("datum.n > 1", 1.0, 0.3))
        .facet(row="resource", independent=("x",))
    )
    drawn = spec(plot)
    assert '"cpu": "CPU"' in drawn["facet"]["row"]["header"]["labelExpr"]
    assert drawn["resolve"] == {"scale": {"x": "independent"}}


def test_counts_have_whole_numbers_on_a_scale_that_shows_zero() -> None:
    x = spec(Plot(TABLE, DECLARED, x=count_axis("n"), y="wait").add(point()))["encoding"]["x"]
    assert x["scale"] == {"type": "symlog"}
    assert x["axis"]["values"][:4] == [0, 1, 2, 5]


def test_marks_by_their_kind_and_style() -> None:
    marks = (
        line(),
        step(),
        area(opacity=0.5),
        bar(),
        rect(),
        rule(),
        rule(dashed=True),
        text(),
        tick(),
        box(),
    )
    assert [(mark.kind, dict(mark.style)) for mark in marks] == [
        ("line", {}),
        ("line", {"interpolate": "step-after"}),
        ("area", {"opacity": 0.5}),
        ("bar", {}),
        ("rect", {}),
        ("rule", {}),
        ("rule", {"strokeDash": [5, 3]}),
        ("text", {}),
        ("tick", {}),
        ("boxplot", {"extent": "min-max"}),
    ]


def test_a_labelled_axis_names_no_unit() -> None:
    encoding = spec(
        Plot(TABLE, DECLARED, x=duration_axis("wait"), y=probability_axis("n")).add(point())
    )["encoding"]
    assert encoding["x"]["title"] == "mean wait of the tier"
    assert encoding["x"]["scale"] == {"type": "symlog"}
    assert encoding["y"]["scale"] == {"type": "log"}
    assert encoding["y"]["axis"]["format"] == ".0e"


def test_numbers_with_a_fraction_are_shortened_in_tooltips() -> None:
    tooltip = spec(Plot(TABLE, DECLARED, x="n", y="wait").add(point()))["encoding"]["tooltip"]
    assert [tip.get("format") for tip in tooltip] == [None, ".6~g", None]
    assert [tip["type"] for tip in tooltip] == ["quantitative", "quantitative", "nominal"]


def test_names_on_an_axis_have_no_title_and_a_legend_says_what_they_are() -> None:
    rows = [{"kind": "max_per_machine", "n": 1}]
    encoding = spec(Plot(rows, x="n", y="kind", color="kind").add(point()))["encoding"]
    assert encoding["y"]["title"] is None
    assert encoding["color"]["title"] == "kind"
    assert '"max_per_machine": "per machine"' in encoding["color"]["legend"]["labelExpr"]


def test_a_box_has_no_tooltip_and_a_span_ends_on_the_same_scale() -> None:
    boxes = spec(Plot(TABLE, DECLARED, x="n", y="wait").add(box()))
    assert "tooltip" not in boxes["encoding"]
    rows = [{"low": 1, "high": 2}]
    assert spec(Plot(rows, x="low", x2="high").add(bar()))["encoding"]["x2"] == {"field": "high"}


def test_wrapped_panels_keep_the_order_of_the_rows() -> None:
    drawn = spec(Plot(TABLE, x="n", y="wait").add(point()).facet(wrap="tier"))
    assert (drawn["columns"], drawn["facet"]["sort"], drawn["facet"]["title"]) == (4, None, None)
    rows = spec(Plot(TABLE, x="n", y="wait").add(point()).facet(row="tier"))
    assert "columns" not in rows
    assert "sort" not in rows["facet"]["row"]


def test_columns_that_are_missing_from_the_rows_have_no_tooltip() -> None:
    tooltip = spec(Plot([{"n": 1}], DECLARED, x="n").add(point()))["encoding"]["tooltip"]
    assert [tip["field"] for tip in tooltip] == ["n"]


def test_series_may_bring_their_own_axis() -> None:
    drawn = spec(
        Plot(
            TABLE, x="tier", y=series(axis("value", "both", scale={"type": "log"}), n="a", wait="b")
        ).add(line())
    )
    assert drawn["encoding"]["y"]["scale"] == {"type": "log"}
    assert drawn["encoding"]["y"]["title"] == "both"


def test_a_thinned_curve_keeps_its_ends_and_extremes() -> None:
    values = [0.0] * 100
    values[37], values[62] = 9.0, -5.0
    curve = pa.table({"place": range(100), "n": values, "none": [float("nan")] * 100})
    kept = thinned(curve, ["n", "none"], 24)
    # 24 ÷ (2 + 2 × 2) = 4 parts of 25 rows: the ends of each, and its extremes where they lie inside.
    assert kept["place"].to_pylist() == [0, 24, 25, 37, 49, 50, 62, 74, 75, 99]
    assert thinned(curve, ["n"], 100) is curve


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
    x = Plot(rows, x=hour_axis(), y="n").add(line()).draw().to_dict()["encoding"]["x"]
    assert x["title"] == title
    if marks is None:
        assert x["axis"] == {"tickMinStep": 1}
    else:
        # The beginning of each day, numbered from 0.
        assert x["axis"]["values"] == [24 * day for day in range(marks)]
        assert x["axis"]["labelExpr"] == "datum.value / 24"
        # A month of them leaves no room for every number.
        assert x["axis"]["labelOverlap"] is True


def test_tiers_have_their_colours_as_colours_alone() -> None:
    encoding = spec(
        Plot(TABLE, DECLARED, x="tier", y="wait", yOffset="tier", color="n").add(bar())
    )["encoding"]
    assert "scale" not in encoding["x"]
    # Numbers have no palette, and offsets neither title nor legend.
    assert "scale" not in encoding["color"]
    assert encoding["yOffset"] == {"field": "tier", "type": "nominal"}
    named = spec(Plot([{"who": "x", "n": 1}], x="n", color="who").add(point()))["encoding"]["color"]
    assert "scale" not in named
    assert named["legend"] == {}


def test_words_and_details_have_neither_title_nor_legend() -> None:
    plot = Plot(TABLE, DECLARED, x="n", y="wait", text="tier", detail="tier", order="n").add(text())
    encoding = spec(plot)["encoding"]
    assert encoding["text"] == encoding["detail"] == {"field": "tier", "type": "nominal"}
    assert encoding["order"] == {"field": "n", "type": "quantitative"}


def test_a_later_layer_may_name_its_own_axis_and_its_colours() -> None:
    plot = Plot(TABLE, DECLARED, x="n").add(line(), y="wait")
    _, later = spec(plot.add(point(), y=axis("n", "again"), color="tier"))["layer"]
    assert (later["encoding"]["y"]["title"], later["encoding"]["color"]["title"]) == (
        "again",
        "tier",
    )
    assert "title" not in later["encoding"]["x"]


def test_a_layer_of_other_rows_takes_its_types_and_tooltips_from_them() -> None:
    plot = (
        Plot(TABLE, DECLARED, x="n")
        .add(line(), y="wait")
        .add(point(), data=[{"n": "many", "wait": 1.0}], y="wait")
    )
    later = spec(plot)["layer"][1]
    assert later["data"] == {"values": [{"n": "many", "wait": 1.0}]}
    assert later["encoding"]["x"]["type"] == "nominal"
    assert [tip["field"] for tip in later["encoding"]["tooltip"]] == ["n", "wait"]


def test_a_plot_of_no_rows_and_one_without_a_height() -> None:
    empty = spec(Plot([], DECLARED, x="n").add(point()), height=None)
    assert [tip["field"] for tip in empty["encoding"]["tooltip"]] == ["n"]
    assert ("height" in empty, empty["width"], empty["title"]) == (False, 420, "Waits")
    sized = Plot(TABLE, x="n").add(point()).draw(width=10, height=20).to_dict()
    assert (sized["width"], sized["height"], "title" in sized) == (10, 20, False)
    hours = Plot([{"hour": None, "n": 1}, {"hour": 100, "n": 1}], x=hour_axis(), y="n").add(line())
    assert spec(hours)["encoding"]["x"]["title"] == "day of the trace"


@pytest.mark.parametrize(
    ("doc", "title"),
    [
        ("A share of all.", "a share of all"),
        ("CPU used, mean.", "CPU used"),
        ("N.", "N"),
        ("Mean (of all).", "mean"),
        ("Rate of 2.5 an hour.", "rate of 2.5 an hour"),
    ],
)
def test_a_title_is_the_first_clause_in_small_letters(doc: str, title: str) -> None:
    assert axis_title(Column("x", "float64", "1", doc)) == title
    assert axis_title(Column("x", "float64", "s", doc)) == f"{title} (s)"
    assert axis_title(Column("x", "float64", "s", doc), with_unit=False) == title


LISTED = """
[steps]
title = "Steps"
y = { series = { column = "value", title = "tasks", scale = { zero = false } }, low = "few", high = "many" }
color = { column = "series", legend = false }
layers = [{ line = { opacity = 0.5 }, tips = ["kind"] }, { point = {}, opacity = { when = "datum.value > 1", then = 1.0, otherwise = 0.25 } }]
facet = { column = "kind" }
width = 111
height = false

[steps.x]
column = "hour"
title = false
"""  # noqa: E501 - as in a file


def test_a_chart_is_drawn_as_a_file_lists_it(tmp_path: Path) -> None:
    path = tmp_path / "charts.toml"
    path.write_text(LISTED)
    plot = listed_chart(path, "steps", "some.module")
    assert plot.__module__ == "some.module"
    spec = plot(
        pa.table({"hour": [0, 1], "kind": ["a", "b"], "low": [1, 2], "high": [3, None]})
    ).to_dict()
    assert (spec["title"], spec["spec"]["width"], "height" in spec["spec"]) == ("Steps", 111, False)
    assert spec["facet"]["column"]["field"] == "kind"
    assert [(row["series"], row["value"]) for row in spec["data"]["values"]] == [
        ("few", 1),
        ("many", 3),
        ("few", 2),
    ]
    line, point = spec["spec"]["layer"]
    assert (line["mark"], point["mark"]["type"]) == ({"type": "line", "opacity": 0.5}, "point")
    assert line["encoding"]["x"]["title"] is None
    assert (line["encoding"]["y"]["title"], line["encoding"]["y"]["scale"]) == (
        "tasks",
        {"zero": False},
    )
    assert line["encoding"]["color"]["legend"] is None
    assert {tip["field"] for tip in line["encoding"]["tooltip"]} == {
        "hour",
        "value",
        "series",
        "kind",
    }
    assert point["encoding"]["opacity"]["condition"] == {"test": "datum.value > 1", "value": 1.0}


PANELS = """
[steps]
title = "Both"
thinned = { columns = ["low"], points = 4 }
rows = "select *, 10 * low as tenfold from answer where low < 9 order by hour"
x = "hour"

[[steps.panels]]
title = "Low"
y = "tenfold"
layers = [{ line = {} }, { rule = {}, rows = "select min(hour) as hour, max(low) as tenfold from answer" }]

[[steps.panels]]
title = "Nothing"
rows = "select * from answer where low > 99"
y = "low"
layers = [{ line = {} }]
"""


def test_rows_of_panels_and_layers_are_queries(tmp_path: Path) -> None:
    path = tmp_path / "charts.toml"
    path.write_text(PANELS)
    answer = pa.table({"hour": range(6), "low": [1, 2, 8, 9, 3, 4]})
    spec = listed_chart(path, "steps", "some.module")(answer).to_dict()
    # A panel without rows is left out.
    (panel,) = spec["hconcat"]
    assert (spec["title"], panel["title"]) == ("Both", "Low")
    # Thinned to the ends, the smallest and the largest (9, which the query leaves out).
    assert spec["data"]["values"] == [
        {"hour": h, "low": n, "tenfold": 10 * n} for h, n in ((0, 1), (5, 4))
    ]
    # A layer's query is over the whole answer.
    assert panel["layer"][1]["data"]["values"] == [{"hour": 0, "tenfold": 9}]


def test_notes_below_a_title_are_queries(tmp_path: Path) -> None:
    path = tmp_path / "charts.toml"
    notes = """notes = ["select format('{:,} rows', 1000 * count(*)) from answer", "select 'so'"]"""
    path.write_text(
        f"""[steps]\ntitle = "All"\n{notes}\nx = "hour"\nlayers = [{{ line = {{}} }}]\n"""
    )
    spec = listed_chart(path, "steps", "some.module")(pa.table({"hour": [0, 1]})).to_dict()
    assert spec["title"] == {"text": "All", "subtitle": ["2,000 rows", "so"], "anchor": "start"}
