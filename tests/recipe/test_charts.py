"""The grammar of charts: what comes from the data and the declaration, and what a chart says itself."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from borgtrace.recipe.charts import Plot, area, axis, count_axis, line, point, rule, series, when
from borgtrace.recipe.columns import count, declare, label, seconds

DECLARED = declare(
    "waits",
    "tier and hour",
    ("tier", "hour"),
    label("tier", "Tier of the tasks."),
    seconds("wait", "Mean wait of the tier; NULL without tasks."),
    count("n", "Tasks that were scheduled."),
)
TABLE = pa.table({"tier": ["production", "free"], "wait": [1.5, 2.5], "n": [3, 0]})


def spec(plot: Plot, **options: Any) -> dict[str, Any]:
    drawn: dict[str, Any] = plot.draw("Waits", **options).to_dict()
    return drawn


def test_axes_say_what_a_column_is_and_its_unit() -> None:
    encoding = spec(Plot(TABLE, DECLARED, x="n", y="wait").add(point()))["encoding"]
    assert encoding["x"] == {"field": "n", "type": "quantitative", "title": "tasks that were scheduled"}
    assert encoding["y"]["title"] == "mean wait of the tier (s)"


def test_tooltips_show_every_declared_column_unless_told_otherwise() -> None:
    plot = Plot(TABLE, DECLARED, x="n", y="wait")
    assert [tip["field"] for tip in spec(plot.add(point()))["encoding"]["tooltip"]] == ["n", "wait", "tier"]
    few = Plot(TABLE, DECLARED, x="n", y="wait").add(point(), tips=())
    assert [tip["field"] for tip in spec(few)["encoding"]["tooltip"]] == ["n", "wait"]


def test_tiers_have_their_colours_in_their_order() -> None:
    scale = spec(Plot(TABLE, DECLARED, x="n", y="wait", color="tier").add(point()))["encoding"]["color"]["scale"]
    assert scale == {"domain": ["free", "production"], "range": ["#88a", "#e4572e"]}


def test_a_reference_rule_is_drawn_once_across_the_plot() -> None:
    layers = spec(Plot(TABLE, DECLARED, x="n", y="wait").add(line()).add(rule(dashed=True), y=2.0))["layer"]
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
        Plot(rows, x="n").add(point(), opacity=when("datum.n > 1", 1.0, 0.3)).facet(row="resource", independent=("x",))
    )
    drawn = spec(plot)
    assert '"cpu": "CPU"' in drawn["facet"]["row"]["header"]["labelExpr"]
    assert drawn["resolve"] == {"scale": {"x": "independent"}}


def test_counts_have_whole_numbers_on_a_scale_that_shows_zero() -> None:
    x = spec(Plot(TABLE, DECLARED, x=count_axis("n"), y="wait").add(point()))["encoding"]["x"]
    assert x["scale"] == {"type": "symlog"}
    assert x["axis"]["values"][:4] == [0, 1, 2, 5]
