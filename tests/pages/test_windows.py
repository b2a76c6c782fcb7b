"""Every kind of page in every window: wide and narrow, light and dark."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import borgtrace
from borgtrace.catalog import find
from borgtrace.cli.commands.compare import answers_by_question, write_comparison
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.interactive import Store
from borgtrace.question.job_distances import distances
from borgtrace.reproduction import ReproductionOptions, find_paper, reproduce
from borgtrace.reproduction.files import write_reproduction
from borgtrace.synth import generate
from tests.browser import axe_violations, chromium, shape

from .faults import faults, leave_out_what_is_alike, wait_until_drawn

pytestmark = pytest.mark.wide

COMPARED = ("utilization", "transitions", "data_quality")
QUESTIONS = (*COMPARED, "machine_shapes", "run_times", "reservation")
"""Lines, areas, bars, points, heat maps and a diagram; in panels, in rows and columns of panels, and alone."""
ITEMS = ("table-1", "fig-1", "fig-4", "fig-7", "fig-14")
"""Of the paper: figures of a column and of a page, tables, and one that is missing."""
VIEWS = {
    "cell": "/",
    "machines": "/machines",
    "machine": "/machine/{machine}",
    "jobs": "/jobs?sort=-n_tasks",
    "job": "/job/{job}",
    "task": "/task/{job}/0",
    "facets": "/facets",
    "tables": "/tables",
    "table": "/tables/instance_events?filter=type:is:SUBMIT",
    "moment": "/machine/{machine}?at=20m",
    "query": "/sql?q=select+1",
    "nothing": "/nothing",
}
FILES = ("report", "comparison", "advice", "reproduction")
WINDOWS = ((1280, False), (1280, True), (390, False), (390, True))
"""Widths of windows, and whether they are dark."""
HEAVIEST = 3_000_000
"""Bytes of a page."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A generated cell, for pages say so in a banner."""
    folder = tmp_path_factory.mktemp("cell")
    generate(folder / "raw", "2011", 3, 3.0, 1)
    ingest([folder / "raw"], folder / "cell", IngestOptions(jobs=1))
    return borgtrace.open(folder / "cell")


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


@pytest.fixture(scope="module")
def files(store: Store, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the pages that are files, by their kind."""
    folder = tmp_path_factory.mktemp("pages")
    store.report(folder / "report.html", list(QUESTIONS))
    stores = {"one": store, "other": store}
    answers = answers_by_question(stores, [find(name) for name in COMPARED], "1GB")
    write_comparison(folder, stores, distances(stores), answers)
    (folder / "advice.html").write_text(borgtrace.advise(store).to_html(), "utf-8")
    paper = reproduce(find_paper("tirmazi2020"), store, ReproductionOptions(only=ITEMS))
    reproduction = write_reproduction(paper, folder / "paper")
    return {
        "report": folder / "report.html",
        "comparison": folder / "compare.html",
        "advice": folder / "advice.html",
        "reproduction": reproduction.page,
    }


@pytest.fixture(scope="module")
def explorer(store: Store, driver: Any, command: Callable[..., list[str]]) -> Iterator[str]:
    """Return the address of a running explorer that the browser has opened."""
    words = command("explore", store.path, "--no-browser")
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        driver.get(address)
        yield address.partition("/?")[0]
        process.send_signal(signal.SIGINT)


@pytest.fixture(scope="module")
def things(store: Store) -> dict[str, int]:
    """Return a machine and a job that have usage."""
    query = """
        select machine_id as machine, collection_id as job
        from instance_usage
        where machine_id is not null
        order by all
        limit 1
    """
    (row,) = store.sql(query).to_pylist()
    return dict(row)


def check(driver: Any, address: str, width: int, *, dark: bool) -> None:
    """Open a page in a window: nothing is cut or hidden, and anybody can use it."""
    shape(driver, width, dark=dark)
    driver.get(address)
    wait_until_drawn(driver)
    assert faults(driver, width) == []
    leave_out_what_is_alike(driver)
    assert axe_violations(driver) == []


@pytest.mark.parametrize(("width", "dark"), WINDOWS)
@pytest.mark.parametrize("page", FILES)
def test_a_page_fits_its_window_and_anybody_can_use_it(
    driver: Any,
    files: dict[str, Path],
    page: str,
    width: int,
    dark: bool,
) -> None:
    check(driver, files[page].as_uri(), width, dark=dark)
    assert "SYNTHETIC" in driver.find_element("tag name", "body").text
    assert driver.get_log("browser") == []


@pytest.mark.parametrize(("width", "dark"), WINDOWS)
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_fits_its_window_and_anybody_can_use_it(
    driver: Any,
    explorer: str,
    things: dict[str, int],
    view: str,
    width: int,
    dark: bool,
) -> None:
    check(driver, explorer + VIEWS[view].format(**things), width, dark=dark)


def test_pages_are_light(files: dict[str, Path]) -> None:
    assert {
        name: path.stat().st_size for name, path in files.items() if path.stat().st_size > HEAVIEST
    } == {}


def test_faults_are_found(driver: Any, files: dict[str, Path]) -> None:
    shape(driver, 390)
    driver.get(files["report"].as_uri())
    wait_until_drawn(driver)
    driver.execute_script("""
        const [title, other] = document.querySelectorAll("[data-chart=machine-shapes] .role-axis-title text");
        title.parentNode.append(title.cloneNode(true));
        other.setAttribute("font-size", "9px");
        other.style.fontSize = "9px";
        const label = document.querySelector("[data-chart=machine-shapes] .role-axis-label text");
        label.textContent = "1.0…";
        const wide = document.createElement("p");
        Object.assign(wide.style, { width: "500px", overflow: "hidden", whiteSpace: "nowrap" });
        wide.textContent = "x".repeat(200);
        document.querySelector("main").append(wide);""")
    kinds = {fault[0] for fault in faults(driver, 390)}
    assert kinds == {
        "wider than the window",
        "text cut",
        "text too small",
        "texts overlap",
        "clipped",
        "beyond the window",
    }
