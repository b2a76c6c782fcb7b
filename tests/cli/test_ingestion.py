"""What an ingest prints, from values made by hand: its plan, its account, its bars."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from borgtrace.cli.ingestion import announce, bars, duration, print_outcome, print_plan
from borgtrace.errors import SourceError
from borgtrace.ingest.ingest_plan import IngestPlan, TablePlan
from borgtrace.ingest.ingestion import IngestResult
from tests.report.conftest import manifest

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "1 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (5399, "90 min"),
        (5400, "1.5 h"),
        (90_000, "25.0 h"),
    ],
)
def test_durations_have_the_unit_that_people_would_use(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def planned(**changes: Any) -> IngestPlan:
    """A plan of two tables."""
    tables = (
        TablePlan(
            "task_events",
            2,
            1_500,
            "0–1 of 500",
            ("time", "type"),
        ),
        TablePlan(
            "other",
            1,
            500,
            "0",
            (),
        ),
    )
    plan = IngestPlan("2011", "", tables, 3, 2_000, 3_000, 10_000, 59.0)
    return replace(plan, **changes)


def test_a_plan_of_an_ingest(capsys: Capture) -> None:
    print_plan(planned(cell="a"), as_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "2011 trace cell a: 3 files, 2.0 kB",
        "task_events: 2 files, 1.5 kB, parts 0–1 of 500",
        "  columns: time, type",
        "other: 1 file, 500 bytes, parts 0",
        "  columns: those of events and usage",
        "needs about 3.0 kB of disk (10.0 kB free), about 59 s",
    ]
    announce(planned())
    assert capsys.readouterr().err.splitlines() == [
        "2011 trace: 3 files, 2.0 kB; needs about 3.0 kB of disk (10.0 kB free), about 59 s",
        "  task_events: 2 files, parts 0–1 of 500",
        "  other: 1 file, parts 0",
    ]
    print_plan(planned(), as_json=True)
    assert json.loads(capsys.readouterr().out)["tables"][0]["columns"] == ["time", "type"]


@pytest.fixture
def result() -> IngestResult:
    """Two files were read, of which one had rows that were set aside, and one was known."""
    (source,) = manifest().sources
    with_rows_aside = replace(source, name=f"{source.name}b", skipped=3, merged=2)
    return IngestResult((source, with_rows_aside), 1, (), manifest())


def test_the_account_of_an_ingest(result: IngestResult, capsys: Capture) -> None:
    print_outcome(result, Path("store"), as_json=False)
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "Read 2 files; 1 already in the store",
        "rows in 900,292 = stored 900,280 + quarantined 12 + 5 set aside",
        "notice    instance_events: 2 × time_out_of_order: The row is earlier than the row before it in its file.",
        "data_loss instance_events: 6 × unparsable_value: A field is not the number, flag or record that is expected.",
        f"digest {'ab' * 32}",
    ]
    assert err == "Next: borgtrace info store\n"


def test_the_account_of_staged_files(result: IngestResult, capsys: Capture) -> None:
    print_outcome(replace(result, manifest=None), Path("store"), as_json=False)
    last_line = capsys.readouterr().out.splitlines()[-1]
    assert last_line == "Staged. To sort: borgtrace ingest SRC --store store"


def test_an_account_in_json(result: IngestResult, capsys: Capture) -> None:
    print_outcome(result, Path("s"), as_json=True)
    facts = json.loads(capsys.readouterr().out)
    assert facts["digest"] == "ab" * 32
    assert facts["tables"] == {"instance_events": 450_140, "tasks": 140_000}
    assert facts["read"][1]["merged"] == 2
    staged = replace(result, manifest=None, faults=(SourceError("x", "y"),))
    print_outcome(staged, Path("s"), as_json=True)
    facts = json.loads(capsys.readouterr().out)
    assert facts["known"] == 1
    assert facts["faults"] == ["x: y"]
    assert facts["digest"] is None
    assert facts["tables"] is None


@pytest.mark.parametrize(
    ("skipped", "merged", "set_aside"),
    [
        (0, 0, ""),
        (3, 0, " + 3 set aside"),
        (0, 2, " + 2 set aside"),
    ],
)
def test_rows_that_are_neither_stored_nor_rejected_are_told(
    skipped: int,
    merged: int,
    set_aside: str,
    capsys: Capture,
) -> None:
    source = replace(
        manifest().sources[0],
        rows_in=20,
        stored=15,
        quarantined=5,
        skipped=skipped,
        merged=merged,
    )
    print_outcome(IngestResult((source,), 0, (), None), Path("store"), as_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "Read 1 file; 0 already in the store",
        f"rows in 20 = stored 15 + quarantined 5{set_aside}",
        "Staged. To sort: borgtrace ingest SRC --store store",
        "25.0 % of the rows were refused (5 of 20): look at them in store/staging/quarantine "
        "(Parquet: file, line, column, value, reason)",
    ]


def test_bars_of_an_ingest_end_at_once_where_there_is_nothing_to_do() -> None:
    with bars() as shown:
        shown.begin("stage", 10, "bytes")
        shown.begin("sort", 0, "rows")
        shown.advance("stage", 4)
        stage, sort = shown.bars.tasks
        assert (stage.completed, stage.total, stage.finished) == (4, 10, False)
        assert (sort.completed, sort.total) == (1, 1)
