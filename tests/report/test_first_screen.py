"""The first screen of a report in a real browser: three tiles and three charts without scrolling."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from borgtrace.question import Provenance, Result
from borgtrace.report.page import report_html
from borgtrace.report.sections import PageSection
from borgtrace.storage import write_file
from tests.browser import axe_violations
from tests.first_screen.test_parts import SECTIONS

from .conftest import manifest
from .test_browser import BOXES, CONTRAST, WINDOWS, drawn
from .test_overview import HELD

Browser = Callable[..., Any]


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


@pytest.mark.wide
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
