"""What can be wrong with a page in a window, as far as a browser can measure it."""

from __future__ import annotations

import time
from typing import Any

FAULTS = r"""
// A phone makes its window as wide as what it shows: its own width is said.
const faults = [], windowWidth = arguments[0];
const page = document.documentElement;
if (page.scrollWidth > windowWidth) faults.push(["wider than the window", page.scrollWidth]);

const isShown = (element) => element.getBoundingClientRect().width > 0;
for (const chart of document.querySelectorAll("[data-chart]")) {
  const name = chart.dataset.chart, svg = chart.querySelector("svg");
  if (!svg) { faults.push(["not drawn", name, chart.textContent]); continue; }
  if (chart.scrollWidth > chart.clientWidth + 1) faults.push(["chart scrolls", name, chart.scrollWidth]);
  const edge = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll("text")].filter(
    (text) => text.textContent.trim() && text.getAttribute("opacity") !== "0" && isShown(text));
  const boxes = texts.map((text) => text.getBoundingClientRect());
  texts.forEach((text, i) => {
    const box = boxes[i], size = parseFloat(getComputedStyle(text).fontSize), words = text.textContent;
    const isBeside = box.left < edge.left - 1 || box.right > edge.right + 1;
    const isAbove = box.top < edge.top - 1 || box.bottom > edge.bottom + 1;
    if (isBeside || isAbove || words.endsWith("…")) faults.push(["text cut", name, words]);
    if (size < 10) faults.push(["text too small", name, words]);
    for (const other of boxes.slice(0, i)) {
      const wide = Math.min(box.right, other.right) - Math.max(box.left, other.left);
      const high = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top);
      // A box has room above and below its letters.
      if (wide > 1 && high > 0.3 * size) faults.push(["texts overlap", name, words]);
    }
  });
}

for (const image of document.images) {
  const shown = image.getBoundingClientRect().width / image.naturalWidth;
  if (!(shown > 0.95)) faults.push(["picture too small to read", image.alt, shown]);
}

for (const element of document.querySelectorAll("body *")) {
  // The editor moves what it shows by itself.
  if (element.closest("svg, .hidden, .hash, .CodeMirror")) continue;
  const style = getComputedStyle(element), words = element.textContent.slice(0, 40);
  const hides = ["hidden", "clip"].includes(style.overflowX) || style.textOverflow === "ellipsis";
  if (hides && element.scrollWidth > element.clientWidth + 1) faults.push(["clipped", element.tagName, words]);
  const isBeyond = element.getBoundingClientRect().right > windowWidth + 1;
  const canScroll = element.closest("[tabindex='0'], .scroll, pre");
  if (isBeyond && !canScroll) faults.push(["beyond the window", element.tagName, words]);
}
return faults;
"""
"""All that is cut, hidden, too small, too wide, or on top of something else."""
OPEN_FOLDS = "document.querySelectorAll('main details').forEach(item => { item.open = true; })"
STATES = "return [...document.querySelectorAll('[data-chart], [data-draw]')].map(one => one.dataset.state)"


def wait_until_drawn(driver: Any, seconds: float = 60) -> None:
    """Open all folds, and wait until all charts are drawn."""
    driver.execute_script(OPEN_FOLDS)
    deadline = time.monotonic() + seconds
    while set(states := driver.execute_script(STATES)) - {"drawn"}:
        assert time.monotonic() < deadline, states
        time.sleep(0.05)


ALIKE = ".chart svg :is(path, rect, line), table.data tbody tr:nth-child(n + 4)"
"""Shapes of charts, which have no name of their own, and rows of answers that are like the three before them."""


def leave_out_what_is_alike(driver: Any) -> None:
    """Take thousands of like elements out of the page: axe-core would look at them for a minute."""
    driver.execute_script("document.querySelectorAll(arguments[0]).forEach(e => e.remove())", ALIKE)


def faults(driver: Any, width: int) -> list[Any]:
    """Return what is wrong with the page that a browser shows in a window of a width."""
    faults_of_page: list[Any] = driver.execute_script(FAULTS, width)
    return faults_of_page
