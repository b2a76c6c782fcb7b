"""A real browser for tests: headless Chromium, or a skip that says what is missing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_FLAGS = (
    "headless",
    "no-sandbox",
    "disable-gpu",
    "disable-quic",
    "no-first-run",
    "disable-sync",
    "hide-scrollbars",
    "disable-background-networking",
    "disable-component-update",
    "disable-dev-shm-usage",
)


@contextmanager
def chromium(profile: Path) -> Iterator[Any]:
    """Start Chromium with an empty profile; yields the driver, which keeps what the console says."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    programs = [shutil.which("chromium"), shutil.which("chromedriver")]
    if None in programs:
        pytest.skip("no browser: chromium and chromedriver are not on the PATH")
    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    for flag in (*_FLAGS, f"user-data-dir={profile}"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(programs[1]))
    try:
        yield driver
    finally:
        driver.quit()


def shape(driver: Any, width: int, *, dark: bool = False, paper: bool = False) -> None:
    """Make the window `width` pixels wide, light or dark, a screen or paper."""
    size = {
        "width": width,
        "height": 900,
        "deviceScaleFactor": 1,
        "mobile": width < 600,
    }
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"media": "print" if paper else "screen", "features": [scheme]},
    )


def axe_violations(driver: Any) -> list[Any]:
    """Return all that axe-core finds in the page: how bad, which rule, and where."""
    axe = pytest.importorskip("axe_core_python", reason="axe-core is not installed (extra `test`)")
    script = next(Path(axe.__path__[0]).rglob("axe.min.js")).read_text("utf-8")
    summary = "result.violations.map(v => [v.impact, v.id, v.nodes.map(n => n.html.slice(0, 120))])"
    # Through the debugger, which the page's policy does not reach.
    answer = driver.execute_cdp_cmd(
        "Runtime.evaluate",
        {
            "expression": f"{script}; axe.run().then(result => {summary})",
            "awaitPromise": True,
            "returnByValue": True,
        },
    )
    violations: list[Any] = answer["result"]["value"]
    return violations
