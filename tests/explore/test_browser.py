"""The explorer in a real browser: from the cell to a window and back, by mouse and by keys, narrow and wide."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import chromium, shape

FIGURES = "return [...document.querySelectorAll('[data-draw]')].map(figure => figure.dataset.state)"
SIZES = [1280, 390]
Words = Callable[..., list[str]]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("chromium")) as one:
        yield one


@pytest.fixture(scope="module")
def base(cell_store: Path, driver: Any, command: Words) -> Iterator[str]:
    """The address of a running explorer that the browser has opened."""
    yield from serving(command("explore", cell_store, "--no-browser"), driver)


@pytest.fixture(scope="module")
def hostile_base(hostile_store: Path, driver: Any, command: Words) -> Iterator[str]:
    yield from serving(command("explore", hostile_store, "--no-browser"), driver)


def serving(words: list[str], driver: Any) -> Iterator[str]:
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        driver.get(address)
        yield address.partition("/?")[0]
        process.send_signal(signal.SIGINT)


def wait_for(condition: Callable[[], Any], seconds: float = 20) -> Any:
    """Wait until `condition` is true; fail with its last value where it never is."""
    deadline = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert value
    return value


def drawn(driver: Any) -> None:
    wait_for(lambda: (states := driver.execute_script(FIGURES)) and set(states) == {"drawn"})


def show(
    driver: Any,
    address: str,
    width: int = 1280,
    *,
    dark: bool = False,
) -> None:
    shape(driver, width, dark=dark)
    driver.get(address)
    driver.get_log("browser")


def quiet(driver: Any) -> None:
    """Nothing was refused by the policy, and nothing failed."""
    assert [
        entry for entry in driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")
    ] == []


def path(driver: Any) -> str:
    return str(driver.execute_script("return location.pathname + location.search"))


def press(driver: Any, selector: str, *keys: str) -> None:
    element = driver.find_element("css selector", selector)
    driver.execute_script("arguments[0].focus()", element)
    for key in keys:
        element.send_keys(key)


@pytest.mark.parametrize("width", SIZES)
def test_from_the_cell_to_a_window_and_back_by_click(driver: Any, base: str, width: int) -> None:
    from selenium.webdriver import ActionChains

    def click(element: Any, right: float, down: float) -> None:
        driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        # From the middle of the element, as Selenium counts.
        x, y = (
            element.size[side] * share - element.size[side] / 2
            for side, share in (("width", right), ("height", down))
        )
        ActionChains(driver).move_to_element_with_offset(element, int(x), int(y)).click().perform()

    show(driver, base, width)
    drawn(driver)
    click(
        driver.find_element("css selector", "[data-draw=heat] .u-over"), 0.1, 0.25
    )  # the first of two machines, for it was fuller while anything was measured
    wait_for(lambda: path(driver) == "/machine/8")
    drawn(driver)
    click(
        driver.find_element("css selector", ".lanes canvas"), 0.5, 0.7
    )  # its only task, below the axis
    wait_for(lambda: path(driver) == "/task/200/0")
    drawn(driver)
    click(
        driver.find_element("css selector", "[data-source$=cpu] .u-over"), 0.3, 0.5
    )  # 600 s + 0.3 · 1200 s
    wait_for(lambda: path(driver) == "/task/200/0?window=900000000")
    # 900 s of the trace, of which 600 s are before its start at 19:00.
    window = driver.find_element("id", "window").text
    assert "The window from 2011-05-01 19:05:00 EDT" in window
    quiet(driver)
    for expected in ("/task/200/0", "/machine/8", "/"):
        driver.back()
        wait_for(lambda expected=expected: path(driver) == expected)


@pytest.mark.wide
@pytest.mark.parametrize("width", [1280, pytest.param(390, marks=pytest.mark.scale)])
def test_from_the_cell_to_a_window_by_keys_alone(driver: Any, base: str, width: int) -> None:
    from selenium.webdriver import Keys

    show(driver, base, width)
    drawn(driver)
    press(driver, "[data-draw=heat] .canvas", Keys.ARROW_DOWN, Keys.ARROW_UP, Keys.ARROW_RIGHT)
    assert (
        "platform PLATFORM), 1 May, 19:05: 12.5 % used"
        in driver.find_element("css selector", "[data-told]").text
    )
    press(driver, "[data-draw=heat] .canvas", Keys.ENTER)
    wait_for(lambda: path(driver) == "/machine/8")
    drawn(driver)
    press(driver, "[data-draw=lanes] .canvas", Keys.ENTER)
    wait_for(lambda: path(driver) == "/task/200/0")
    drawn(driver)
    press(driver, "#usage summary", Keys.ENTER)
    press(driver, "#usage tbody a[href*=window]", Keys.ENTER)
    wait_for(lambda: path(driver) == "/task/200/0?window=600000000")
    drawn(driver)
    quiet(driver)


def test_the_tab_key_reaches_every_chart_and_leaves_it(driver: Any, base: str) -> None:
    from selenium.webdriver import ActionChains, Keys

    show(driver, base)
    drawn(driver)
    seen = []
    for _ in range(60):
        ActionChains(driver).send_keys(Keys.TAB).perform()
        script = "const e = document.activeElement; return e.closest('[data-draw]')?.dataset.source ?? e.textContent"
        seen.append(driver.execute_script(script))
    assert {
        f"/data/cell/{name}" for name in ("cpu", "memory", "pending", "running", "machines")
    } <= set(seen)
    assert "8" in seen  # a machine of the table below them


def test_zooming_one_chart_zooms_all_and_back_undoes_it(driver: Any, base: str) -> None:
    from selenium.webdriver import ActionChains, Keys

    show(driver, base)
    drawn(driver)
    over = driver.find_element("css selector", "[data-source$=pending] .u-over")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", over)
    width = over.size["width"]
    ActionChains(driver).move_to_element_with_offset(
        over, -width // 4, 0
    ).click_and_hold().move_by_offset(width // 4, 0).release().perform()
    wait_for(lambda: "from=" in path(driver))
    zoomed = path(driver)
    start, end = (int(part.partition("=")[2]) / 1e6 for part in zoomed.partition("?")[2].split("&"))
    assert (start, end) == (pytest.approx(900, abs=10), pytest.approx(1200, abs=10))
    links = driver.execute_script(
        "return [...document.querySelectorAll('[data-download=csv]')].map(link => link.search)"
    )
    assert set(links) == {zoomed.partition("/")[2]}
    drawn(driver)
    press(driver, "[data-source$=cpu] .canvas", "0")
    wait_for(lambda: path(driver) == "/")
    press(driver, "[data-source$=cpu] .canvas", Keys.ARROW_RIGHT, "+")
    wait_for(lambda: "from=" in path(driver))
    driver.back()
    driver.back()
    wait_for(lambda: path(driver) == zoomed)
    quiet(driver)


def test_sql_completes_and_answers(driver: Any, base: str) -> None:
    from selenium.webdriver import ActionChains, Keys

    show(driver, f"{base}/sql")
    wait_for(lambda: driver.find_elements("css selector", ".CodeMirror"))
    driver.execute_script("document.querySelector('.CodeMirror').CodeMirror.setValue('')")
    driver.find_element("css selector", ".CodeMirror").click()
    ActionChains(driver).send_keys("select count(*) as n from instance_us").perform()
    wait_for(
        lambda: (
            "instance_usage"
            in [hint.text for hint in driver.find_elements("css selector", ".CodeMirror-hint")]
        )
    )
    ActionChains(driver).send_keys(Keys.ENTER).key_down(Keys.CONTROL).send_keys(Keys.ENTER).key_up(
        Keys.CONTROL
    ).perform()
    wait_for(lambda: "q=select" in path(driver))
    assert driver.find_element("css selector", "table.data").text.split() == ["n", "5"]
    quiet(driver)


def drag(driver: Any, selector: str, pixels: int, *, is_shifted: bool = False) -> None:
    """Drag with the mouse from the middle of an element to the right."""
    from selenium.webdriver import ActionChains, Keys

    element = driver.find_element("css selector", selector)
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    hand = ActionChains(driver).move_to_element(element)
    if is_shifted:
        hand = hand.key_down(Keys.SHIFT)
    hand = hand.click_and_hold().move_by_offset(pixels, 0).release()
    if is_shifted:
        hand = hand.key_up(Keys.SHIFT)
    hand.perform()


def span_of(driver: Any) -> tuple[float, float]:
    """The range of the address, in seconds."""
    query = driver.execute_script("return Object.fromEntries(new URLSearchParams(location.search))")
    return int(query["from"]) / 1e6, int(query["to"]) / 1e6


@pytest.mark.parametrize(
    ("selector", "is_shifted"),
    [
        ("[data-source$=cpu] .u-over", True),
        ("[data-source$=cpu] .u-axis", False),
        (".lanes canvas", False),
    ],
)
def test_dragging_pans(driver: Any, base: str, selector: str, is_shifted: bool) -> None:
    # Five minutes of twenty are shown: there is room on both sides.
    show(driver, f"{base}/machine/7?from=900000000&to=1200000000")
    drawn(driver)
    drag(driver, selector, 120, is_shifted=is_shifted)
    wait_for(lambda: "from=900000000" not in path(driver))
    start, end = span_of(driver)
    assert path(driver).startswith("/machine/7")
    assert end - start == pytest.approx(300)
    assert 600 <= start < 900
    driver.back()
    wait_for(lambda: span_of(driver) == (900, 1200))
    quiet(driver)


def test_the_wheel_zooms_at_the_pointer(driver: Any, base: str) -> None:
    from selenium.webdriver import ActionChains, Keys
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin

    show(driver, f"{base}/machine/7")
    drawn(driver)
    over = driver.find_element("css selector", "[data-source$=cpu] .u-over")
    origin = ScrollOrigin.from_element(over)
    ActionChains(driver).key_down(Keys.CONTROL).scroll_from_origin(origin, 0, -100).key_up(
        Keys.CONTROL
    ).perform()
    wait_for(lambda: "from=" in path(driver))
    start, end = span_of(driver)
    # Twenty minutes from 600 s on, to four fifths around their middle.
    assert (start, end) == (pytest.approx(720, abs=15), pytest.approx(1680, abs=15))


def test_the_time_under_the_pointer_is_said_for_charts_and_lanes(driver: Any, base: str) -> None:
    from selenium.webdriver import ActionChains

    show(driver, f"{base}/machine/7")
    drawn(driver)
    for selector in ("[data-source$=cpu] .u-over", ".lanes canvas"):
        ActionChains(driver).move_to_element(
            driver.find_element("css selector", selector)
        ).perform()
        pointer = driver.find_element("css selector", "[data-pointer]")
        wait_for(lambda pointer=pointer: pointer.text.startswith("Pointer: 1 May, 19:"))
        # In hours since the start: the whole trace lasts a third of one.
        hours = float(pointer.text.partition("(")[2].partition(" h")[0])
        assert 0 < hours < 0.34
    # A chart says what it has where the pointer is in the lanes.
    values = driver.find_elements("css selector", "[data-source$=cpu] .legend b")
    wait_for(lambda: any(value.text for value in values))
    ActionChains(driver).move_to_element(driver.find_element("css selector", "h1")).perform()
    wait_for(lambda: driver.find_element("css selector", "[data-pointer]").text == "")


@pytest.mark.parametrize("chart", ["cpu", "tasks"])
def test_a_chart_is_saved_as_a_picture(driver: Any, base: str, tmp_path: Path, chart: str) -> None:
    show(driver, f"{base}/machine/7")
    drawn(driver)
    driver.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)}
    )
    driver.find_element("css selector", f"[data-source$={chart}] [data-png]").click()
    file = tmp_path / f"machine-7-{chart}.png"
    wait_for(file.exists)
    assert file.read_bytes().startswith(b"\x89PNG")
    width = int.from_bytes(file.read_bytes()[16:20])
    canvas = driver.find_element("css selector", f"[data-source$={chart}] canvas")
    assert width == int(canvas.get_attribute("width")) + 24
    quiet(driver)


def test_queries_are_kept_as_links(driver: Any, base: str) -> None:
    query = "select+1+as+one"
    show(driver, f"{base}/sql?q={query}")
    wait_for(lambda: driver.find_element("css selector", "[data-save]").is_displayed())
    driver.find_element("css selector", "[data-save]").click()
    driver.get(f"{base}/sql")
    (link,) = driver.find_elements("css selector", "[data-saved] a")
    assert link.text == "select 1 as one"
    link.click()
    wait_for(lambda: path(driver) == f"/sql?q={query}")
    driver.find_element("css selector", "[data-saved] li button").click()
    assert not driver.find_element("css selector", "[data-saved]").is_displayed()
    quiet(driver)


def test_the_pointer_in_the_map_names_the_machine(driver: Any, base: str) -> None:
    from selenium.webdriver import ActionChains

    show(driver, base)
    drawn(driver)
    over = driver.find_element("css selector", "[data-draw=heat] .u-over")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", over)
    ActionChains(driver).move_to_element_with_offset(over, 0, -over.size["height"] // 4).perform()
    told = driver.find_element("css selector", "[data-told]")
    wait_for(lambda: told.text.startswith("machine 8 (CPU 1, memory 1 of the largest machine, "))


@pytest.mark.parametrize(
    "view",
    [
        "/",
        "/machine/7",
        "/job/1002",
        "/task/1003/0",
        "/facets",
        "/jobs",
        "/sql?q=select+*+from+tasks+limit+50",
    ],
)
def test_hostile_names_run_nothing(driver: Any, hostile_base: str, view: str) -> None:
    show(driver, hostile_base + view)
    if driver.execute_script(FIGURES):
        drawn(driver)
    assert "hacked" not in driver.title
    script = "return document.querySelectorAll('main img, main svg, main script').length"
    assert driver.execute_script(script) == 0
    quiet(driver)
