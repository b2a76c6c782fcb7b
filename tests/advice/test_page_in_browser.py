"""The page of an advice in a real browser: wide and narrow, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from borgtrace.advice import Advice
from tests.browser import axe_violations, chromium, shape

CLIPPED = """
const clipped = [];
for (const element of document.querySelectorAll("body *")) {
  const style = getComputedStyle(element);
  const hides = ["hidden", "clip"].includes(style.overflowX) || style.textOverflow === "ellipsis";
  if (hides && element.scrollWidth > element.clientWidth + 1)
    clipped.push([element.tagName, element.textContent.slice(0, 40)]);
}
return clipped;
"""
"""What is cut off: wider than its room, and with no way to scroll to it."""
BEYOND = """
const width = document.documentElement.clientWidth;
return [...document.querySelectorAll("body *")]
  .filter((element) => !element.closest(".scroll") && element.getBoundingClientRect().right > width + 1)
  .map((element) => [element.tagName, element.textContent.slice(0, 40)]);
"""
"""What reaches beyond the window, but for tables that scroll."""
UNDRAWN = "return [...document.images].filter(i => !(i.complete && i.naturalWidth)).map(i => i.alt)"
WINDOWS = [(1280, False), (1280, True), (390, False), (390, True)]


@pytest.fixture(scope="module")
def driver(advice: Advice, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Yield a browser that shows the page."""
    folder = tmp_path_factory.mktemp("page")
    page: Path = folder / "advice.html"
    page.write_text(advice.to_html(), encoding="utf-8")
    with chromium(folder / "profile") as opened:
        opened.get(page.as_uri())
        yield opened


@pytest.mark.parametrize(("width", "is_dark"), WINDOWS)
def test_nothing_is_clipped_and_axe_finds_nothing(driver: Any, width: int, is_dark: bool) -> None:
    shape(driver, width, dark=is_dark)
    assert driver.execute_script("return document.images.length") > 0
    assert driver.execute_script(UNDRAWN) == []
    assert driver.execute_script(CLIPPED) == []
    assert driver.execute_script(BEYOND) == []
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    assert axe_violations(driver) == []


def test_the_console_is_silent(driver: Any) -> None:
    assert driver.get_log("browser") == []
