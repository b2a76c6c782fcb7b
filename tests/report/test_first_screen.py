"""The first screen of a report: three tiles and three charts, from answers written by hand, in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
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
from borgtrace.storage import write_file
from borgtrace.store.coverage import DERIVED_EVENTS
from tests.browser import axe_violations

from .conftest import manifest
from .test_browser import BOXES, CONTRAST, WINDOWS, drawn
from .test_overview import HELD, UTILIZATION, answered, not_applicable

Browser = Callable[..., Any]
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
            "gpa 0.001 overloads at most 0.1 % of the time",
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


@pytest.fixture(scope="module")
def first_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with the three tiles and the three charts."""
    path = tmp_path_factory.mktemp("first") / "report.html"
    # Sections with charts of their own are beside the point.
    sections = [
        PageSection(
            item.question, item.note, Result(item.question, item.result.table, Provenance())
        )
        for item in SECTIONS
        if item.result is not None
    ]
    write_file(path, report_html(manifest(**HELD), "store", sections))
    return path


@pytest.mark.parametrize("window", WINDOWS.values(), ids=WINDOWS)
def test_the_first_screen_is_seen_without_scrolling(
    browser: Browser, first_page: Path, window: dict[str, Any]
) -> None:
    driver = browser(first_page, **window)
    assert drawn(driver) == ["drawn"] * 3
    run = driver.execute_script
    assert driver.get_log("browser") == []
    assert run(BOXES) == []
    assert run(CONTRAST) == []
    assert run("return document.documentElement.scrollWidth") <= window["width"]
    what, height = ("#cell", 800) if window["width"] == 1280 else (".tiles", 844)
    bottom = "return document.querySelector(arguments[0]).getBoundingClientRect().bottom + scrollY"
    assert run(bottom, what) <= height
    # No drawing is cut: neither by its place nor by its own edge.
    cut = """
        const cut = [];
        for (const chart of document.querySelectorAll(".screen .chart")) {
          const edge = chart.querySelector("svg").getBoundingClientRect();
          if (edge.width > chart.clientWidth + 1) cut.push([chart.dataset.chart, edge.width]);
          for (const text of chart.querySelectorAll("svg text")) {
            const box = text.getBoundingClientRect();
            if (box.width && (box.left < edge.left - 1 || box.right > edge.right + 1)) cut.push(text.textContent);
          }
        }
        return cut;"""
    assert run(cut) == []


def test_nothing_keeps_anybody_from_using_the_page(
    browser: Browser, first_page: Path, page: Path
) -> None:
    """What axe-core knows of accessibility: the first screen folded, on a phone; all of another page, in the dark."""
    assert axe_violations(browser(first_page, 390)) == []
    driver = browser(page, 1280, dark=True)
    drawn(driver)
    driver.execute_script(
        "document.querySelectorAll('#content details').forEach(item => { item.open = true; })"
    )
    assert axe_violations(driver) == []


def test_a_table_is_sorted_by_a_click_on_its_heading(browser: Browser, page: Path) -> None:
    driver = browser(page)
    drawn(driver)
    script = """
        const table = document.querySelector("#facets table.data");
        table.closest("details").open = true;
        const column = [...table.tHead.rows[0].cells].findIndex((cell) => /^n\\b/.test(cell.textContent.trim()));
        const heading = table.tHead.rows[0].cells[column];
        const values = () => [...table.tBodies[0].rows].map((row) => Number(row.cells[column].textContent));
        const before = values(), states = [];
        for (let click = 0; click < 2; click += 1) {
          heading.querySelector("button").click();
          states.push([heading.getAttribute("aria-sort"), values()]);
        }
        return [before, states];"""
    before, [largest_first, smallest_first] = driver.execute_script(script)
    assert len(set(before)) > 1
    assert largest_first == ["descending", sorted(before, reverse=True)]
    assert smallest_first == ["ascending", sorted(before)]


def test_charts_and_colours_are_defined_once(first_page: Path) -> None:
    """A colour of the page is a variable in the charts, so that it has a shade for dark ground."""
    html = first_page.read_text("utf-8")
    assert html.count("--c1:") == 3  # light, dark, on paper
    specs = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', html, re.DOTALL)
    assert len(specs) == 3
    for spec in specs:
        assert "#1f6fb4" not in spec
        assert "var(--c" in spec


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
