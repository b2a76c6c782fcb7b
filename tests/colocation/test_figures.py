"""What the figures of the GPA paper show: panels, boxes, dots and marks, on outcomes made by hand."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from borgtrace.colocation.experiments.packing import (
    packing_averages,
    packing_base,
    packing_capacities,
)
from borgtrace.colocation.experiments.shared.outcomes import to_table
from borgtrace.colocation.experiments.shared.overflow_charts import scale_of, with_floor
from borgtrace.colocation.experiments.sums import percentile_error
from borgtrace.colocation.experiments.usage import deviation_regression
from borgtrace.colocation.packing.grid import GridCell, PackingOutcome
from borgtrace.placement import parse_estimator
from borgtrace.question import NotApplicable
from tests.colocation.test_characterization import ask
from tests.colocation.test_pool import make


def outcome(text: str, instance: int, m_abs: int, overflows: int, **cell: Any) -> PackingOutcome:
    return PackingOutcome(
        GridCell(parse_estimator(text), **cell),
        instance,
        m_abs,
        10,
        overflows,
        m_abs * 100,
        1_000,
        0,
        0,
    )


def marks(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """All layers of a chart, whatever they are nested in."""
    parts = [spec[name] for name in ("layer", "hconcat", "vconcat") if name in spec]
    parts += [[spec["spec"]]] if "spec" in spec else []
    return [mark for part in parts for each in part for mark in marks(each)] if parts else [spec]


def kind(layer: dict[str, Any]) -> str:
    mark = layer["mark"]
    return str(mark if isinstance(mark, str) else mark["type"])


def base() -> pa.Table:
    found = [
        outcome(text, k, 10 + k, overflows)
        for text, overflows in (
            ("gpa:0.1", 90),
            ("gpa:0.001", 0),
            ("average:1", 400),
            ("percentile:99", 0),
        )
        for k in (0, 1)
    ]
    return to_table(
        [
            *found,
            outcome("cantelli:1", 0, 30, 1),
            outcome("cantelli:1", 1, 31, 0),
        ],
        packing_base.QUESTION.answer,
    )


def test_a_q_of_zero_says_in_how_many_draws_none_was_seen() -> None:
    seen, *unseen = with_floor(
        [
            {"q": 0.5, "trials": 4},
            {"q": 0.0, "trials": 2_000},
            {"q": 0.0, "trials": 50_000},
        ]
    )
    assert seen == {
        "q": 0.5,
        "trials": 4,
        "shown_q": 0.5,
        "seen": "seen",
    }
    assert [row["shown_q"] for row in unseen] == [0.00025, 0.00001]  # half an overflow
    assert [row["seen"] for row in unseen] == ["none in 2,000 to 50,000 draws"] * 2
    assert with_floor([{"q": 0.0, "trials": 2_000}])[0]["seen"] == "none in 2,000 draws"


def test_figures_7_to_9_are_machines_dots_and_relative_excess() -> None:
    spec = packing_base.chart(base()).to_dict()
    figure_7, over_lower_bound, figure_9 = spec["vconcat"][0]["hconcat"]
    figure_8 = spec["vconcat"][1]
    (boxes,) = marks(figure_7)
    assert kind(boxes) == "boxplot"
    assert boxes["encoding"]["x"]["field"] == "m_abs"
    assert marks(over_lower_bound)[0]["encoding"]["x"]["field"] == "m"
    machines = figure_7["data"]["values"] if "data" in figure_7 else boxes["data"]["values"]
    assert {row["label"] for row in machines} == {
        "gpa 0.1",
        "gpa 0.001",
        "average 1",
        "percentile 99",
        "cantelli 1",
    }
    assert sorted(row["m_abs"] for row in machines if row["label"] == "cantelli 1") == [30, 31]
    # q = 90 ÷ (10 · 100) = .09 and 90 ÷ 1,100: 10 and 18 % below ρ = .1; never: 100 % below
    assert sorted(round(row["excess"], 4) for row in marks(figure_9)[1]["data"]["values"]) == [
        -1,
        -1,
        -0.1818,
        -0.1,
    ]
    assert [kind(layer) for layer in marks(figure_9)] == ["rule", "boxplot"]
    dots = marks(figure_8)[0]["data"]["values"]
    assert sorted({row["estimator"] for row in dots}) == ["average", "gpa", "percentile"]
    assert len(dots) == 8
    assert {kind(layer) for layer in marks(figure_8)} == {"point", "text"}
    assert {row["seen"] for row in dots if not row["q"]} == {"none in 1,000 to 1,100 draws"}


def test_figure_10_has_a_panel_per_estimator_and_data_and_the_targets_of_gpa() -> None:
    texts = ("average:1", "percentile:100", "cantelli:1", "gpa:0.1", "gpa:0.001")
    ways = [
        outcome(t, 0, 10, 5, data=d, fill=f)
        for t in texts
        for d in ("inst", "avg")
        for f in (0.8, 1.0)
    ]
    spec = packing_averages.chart(to_table(ways, packing_averages.QUESTION.answer)).to_dict()
    rows = spec["data"]["values"]
    assert spec["facet"]["row"]["field"] == "data"
    assert spec["facet"]["column"]["field"] == "estimator"
    assert len({(row["data"], row["estimator"]) for row in rows}) == 8
    assert {row["target"] for row in rows if row["estimator"] == "gpa"} == {0.1, 0.001}
    assert {row["target"] for row in rows if row["estimator"] != "gpa"} == {None}
    kinds = {kind(layer): layer["encoding"] for layer in marks(spec)}
    assert set(kinds) == {"tick", "line", "boxplot", "text"}
    assert kinds["tick"]["y"]["field"] == "target"
    assert kinds["boxplot"]["x"]["field"] == "fill"
    # Each box says its parameter.
    assert kinds["text"]["text"]["field"] == "parameter"


def test_figure_11_shows_both_without_and_with_rebalancing() -> None:
    ways = [
        outcome("gpa:0.1", 0, 10, 5, capacity=c, is_rebalanced=r)
        for c in (0.5, 5.0)
        for r in (False, True)
    ]
    spec = packing_capacities.chart(to_table(ways, packing_capacities.QUESTION.answer)).to_dict()
    assert {row["rebalancing"] for row in spec["data"]["values"]} == {
        "rebalanced",
        "not rebalanced",
    }
    assert spec["facet"]["row"]["field"] == "rebalancing"
    assert [kind(layer) for layer in marks(spec)] == ["line", "boxplot"]


def test_a_chart_says_its_scale_and_the_papers() -> None:
    assert (
        scale_of(base())
        == "2 instances of 1,000 tasks with 100 draws each (the paper: 50 of 1,000 with 10,000)"
    )
    assert scale_of(base()) in json.dumps(packing_base.chart(base()).to_dict(), ensure_ascii=False)
    whole = {
        "n_tasks": [1_000] * 50,
        "m_abs": [30] * 50,
        "trials": [300_000] * 50,
        "clairvoyance": [1.0] * 50,
    }
    text = scale_of(pa.table({"instance": list(range(50)), **whole}))
    assert text == "50 instances of 1,000 tasks with 10,000 draws each (the paper's scale)"


def test_figure_3c_is_the_tasks_of_the_seconds_less_those_of_the_averages() -> None:
    cells = {
        "series": ["inst", "inst", "avg", "avg"],
        "mean_cell": [0, 1, 0, 2],
        "deviation_cell": [0, 0, 0, 1],
    }
    line = {
        "n_tasks": [3, 4, 3, 5],
        "slope": [0.3] * 4,
        "intercept": [0.0] * 4,
    }
    first, second = deviation_regression.QUESTION.chart(pa.table({**cells, **line})).to_dict()[
        "hconcat"
    ]
    # three tasks in the first cell of both: no difference, and nothing to draw
    found = [(row["mean"], row["deviation"], row["n_tasks"]) for row in second["data"]["values"]]
    assert found == [(0.01, 0.0, 4), (0.02, 0.005, -5)]
    assert [row["series"] for row in first["data"]["values"]] == ["(a) inst"] * 2 + ["(b) avg"] * 2
    assert {row["series"] for row in second["data"]["values"]} == {"(c) inst − avg"}


def test_figure_6_is_a_violin_per_size_whose_density_is_that_of_the_errors() -> None:
    rows = ask(
        "percentile_error",
        make([[0.1, 0.2, 0.3, 0.9]] * 12),
        samples=50,
    )
    violins = {(row["size"], row["percentile"]) for row in rows}
    assert violins == {(10, 95.0), (10, 99.0), (10, 99.9)}
    for violin in violins:
        cells = [row for row in rows if (row["size"], row["percentile"]) == violin]
        assert sum(row["density"] * (row["high"] - row["low"]) for row in cells) == pytest.approx(1)
        assert (
            cells[0]["low"]
            <= cells[0]["p5"]
            <= cells[0]["median"]
            <= cells[0]["p95"]
            <= cells[-1]["high"]
        )
    # half of the errors in the first cell, none in the second, half in the third, of width .1
    common = {
        "size": 20,
        "percentile": 99.0,
        "n_samples": 8,
        "p5": 0.0,
        "p25": 0.0,
        "median": 0.1,
        "p75": 0.2,
    }
    made = [
        common
        | {
            "p95": 0.3,
            "cell": k,
            "low": k / 10,
            "high": (k + 1) / 10,
            "density": d,
        }
        for k, d in enumerate((5.0, 0.0, 2.5))
    ]
    shown = percentile_error.QUESTION.chart(pa.Table.from_pylist(made)).to_dict()["data"]["values"]
    # sizes stand at 0, 1, 2, 3: a violin about 1, .45 wide on both sides where it is widest
    assert [(row["left"], row["right"]) for row in shown] == [
        (0.55, 1.45),
        (1, 1),
        (0.775, 1.225),
    ]
    assert [row["error"] for row in shown] == pytest.approx([0.05, 0.15, 0.25])
    assert [row["median"] for row in shown] == [0.1, None, None]


def test_the_maximum_of_averages_is_judged_by_what_machines_are_filled_to() -> None:
    ways = [
        outcome("percentile:100", 0, 40, n, data="avg", fill=f) for f, n in ((0.8, 0), (1.0, 2))
    ]
    result = to_table(ways, packing_averages.QUESTION.answer)
    claims = {claim.id: claim for claim in packing_averages.QUESTION.claims}
    assert claims["S1-avg-maximum-1"].measure(result) == 2 / 4_000
    assert claims["S1-avg-maximum-1"].kind == "published"
    assert claims["S1-avg-maximum-1"].scope.traces == ("2011",)
    # 4,000 draws are too few for 3e-7: none seen refutes nothing
    with pytest.raises(NotApplicable, match=r"none seen in 4.0e\+03 draws, 0.0 expected"):
        claims["S1-avg-maximum-0.8"].measure(result)
