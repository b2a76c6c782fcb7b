"""The page of a reproduced paper in a real browser: wide and narrow, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import borgtrace
from borgtrace.reproduction import ReproductionOptions, find_paper, reproduce
from borgtrace.reproduction.files import write_reproduction
from tests.browser import axe_violations, chromium, shape

BEYOND = """
const width = document.documentElement.clientWidth;
return [...document.querySelectorAll("body *")]
  .filter((element) => !element.closest(".scroll, pre") && element.getBoundingClientRect().right > width + 1)
  .map((element) => [element.tagName, element.textContent.slice(0, 40)]);
"""
"""What reaches beyond the window, but for tables that scroll."""
UNDRAWN = "return [...document.images].filter(i => !(i.complete && i.naturalWidth)).map(i => i.alt)"
WINDOWS = [(1280, False), (1280, True), (390, False), (390, True)]


@pytest.fixture(scope="module")
def driver(synthetic: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Yield a browser that shows a page with wide figures, narrow ones, tables, and an item that is missing."""
    folder = tmp_path_factory.mktemp("page")
    items = ("table-1", "fig-1", "fig-4", "fig-7", "fig-14")
    paper = find_paper("tirmazi2020")
    reproduction = reproduce(paper, borgtrace.open(synthetic), ReproductionOptions(only=items))
    files = write_reproduction(reproduction, folder / "paper")
    with chromium(folder / "profile") as opened:
        opened.get(files.page.as_uri())
        # References that are closed have colors, too.
        opened.execute_script("document.querySelector('details').open = true")
        yield opened


@pytest.mark.parametrize(("width", "is_dark"), WINDOWS)
def test_nothing_lies_beyond_the_window_and_axe_finds_nothing(
    driver: Any, width: int, is_dark: bool
) -> None:
    shape(driver, width, dark=is_dark)
    assert driver.execute_script("return document.images.length") >= 2
    assert driver.execute_script(UNDRAWN) == []
    assert driver.execute_script(BEYOND) == []
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    assert axe_violations(driver) == []


def test_the_console_is_silent(driver: Any) -> None:
    assert driver.get_log("browser") == []
