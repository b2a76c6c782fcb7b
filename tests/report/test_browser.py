"""The page in a real browser."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from . import questions_of_tests as questions

STATES = "return [...document.querySelectorAll('[data-chart]')].map(chart => chart.dataset.state)"
N_CHARTS = len(questions.QUESTIONS) - 1
Browser = Callable[..., Any]


def wait_for(condition: Callable[[], Any], seconds: float = 20) -> Any:
    """Wait until `condition` is true; fail with its last value where it never is."""
    deadline = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert value
    return value


def drawn(driver: Any) -> list[str]:
    """Open all questions, and wait until all charts are drawn."""
    driver.execute_script(
        "document.querySelectorAll('details.question, details.group').forEach(item => { item.open = true; })"
    )
    states: list[str] = wait_for(
        lambda: (
            (found := driver.execute_script(STATES))
            and not {"waiting", "drawing"} & set(found)
            and found
        )
    )
    return states


def tooltip(driver: Any, mark: Any) -> str:
    """Move the pointer onto a mark, again and again while the page still settles, and read what it shows."""
    from selenium.webdriver import ActionChains

    def shown() -> Any:
        ActionChains(driver).move_to_element_with_offset(mark, 2, 2).move_to_element(mark).perform()
        tip = "const tip = document.querySelector('#vg-tooltip-element.visible'); return tip && tip.textContent"
        return driver.execute_script(tip)

    return str(wait_for(shown))


def errors(driver: Any) -> list[Any]:
    return list(driver.get_log("browser"))


BOXES = """
const found = [];
for (const chart of document.querySelectorAll(".chart")) {
  const texts = [...chart.querySelectorAll("svg text")].filter(
    (text) => text.textContent.trim() && text.getAttribute("opacity") !== "0");
  const boxes = texts.map((text) => text.getBoundingClientRect());
  texts.forEach((text, i) => {
    const size = parseFloat(getComputedStyle(text).fontSize), name = chart.dataset.chart;
    if (size < 10) found.push([name, text.textContent, size]);
    for (let j = 0; j < i; j += 1) {
      const [a, b] = [boxes[i], boxes[j]];
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      // A box has room above and below its letters.
      if (wide > 1 && high > 0.3 * size) found.push([name, text.textContent, texts[j].textContent]);
    }
  });
}
return found;
"""
"""Texts of charts that are smaller than 10 pixels, and pairs that lie on each other."""

CONTRAST = """
const channels = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
const light = (text) => {
  const linear = v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const [r, g, b] = channels(text).map(v => linear(v / 255));
  return .2126 * r + .7152 * g + .0722 * b;
};
const ground = (element) => {
  for (let e = element; e; e = e.parentElement) {
    const colour = getComputedStyle(e).backgroundColor;
    if (!/^rgba.*, 0\\)$/.test(colour)) return colour;
  }
  return "rgb(255, 255, 255)";
};
const result = [];
const texts = document.querySelectorAll("main *, nav *, .synthetic, .chart text");
for (const element of texts) {
  if (![...element.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
  const style = getComputedStyle(element);
  if (element.closest("script, style, noscript, .hidden, .anchor")) continue;
  const ink = element.closest("svg") ? style.fill : style.color;
  const [a, b] = [light(ink), light(ground(element))];
  const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  if (ratio < 4.5) result.push([element.tagName, element.textContent.slice(0, 40), ink, ratio]);
}
return result;
"""


FITTING = """
const found = [];
for (const chart of document.querySelectorAll("#content .chart")) {
  const name = chart.dataset.chart, svg = chart.querySelector("svg");
  if (svg.getBoundingClientRect().width > chart.clientWidth + 12) found.push([name, "wider than its place"]);
  for (const panel of chart.querySelectorAll(".role-scope > g > path.background")) {
    // What a legend lists is drawn as panels, too.
    const isPanel = !panel.closest('[class*="role-legend"]'), width = panel.getBoundingClientRect().width;
    if (isPanel && width > 0 && width < arguments[0]) found.push([name, "panel", width]);
  }
  for (const text of chart.querySelectorAll("svg .role-axis-label text")) {
    if (text.textContent.endsWith("…")) found.push([name, "cut", text.textContent]);
  }
}
return found;
"""
"""Charts that are wider than their place, panels that are narrower than a width, and names that are cut."""


class PageInWindow(NamedTuple):
    """What a page shows in a window of one width, light, dark or on paper."""

    width: int
    states: list[str]
    errors: list[Any]
    chart_sizes: list[dict[str, float]]
    n_marks: list[int]
    chart_names: list[str]
    text_boxes: list[Any]
    faint_texts: list[Any]
    scroll_width: int


WINDOWS = {
    "wide": {"width": 1280},
    "wide and dark": {"width": 1280, "dark": True},
    "narrow": {"width": 390},
    "narrow and dark": {"width": 390, "dark": True},
    "paper": {"width": 1280, "paper": True},
}


@pytest.fixture(scope="module", params=WINDOWS.values(), ids=WINDOWS)
def shown(request: pytest.FixtureRequest, browser: Browser, page: Path) -> PageInWindow:
    """Open the page in a window, draw all of it, and measure what it shows."""
    window = request.param
    driver = browser(page, **window)
    states = drawn(driver)
    run = driver.execute_script
    return PageInWindow(
        width=window["width"],
        states=states,
        errors=errors(driver),
        chart_sizes=run(
            "return [...document.querySelectorAll('.chart svg')].map(svg => svg.getBoundingClientRect().toJSON())"
        ),
        n_marks=run(
            "return [...document.querySelectorAll('.chart')].map(chart => "
            "chart.querySelectorAll('.mark-line path, .mark-rect path, .mark-symbol path').length)"
        ),
        chart_names=run(
            "return [...document.querySelectorAll('.chart')].map(chart => chart.getAttribute('aria-label'))"
        ),
        text_boxes=run(BOXES),
        faint_texts=run(CONTRAST),
        scroll_width=run("return document.documentElement.scrollWidth"),
    )


@pytest.mark.wide
def test_every_chart_is_drawn_without_an_error(shown: PageInWindow) -> None:
    assert shown.states == ["drawn"] * N_CHARTS
    assert shown.errors == []
    assert len(shown.chart_sizes) == N_CHARTS
    assert all(size["width"] > 200 and size["height"] > 40 for size in shown.chart_sizes)
    assert len(shown.n_marks) == N_CHARTS
    assert all(n > 0 for n in shown.n_marks)


def test_the_page_never_scrolls_sideways(shown: PageInWindow) -> None:
    assert shown.scroll_width <= shown.width


def test_texts_of_charts_are_readable(shown: PageInWindow) -> None:
    assert shown.text_boxes == []


def test_all_text_stands_out_from_its_background(shown: PageInWindow) -> None:
    """At least 4.5 : 1, as WCAG 2 level AA asks."""
    assert shown.faint_texts == []


def test_charts_fit_their_place_with_panels_wide_enough(browser: Browser, page: Path) -> None:
    driver = browser(page, 1280)
    drawn(driver)
    assert driver.execute_script(FITTING, 280) == []


def test_charts_have_a_name_for_screen_readers(shown: PageInWindow) -> None:
    assert len(shown.chart_names) == N_CHARTS
    assert all(
        (name and "chart" in name) or "map" in name or "plot" in name for name in shown.chart_names
    )


def test_contents_links_lead_to_their_sections(browser: Browser, page: Path) -> None:
    driver = browser(page)
    drawn(driver)
    links = driver.find_elements("css selector", "nav a")
    # The cell, the holdings, the quality, the claims, what does not apply, how to cite; and each answered question.
    assert len(links) == 6 + N_CHARTS
    for link in links:
        link.click()
        target = link.get_attribute("href").partition("#")[2]
        top, at_end = driver.execute_script(
            "const t = document.getElementById(arguments[0]).getBoundingClientRect().top;"
            "return [t, innerHeight + scrollY >= document.documentElement.scrollHeight - 2]",
            target,
        )
        assert -2 <= top < 60 or (at_end and 0 <= top < 900)


def test_contents_are_folded_on_a_phone_and_open_on_tap(browser: Browser, page: Path) -> None:
    driver = browser(page, 390)
    contents = driver.find_element("id", "contents")
    assert not contents.get_property("open")
    contents.find_element("tag name", "summary").click()
    assert contents.get_property("open")


def test_a_tooltip_shows_a_value(browser: Browser, page: Path) -> None:

    driver = browser(page)
    drawn(driver)
    chart = driver.find_element("css selector", "[data-chart=side-by-side]")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
    point = chart.find_elements("css selector", ".mark-symbol path")[150]
    text = tooltip(driver, point)
    assert "hour" in text
    assert "CPU" in text
    assert any(char.isdigit() for char in text)


def test_dragging_moves_the_axes_and_double_click_resets(browser: Browser, page: Path) -> None:
    from selenium.webdriver import ActionChains

    driver = browser(page)
    drawn(driver)
    chart = driver.find_element("css selector", "[data-chart=queue-steps]")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)

    def labels() -> str:
        script = "return [...arguments[0].querySelectorAll('.mark-text text')].map(t => t.textContent).join()"
        return str(driver.execute_script(script, chart))

    before = labels()
    ActionChains(driver).move_to_element_with_offset(
        chart, -60, 30
    ).click_and_hold().move_by_offset(120, 0).release().perform()
    wait_for(lambda: labels() != before)
    ActionChains(driver).move_to_element_with_offset(chart, -60, 30).double_click().perform()
    wait_for(lambda: labels() == before)


def test_the_plain_wheel_scrolls_the_page_and_not_the_chart(browser: Browser, page: Path) -> None:
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin

    driver = browser(page)
    drawn(driver)
    chart = driver.find_element("css selector", "[data-chart=queue-steps]")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
    before = driver.execute_script("return scrollY")
    ActionChains(driver).scroll_from_origin(ScrollOrigin.from_element(chart), 0, 200).perform()
    assert wait_for(lambda: driver.execute_script("return scrollY") > before)


def test_charts_follow_the_window(browser: Browser, page: Path) -> None:
    driver = browser(page, 1280)
    drawn(driver)
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {
            "width": 700,
            "height": 900,
            "deviceScaleFactor": 1,
            "mobile": False,
        },
    )
    wait_for(
        lambda: driver.execute_script(
            "return [...document.querySelectorAll('.chart')].every(chart => "
            "Number(chart.dataset.width) < 700 && chart.dataset.state === 'drawn')"
        )
    )
    assert driver.execute_script("return document.documentElement.scrollWidth") <= 700


def test_overlapping_texts_are_found(browser: Browser, page: Path) -> None:
    driver = browser(page)
    drawn(driver)
    script = """
        const [one, other] = document.querySelectorAll(".chart .role-axis-title text");
        one.parentNode.append(one.cloneNode(true));
        other.style.fontSize = "9px";"""
    driver.execute_script(script)
    assert len(driver.execute_script(BOXES)) == 2


FILTERED = "return [...document.querySelectorAll('.question')].filter(item => item.offsetParent).map(item => item.id)"


def test_questions_are_folded_and_a_link_opens_one(browser: Browser, page: Path) -> None:
    driver = browser(page)
    opened = "return [...document.querySelectorAll('.question[open]')].map(item => item.id)"
    assert driver.execute_script(opened) == []
    driver.find_element("css selector", "nav a[href='#facets']").click()
    wait_for(lambda: driver.execute_script(opened) == ["facets"])
    driver.execute_script("document.querySelector('#facets').open = false")
    driver.find_element("css selector", "nav a[href='#facets']").click()
    wait_for(lambda: driver.execute_script(opened) == ["facets"])


def test_the_filter_finds_questions_by_verdict_and_text(browser: Browser, page: Path) -> None:
    driver = browser(page)
    everything = driver.execute_script(FILTERED)
    assert len(everything) == N_CHARTS

    def choose(**values: str) -> list[str]:
        script = """
            for (const [name, value] of Object.entries(arguments[0])) {
              const field = document.getElementById("filter").elements[name];
              field.value = value;
              field.dispatchEvent(new Event("input", { bubbles: true }));
            }"""
        driver.execute_script(
            script,
            {
                "topic": "",
                "verdict": "",
                "text": "",
                **values,
            },
        )
        return list(driver.execute_script(FILTERED))

    # The queue has a peak (holds) and a mean above a half (does not hold); the second has the latter alone.
    assert choose(verdict="holds") == ["queue-steps"]
    assert choose(verdict="fails") == ["queue-steps", "side-by-side"]
    assert choose(verdict="none") == ["facets", "heat-map", "interactive"]
    assert choose(text="QUEUE peak") == ["queue-steps"]
    assert choose(text="no such words") == []
    assert "0 of 5 questions" in driver.find_element("css selector", "#filter output").text
    assert choose(topic="tests.report") == everything


def test_charts_and_tables_are_saved_from_the_page(browser: Browser, page: Path) -> None:
    driver = browser(page, dark=True)
    drawn(driver)
    driver.set_script_timeout(20)
    script = """
        const done = arguments[0], wanted = 4, saved = [];
        HTMLAnchorElement.prototype.click = function () {};
        URL.createObjectURL = (blob) => {
          saved.push(blob);
          if (saved.length === wanted) {
            const read = (one) => one.text().then((text) => [one.type, one.size, text.slice(0, 4000)]);
            Promise.all(saved.map(read)).then(done);
          }
          return "blob:none";
        };
        const section = document.getElementById("facets");
        for (const button of section.querySelectorAll(".downloads button")) {
          if (button.textContent !== "PDF") button.click();
        }"""
    saved = {
        kind + str(i): (size, text)
        for i, (kind, size, text) in enumerate(driver.execute_async_script(script))
    }
    texts = [text for _, text in saved.values()]
    drawing = next(text for text in texts if text.startswith("<svg"))
    assert "var(--" not in drawing
    assert "#14171c" in drawing  # the dark paper
    assert any(kind.startswith("image/png") and size > 5000 for kind, (size, _) in saved.items())
    chart, table = (
        text.splitlines()
        for text in texts
        if "," in text.split("\n")[0] and not text.startswith("<")
    )
    assert set(chart[0].split(",")) >= {"series", "cpu"}
    assert table[0].split(",")[0] == "series"
    assert table[1].split(",")[:2] == ["a", "0"]


def test_one_chart_is_printed_alone(browser: Browser, page: Path) -> None:
    driver = browser(page)
    drawn(driver)
    seen = driver.execute_script("""
        let seen = null;
        const parts = [...document.querySelectorAll("figure, h1, h2, nav")];
        const inSight = () => parts.filter((e) => e.offsetParent).length;
        window.print = () => { seen = inSight(); };
        const pdf = (b) => b.textContent === "PDF";
        [...document.querySelectorAll("#facets .downloads button")].find(pdf).click();
        return [seen, document.querySelectorAll("main [hidden]").length];""")
    assert seen == [1, 0]


def test_print_opens_all_folds(browser: Browser, page: Path) -> None:
    driver = browser(page)
    drawn(driver)
    driver.execute_script(
        "document.querySelectorAll('#content details').forEach(item => { item.open = false; })"
    )
    opened = (
        "return [...document.querySelectorAll('#content details')].filter(item => item.open).length"
    )
    assert driver.execute_script(opened) == 0
    driver.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert driver.execute_script(opened) == len(
        driver.find_elements("css selector", "#content details")
    )
    driver.execute_script("window.dispatchEvent(new Event('afterprint'))")
    assert driver.execute_script(opened) == 0
