"""The charts of all real questions, drawn by a real browser on a small synthetic store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import borgtrace
from borgtrace import report
from borgtrace.recipe import recipes
from borgtrace.store import Store

from .test_browser import BOXES, CONTRAST, drawn

Browser = Callable[..., Any]
COSTLY = ("packing", "sum_")
"""Names of questions that pack or add up tasks thousands of times begin so."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    from borgtrace.ingest import IngestOptions, ingest
    from borgtrace.synth import generate

    folder = tmp_path_factory.mktemp("real-charts")
    generate(folder / "raw", "2011", 8, 3.0, 1)
    ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
    return borgtrace.open(folder / "store")


def _look_at(browser: Browser, summary: report.Summary) -> None:
    """Open a page at both widths, in both lights."""
    assert summary.refused == {}
    assert summary.size < 3_000_000
    for width, dark in ((1280, False), (390, True), (390, False)):
        driver = browser(summary.path, width, dark=dark)
        assert drawn(driver) == ["drawn"] * summary.n_charts
        assert driver.get_log("browser") == []
        assert driver.execute_script(BOXES) == []
        assert driver.execute_script("return document.documentElement.scrollWidth") <= width
        empty = driver.execute_script(
            "return [...document.querySelectorAll('.chart')].filter(chart => "
            "!chart.querySelector('.role-mark path, .role-mark line, .role-mark text'))"
            ".map(chart => chart.dataset.chart)"
        )
        assert empty == []
        faint = [item for item in driver.execute_script(CONTRAST) if item[0] != "text"]
        assert faint == []


def test_questions_about_the_trace(browser: Browser, store: Store, tmp_path: Path) -> None:
    names = [name for name in recipes() if not name.startswith(COSTLY)]
    summary = report.write(store, tmp_path / "report.html", names)
    assert summary.n_questions == len(names)
    assert summary.n_charts > 25
    _look_at(browser, summary)


@pytest.mark.scale
def test_all_questions(browser: Browser, store: Store, tmp_path: Path) -> None:
    _look_at(browser, report.write(store, tmp_path / "report.html"))
