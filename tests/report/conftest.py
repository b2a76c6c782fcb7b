"""A page with every shape of chart, and a browser to look at it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import borgtrace
from borgtrace.question import EngineTables, Provenance
from borgtrace.report.page import report_html
from borgtrace.report.sections import section
from borgtrace.storage import write_file
from borgtrace.store import Manifest, SourceEntry, Store
from tests.browser import chromium, shape

from . import questions_of_tests as questions


def manifest(**changes: Any) -> Manifest:
    """A small manifest, written by hand."""
    source = SourceEntry(
        name="task_events/part-00000-of-00500.csv.gz",
        file="/x/part.csv.gz",
        table="instance_events",
        raw_table="task_events",
        format="csv",
        size=1,
        sha256="0" * 64,
        part=0,
        parts=500,
        rows_in=450_146,
        stored=450_140,
        quarantined=6,
        counters={"unparsable_value": 6, "time_out_of_order": 2},
    )
    values: dict[str, Any] = {
        "generation": "2011",
        "cell": "",
        "time_zone": "America/New_York",
        "code_version": "0.1.0",
        "digest": "ab" * 32,
        "tables": {"instance_events": 450_140, "tasks": 140_000},
        "sources": (source,),
        "time_range": {"instance_events": [0, 4_200_000_000]},
    }
    return Manifest(**{**values, **changes})


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the test questions."""
    tables = EngineTables({}, Provenance("store", "ab" * 32))
    sections = [section(question.run(tables)) for question in questions.QUESTIONS]
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_file(path, report_html(manifest(synthetic={"seed": 0}), "store", sections))
    return path


Browser = Callable[..., Any]


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Opens pages in headless Chromium: ``browser(path, width=…, dark=…)`` returns the driver."""
    with chromium(tmp_path_factory.mktemp("chromium")) as driver:

        def open_page(
            path: Path,
            width: int = 1280,
            *,
            dark: bool = False,
            paper: bool = False,
        ) -> Any:
            shape(driver, width, dark=dark, paper=paper)
            driver.get(path.as_uri())
            return driver

        yield open_page


HASH = "A" * 43 + "="
HOUR = 3_600_000_000
RAW = {
    "machine_events": ["0,7,0,PLATFORM,0.5,0.25", "0,8,0,PLATFORM,1,1"],
    "job_events": [f"0,,100,0,{HASH},2,{HASH},{HASH}", f"{HOUR},,100,1,{HASH},2,{HASH},{HASH}"],
    "task_events": [
        f"0,,100,0,,0,{HASH},2,9,0.25,0.125,0.001,0",
        f"{HOUR},,100,0,7,1,{HASH},2,9,0.25,0.125,0.001,0",
        f"{2 * HOUR},,100,0,7,2,{HASH},2,9,0.25,0.125,0.001,0",
        f"0,,100,1,,0,{HASH},2,9,0.25,0.125,0.001,0",
    ],
    "task_usage": [
        f"{HOUR},{HOUR + 300_000_000},100,0,7,0.1,0.05,0.06,,,0.07,,,0.2,,2.5,0.01,1,0,0.15",
        f"{HOUR + 300_000_000},{HOUR + 600_000_000},100,0,7,0.2,0.05,0.06,,,0.07,,,0.3,,2.5,0.01,1,0,0.25",
        f"{HOUR + 900_000_000},{HOUR + 1_200_000_000},100,0,7,0.4,0.05,0.06,,,0.07,,,0.5,,2.5,0.01,1,0,0.45",
    ],
}
"""One job of two tasks, as raw CSV: task 0 waits an hour, runs an hour with a gap in its usage, and is evicted."""


@pytest.fixture(scope="session")
def tiny_store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store of the rows above."""
    from borgtrace.ingest import IngestOptions, ingest

    root = tmp_path_factory.mktemp("tiny")
    for table, lines in RAW.items():
        (root / "raw" / table).mkdir(parents=True)
        (root / "raw" / table / "part-00000-of-00001.csv").write_text("\n".join(lines) + "\n")
    ingest([root / "raw"], root / "store", IngestOptions(jobs=1))
    return borgtrace.open(root / "store")
