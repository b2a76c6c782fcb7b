"""The tiles and charts of the first screen, from answers written by hand."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from borgtrace.catalog import find
from borgtrace.first_screen import CHARTS, TILES
from borgtrace.question import NotApplicable, Provenance, Result
from borgtrace.report.overview import tiles
from borgtrace.report.page import report_html
from borgtrace.report.screen import drawn_charts
from borgtrace.report.sections import PageSection
from borgtrace.store.coverage import DERIVED_EVENTS
from tests.report.conftest import manifest
from tests.report.test_overview import HELD, UTILIZATION, answered, not_applicable

WINDOW = 300_000_000


def steps(*pending: int) -> PageSection:
    """The queue at the ends of 300 s, its peak within each twice as high; twice as many tasks run."""
    rows = []
    for number, n in enumerate(pending, 1):
        rows.append(
            {
                "time": number * WINDOW,
                "pending": n,
                "pending_max": 2 * n,
                "running": 10 * n,
            }
        )
    return answered("queue_length", rows)


def way(estimator: str, parameter: float, machines: float, **changes: Any) -> dict[str, Any]:
    """A row of the advice on packing."""
    return {
        "estimator": estimator,
        "parameter": parameter,
        "machines": machines,
        "keeps_target": False,
        "is_advised": False,
        "is_nearest": False,
        "is_factor": False,
        "saved_request": None,
        "saved_request_low": None,
        "saved_request_high": None,
        "saved_maximum": None,
        "saved_maximum_low": None,
        "saved_maximum_high": None,
        "n_tasks": 1_200,
        "target": 0.001,
        **changes,
    }


BY_REQUESTS = way("request", 1.0, 40.0)
BY_HIGHEST = way("percentile", 100.0, 50.0, keeps_target=True)
ADVISED = way(
    "gpa",
    0.001,
    30.0,
    keeps_target=True,
    is_advised=True,
    saved_request=0.25,
    saved_request_low=0.2,
    saved_request_high=0.3,
    saved_maximum=0.4,
    saved_maximum_low=0.35,
    saved_maximum_high=0.45,
)
ADVICE = answered("packing_advice", [BY_REQUESTS, BY_HIGHEST, way("gpa", 0.1, 20.0), ADVISED])
SECTIONS = [UTILIZATION, steps(9, 9, 4, 7, 5), ADVICE]


def tile_texts(*sections: PageSection, **changes: Any) -> dict[str, list[str]]:
    """What each tile says."""
    texts = {}
    for tile in tiles(manifest(**{**HELD, **changes}), sections):
        lines = [f"{value.text} {value.of}" for value in tile.values]
        texts[tile.name] = lines or [tile.unknown, tile.reason]
    return texts


def test_tiles_say_how_full_what_waits_and_what_packing_saves() -> None:
    # Used: 2, 5 and 2 of 10; requested 6, 8 and 7; memory is half of that. Steps from 900 s on: 4, 7, 5.
    assert tile_texts(*SECTIONS) == {
        "fullness": [
            "30 % of the CPU used",
            "70 % of the CPU requested",
            "15 % of the memory used",
            "35 % of the memory requested",
        ],
        "waiting": [
            "5 tasks waiting (median)",
            "14 waiting at the peak",
            "50 running (median)",
        ],
        "savings": [
            "25 % fewer machines than by requests [20–30 %]",
            "30 machines for 1\u202f200 long tasks",
            "packing by gpa 0.001 overloads a machine at most 0.1 % of the time",
        ],
    }


def test_savings_without_requests_are_against_the_highest_usage() -> None:
    alone = ADVISED | {"saved_request": None}
    first = tile_texts(answered("packing_advice", [BY_HIGHEST, alone]))["savings"][0]
    assert first == "40 % fewer machines than by the highest usage [35–45 %]"


def test_a_packing_that_takes_more_machines_is_not_called_a_saving() -> None:
    costly = ADVISED | {
        "saved_request": -0.1,
        "saved_request_low": -0.2,
        "saved_request_high": -0.05,
    }
    first = tile_texts(answered("packing_advice", [BY_REQUESTS, costly]))["savings"][0]
    assert first == "10 % more machines than by requests [5–20 %]"


def test_where_nothing_keeps_the_target_nothing_is_called_advice() -> None:
    nearest = way("gpa", 1e-9, 49.0, is_nearest=True)
    section = answered("packing_advice", [BY_REQUESTS, nearest])
    assert tile_texts(section)["savings"] == [
        "No packing tested is known to overload machines in at most 0.1 % of the time",
        "gpa 1e-09 with 49 machines comes nearest",
    ]
    [chart] = drawn_charts(manifest(**HELD), [section])
    assert chart.figure is not None
    rows = json.loads(chart.figure.spec)["data"]["values"]
    assert [(row["way"], row["machines"], row["promise"]) for row in rows] == [
        ("by requests", 40.0, "not known"),
        ("nearest:|gpa 1e-09", 49.0, "not known"),
    ]


def test_each_tile_and_chart_says_why_it_is_unknown() -> None:
    """A cell whose events are made from usage has no queue; another has no tasks that could be packed."""
    sections = [*SECTIONS[:2], not_applicable("packing_advice", "no long task is left of 7")]
    store = {**HELD, "notes": (DERIVED_EVENTS,)}
    texts = tile_texts(*sections, notes=(DERIVED_EVENTS,))
    assert texts["waiting"] == ["unknown", "events are derived from usage: nobody waits"]
    assert texts["savings"] == ["unknown", "no long task is left of 7"]
    charts = {chart.name: chart for chart in drawn_charts(manifest(**store), sections)}
    assert charts["fullness"].figure is not None
    assert (charts["waiting"].figure, charts["waiting"].reason) == (
        None,
        "events are derived from usage: nobody waits",
    )
    html = report_html(manifest(**store), "store", sections)
    assert "<strong>Unknown</strong>: no long task is left of 7" in html


def test_a_page_of_other_questions_has_no_tiles() -> None:
    html = report_html(manifest(), "store", [answered("task_totals", [])])
    assert 'class="tile"' not in html
    assert 'href="#cell"' not in html


@pytest.mark.parametrize("part", [*TILES, *CHARTS], ids=lambda part: f"{part.title}")
def test_a_part_of_the_first_screen_refuses_an_empty_answer(part: Any) -> None:
    """Every member of both lists: a question that has no rows leaves a reason, no empty picture."""
    read = getattr(part, "read", None) or part.draw
    question = find(part.question)
    with pytest.raises(NotApplicable):
        list(read(question.answer.empty(), manifest(**HELD)))


def test_the_charts_show_shares_of_the_capacity() -> None:
    chart, *_ = drawn_charts(manifest(**HELD), SECTIONS)
    assert chart.figure is not None
    spec = json.loads(chart.figure.spec)
    cpu, memory = (panel["data"]["values"] for panel in spec["vconcat"])
    drawn_shares = {(row["series"], row["hour"]): row["share"] for row in cpu}
    assert drawn_shares == pytest.approx(
        {
            ("used", 0): 0.2,
            ("used", 1): 0.5,
            ("used", 2): 0.2,
            ("requested", 0): 0.6,
            ("requested", 1): 0.8,
            ("requested", 2): 0.7,
            ("capacity", 0): 1.0,
            ("capacity", 2): 1.0,
        }
    )
    assert [row["share"] for row in memory if row["hour"] == 1] == pytest.approx([0.25, 0.4])


def test_answers_of_one_row_stay_what_they_are() -> None:
    """A cell of one hour: lines of one point, no error."""
    table = pa.Table.from_pylist(
        [row for row in UTILIZATION.result.table.to_pylist() if row["hour"] == 0]  # type: ignore[union-attr]
    )
    section = PageSection(
        UTILIZATION.question, "", Result(UTILIZATION.question, table, Provenance())
    )
    [chart] = drawn_charts(manifest(**HELD), [section])
    assert chart.figure is not None
    assert chart.figure.n_rows == 6
