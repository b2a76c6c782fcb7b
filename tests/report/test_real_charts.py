"""The charts of all real questions, drawn by a real browser on a small synthetic store."""

from __future__ import annotations

import json
import re
import statistics
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import borgtrace
from borgtrace import report
from borgtrace.catalog import questions
from borgtrace.cli import main
from borgtrace.store import Store

from .test_browser import BOXES, CONTRAST, FITTING, drawn

pytestmark = pytest.mark.wide

Browser = Callable[..., Any]
COSTLY = ("packing", "sum_")
"""Names of questions that pack or add up tasks thousands of times begin so."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    from borgtrace.ingest import IngestOptions, ingest
    from borgtrace.synth import generate

    folder = tmp_path_factory.mktemp("real-charts")
    generate(
        folder / "raw",
        "2011",
        8,
        3.0,
        1,
    )
    ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
    return borgtrace.open(folder / "store")


def _look_at(browser: Browser, summary: report.Summary) -> None:
    """Open a page at both widths, one of them in the dark."""
    assert summary.refused == {}
    assert summary.size < 3_000_000
    for width, dark in ((1280, False), (390, True)):
        driver = browser(summary.path, width, dark=dark)
        on_screen = len(driver.find_elements("css selector", ".screen .chart"))
        assert drawn(driver) == ["drawn"] * (summary.n_charts + on_screen)
        assert driver.get_log("browser") == []
        assert driver.execute_script(BOXES) == []
        if width == 1280:
            assert driver.execute_script(FITTING, 280) == []
        assert driver.execute_script("return document.documentElement.scrollWidth") <= width
        # One screen: 1280 × 800, and 390 × 844, where the charts stand below the tiles.
        (what, height) = {1280: ("#cell", 800), 390: (".tiles", 844)}[width]
        bottom = (
            "return document.querySelector(arguments[0]).getBoundingClientRect().bottom + scrollY"
        )
        assert driver.execute_script(bottom, what) <= height
        empty = driver.execute_script(
            "return [...document.querySelectorAll('.chart')].filter(chart => "
            "!chart.querySelector('.role-mark path, .role-mark line, .role-mark text'))"
            ".map(chart => chart.dataset.chart)"
        )
        assert empty == []
        faint = [item for item in driver.execute_script(CONTRAST) if item[0] != "text"]
        assert faint == []


def test_questions_about_the_trace(browser: Browser, store: Store, tmp_path: Path) -> None:
    names = [name for name in questions() if not name.startswith(COSTLY)]
    summary = report.write(store, tmp_path / "report.html", names)
    assert summary.n_questions == len(names)
    assert summary.n_charts > 25
    _look_at(browser, summary)


@pytest.mark.scale
def test_all_questions(browser: Browser, store: Store, tmp_path: Path) -> None:
    _look_at(browser, report.write(store, tmp_path / "report.html"))


def test_the_first_screen_says_what_json_says(
    store: Store, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Six questions in ten seconds: how many, how full, which tier, how long a queue, what is missing, what to do."""
    names = ["machine_shapes", "utilization", "queue_length"]
    report.write(store, tmp_path / "report.html", names)
    page = (tmp_path / "report.html").read_text("utf-8")
    shown = dict(re.findall(r'<data id="cell-([^"]+)" value="([^"]*)"', page))
    answers = {}
    for name in names:
        with pytest.raises(SystemExit):
            main(
                [
                    "analyze",
                    str(store.path),
                    name,
                    "--json",
                ]
            )
        answers[name] = json.loads(capfd.readouterr().out)["rows"]
    assert int(shown["machines"]) == sum(row["n_last"] for row in answers["machine_shapes"])
    hours: defaultdict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for row in answers["utilization"]:
        hour = hours[row["hour"]]
        hour["capacity"] = row["cpu_capacity"]
        for what in ("used", "allocated"):
            hour[what] += row[f"cpu_{what}"]
            hour[f"{what}-{row['tier']}"] += row[f"cpu_{what}"]
    total = {
        name: sum(hour[name] for hour in hours.values()) for name in next(iter(hours.values()))
    }
    for what in ("used", "allocated"):
        assert float(shown[f"cpu-{what}-mean"]) == pytest.approx(total[what] / total["capacity"])
        most = max(hour[what] / hour["capacity"] for hour in hours.values())
        assert float(shown[f"cpu-{what}-peak"]) == pytest.approx(most)
    tiers = {
        name.partition("-")[2]: n for name, n in total.items() if name.startswith("allocated-")
    }
    first = next(name for name in shown if name.startswith("tier-"))
    assert first == f"tier-{max(tiers, key=lambda tier: tiers[tier])}"
    assert float(shown[first]) == pytest.approx(max(tiers.values()) / total["allocated"])
    steps = [
        row for row in answers["queue_length"] if row["time"] >= 900_000_000
    ]  # after the two of what was there
    assert float(shown["pending-median"]) == statistics.median(row["pending"] for row in steps)
    assert float(shown["pending-peak"]) == max(row["pending_max"] for row in steps)
    assert shown["missing-parts"] == "nothing"
    assert (
        "packing_advice is not on this page"
        in page.partition('id="fact-advice"')[2].partition("</div>")[0]
    )


def _shown(page: Path) -> dict[str, str]:
    return dict(re.findall(r'<data id="cell-([^"]+)" value="([^"]*)"', page.read_text("utf-8")))


def test_the_first_screen_of_the_real_parts(real_store: Path, tmp_path: Path) -> None:
    """All 12,583 machines (FACTS §2) and 12.7 hours of events, but five minutes of usage: what needs more says so."""
    names = ["machine_shapes", "utilization", "queue_length", "packing_advice"]
    report.write(borgtrace.open(real_store), tmp_path / "report.html", names)
    shown = _shown(tmp_path / "report.html")
    assert (shown["machines"], "cpu-used-mean" in shown) == ("12583", False)
    # Requests of the whole cell, and the tier with most of them.
    assert 0 < float(shown["cpu-allocated-mean"]) < 3
    assert next(name for name in shown if name.startswith("tier-"))
    assert "task events: 9 of 500 parts" in shown["missing-parts"]
    page = (tmp_path / "report.html").read_text("utf-8")
    for fact in ("used", "advice"):
        assert (
            "unknown: needs usage" in page.partition(f'id="fact-{fact}"')[2].partition("</div>")[0]
        ), fact
