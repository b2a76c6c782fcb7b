"""Takes the pictures of the documentation: the first screen of the report, and the explorer.

``make measured`` calls it for the cell of the demo.  It needs chromium and chromedriver on the PATH.

Usage: python scripts/pictures.py STORE REPORT.html docs/assets
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WIDTH, HEIGHT = 1280, 800
FLAGS = ("headless", "no-sandbox", "disable-gpu", "hide-scrollbars", "disable-dev-shm-usage")
PATIENCE = 60
"""Seconds until a page has drawn its charts."""
REPORT_IS_DRAWN = """
    return [...document.querySelectorAll(".screen .chart")].every((chart) => chart.dataset.state === "drawn")
"""
EXPLORER_IS_DRAWN = """
    return document.querySelectorAll("canvas").length > 0 && document.readyState === "complete"
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("store", type=Path)
    parser.add_argument("report", type=Path)
    parser.add_argument("assets", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as profile, browser(profile) as driver:
        report = options.report.resolve().as_uri()
        take_picture(driver, report, REPORT_IS_DRAWN, options.assets / "report.png")
        with explorer(options.store) as address:
            take_picture(driver, address, EXPLORER_IS_DRAWN, options.assets / "explorer.png")


@contextmanager
def browser(profile: str) -> Iterator[Any]:
    """Start Chromium with a window of one screen."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (*FLAGS, f"user-data-dir={profile}"):
        options.add_argument(f"--{flag}")
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        yield driver
    finally:
        driver.quit()


@contextmanager
def explorer(store: Path) -> Iterator[str]:
    """Start the explorer on a store; yields its address."""
    command = [sys.executable, "-m", "borgtrace", "explore", str(store), "--no-browser", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()


def take_picture(driver: Any, address: str, is_drawn: str, path: Path) -> None:
    """Open a page, wait until it is drawn, and save what one screen shows."""
    driver.get(address)
    deadline = time.monotonic() + PATIENCE
    while not driver.execute_script(is_drawn):
        if time.monotonic() > deadline:
            raise SystemExit(f"{path.name}: the page was not drawn within {PATIENCE} s")
        time.sleep(0.2)
    # Charts appear one after the other within a moment of the first.
    time.sleep(2)
    driver.save_screenshot(str(path))


if __name__ == "__main__":
    main()
