"""What commands print, from values made by hand: numbers, plans, accounts, targets."""

from __future__ import annotations

import io
import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pyarrow as pa
import pytest
from rich.progress import Progress

from borgtrace.cli import (
    _answers,
    _console,
    _datasets,
    _experiments,
    _ingestion,
    _printing,
    _rows,
    synth,
)
from borgtrace.cli.machine import _use
from borgtrace.colocation import Study
from borgtrace.datasets import Selection
from borgtrace.errors import SourceError, StoreError, UsageError
from borgtrace.ingest.ingest_plan import IngestPlan, TablePlan
from borgtrace.ingest.ingestion import IngestResult
from borgtrace.question import EngineTables, Provenance
from borgtrace.store import Store
from tests.report.conftest import manifest


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
def test_durations_are_said_as_people_say_them(seconds: float, text: str) -> None:
    assert _ingestion._duration(seconds) == text


def _planned(**changes: object) -> IngestPlan:
    tables = (
        TablePlan("task_events", 2, 1_500, "0–1 of 500", ("time", "type")),
        TablePlan("other", 1, 500, "0", ()),
    )
    return replace(IngestPlan("2011", "", tables, 3_000, 10_000, 59.0), **changes)


def test_a_plan_of_an_ingest(capsys: pytest.CaptureFixture[str]) -> None:
    _ingestion.print_plan(_planned(cell="a"), as_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "2011 trace cell a",
        "task_events: 2 files, 1.5 kB, parts 0–1 of 500",
        "  columns: time, type",
        "other: 1 file, 500 bytes, parts 0",
        "  columns: those of events and usage",
        "needs about 3.0 kB of disk (10.0 kB free), about 59 s",
    ]
    _ingestion.announce(_planned())
    assert capsys.readouterr().err.splitlines() == [
        "2011 trace: 3 files, 2.0 kB; needs about 3.0 kB of disk (10.0 kB free), about 59 s",
        "  task_events: 2 files, parts 0–1 of 500",
        "  other: 1 file, parts 0",
    ]
    _ingestion.print_plan(_planned(), as_json=True)
    assert json.loads(capsys.readouterr().out)["tables"][0]["columns"] == ["time", "type"]


def test_the_account_of_an_ingest(capsys: pytest.CaptureFixture[str]) -> None:
    (source,) = manifest().sources
    aside = replace(source, skipped=3, merged=2)
    result = IngestResult((source, aside), 1, (), manifest())
    _ingestion.print_outcome(result, Path("store"), as_json=False)
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "Read 2 files; 1 already in the store",
        "rows in 900,292 = stored 900,280 + quarantined 12 + 5 set aside",
        "notice    instance_events: 2 × time_out_of_order: The row is earlier than the row before it in its file.",
        "data_loss instance_events: 6 × unparsable_value: A field is not the number, flag or record that is expected.",
        f"digest {'ab' * 32}",
    ]
    assert err == "Next: borgtrace info store\n"
    _ingestion.print_outcome(replace(result, manifest=None), Path("store"), as_json=False)
    assert (
        capsys.readouterr().out.splitlines()[-1]
        == "Staged. To sort: borgtrace ingest SRC --store store"
    )
    _ingestion.print_outcome(
        replace(result, manifest=None, faults=(SourceError("x", "y"),)), Path("s"), as_json=True
    )
    facts = json.loads(capsys.readouterr().out)
    assert (facts["known"], facts["faults"], facts["digest"], facts["tables"]) == (
        1,
        ["x: y"],
        None,
        None,
    )
    _ingestion.print_outcome(result, Path("s"), as_json=True)
    facts = json.loads(capsys.readouterr().out)
    assert (facts["digest"], facts["tables"]) == (
        "ab" * 32,
        {"instance_events": 450_140, "tasks": 140_000},
    )
    assert facts["read"][1]["merged"] == 2


@pytest.mark.parametrize(
    ("skipped", "merged", "more"), [(0, 0, ""), (3, 0, " + 3 set aside"), (0, 2, " + 2 set aside")]
)
def test_rows_that_are_neither_stored_nor_rejected_are_told(
    skipped: int, merged: int, more: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source = replace(
        manifest().sources[0], rows_in=20, stored=15, quarantined=5, skipped=skipped, merged=merged
    )
    _ingestion.print_outcome(IngestResult((source,), 0, (), None), Path("store"), as_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "Read 1 file; 0 already in the store",
        f"rows in 20 = stored 15 + quarantined 5{more}",
        "Staged. To sort: borgtrace ingest SRC --store store",
    ]


def test_bars_of_an_ingest_end_at_once_where_there_is_nothing_to_do() -> None:
    with _ingestion.bars() as bars:
        bars.begin("stage", 10, "bytes")
        bars.begin("sort", 0, "rows")
        bars.advance("stage", 4)
        stage, sort = bars._bars.tasks
        assert (stage.completed, stage.total, stage.finished) == (4, 10, False)
        assert (sort.completed, sort.total) == (1, 1)


@pytest.mark.parametrize(
    ("speed", "elapsed", "unit", "text"),
    [
        (None, None, "rows", ""),
        (1234.6, 9.0, "rows", "1,235 rows/s"),
        (2_500.0, 9.0, "bytes", "2.5 kB/s"),
        # One part is done: 600 in 8 s.
        (None, 8.0, "rows", "75 rows/s"),
        (1234.6, 9.0, "", ""),
    ],
)
def test_rates(speed: float | None, elapsed: float | None, unit: str, text: str) -> None:
    task = SimpleNamespace(speed=speed, completed=600, elapsed=elapsed, fields={"unit": unit})
    assert str(_console.Rate().render(task)) == text  # type: ignore[arg-type]


def test_each_step_has_a_time_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    bars = Progress(get_time=lambda: now[-1], disable=True)
    monkeypatch.setattr(_console, "progress", lambda *_: nullcontext(bars))
    with _console.steps("rows") as report:
        (task,) = bars.tasks
        assert (task.total, task.fields) == (None, {"unit": "rows"})
        for time, name, done, total, elapsed in (
            (1.0, "one", 0, 2, 0),
            (9.0, "one", 1, 2, 8),
            (10.0, "two", 0, 4, 0),
            (12.0, "two", 1, 4, 2),
            (13.0, "two", 3, 4, 3),
        ):
            now.append(time)
            report(name, done, total)
            assert (task.description, task.completed, task.total, task.elapsed) == (
                name,
                done,
                total,
                elapsed,
            )


def test_columns_as_table_csv_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    columns = {
        "start_time": np.array([600, 900]),
        "average_cpu": np.array([0.2493, np.nan], np.float32),
    }
    _printing.print_columns(columns, "table")
    assert (
        capsys.readouterr().out
        == "  start_time   average_cpu\n         600        0.2493\n         900              \n"
    )
    _printing.print_columns(columns, "csv")
    assert capsys.readouterr().out == "start_time,average_cpu\n600,0.2493\n900,\n"
    _printing.print_columns(columns, "json")
    assert capsys.readouterr().out == '{"start_time": [600, 900], "average_cpu": [0.2493, null]}\n'


def test_rows_that_csv_and_json_cannot_hold_as_they_are() -> None:
    table = pa.table(
        {
            "x": pa.array([0.1, float("nan")], pa.float32()),
            "list": pa.array([[0.1, None], None], pa.list_(pa.float32())),
            "day": pa.array([0, None], pa.date32()),
        }
    )
    for format, expected in (
        ("csv", 'x,list,day\n0.1,"[0.1, null]",1970-01-01\nnan,,\n'),
        (
            "json",
            '{"x": 0.1, "list": [0.1, null], "day": "1970-01-01"}\n{"x": null, "list": null, "day": null}\n',
        ),
    ):
        out = io.BytesIO()
        _rows.write(table.to_reader(), format, out)
        assert out.getvalue().decode().replace('"x","list","day"', "x,list,day") == expected


def test_a_table_says_that_there_are_more_rows(capsys: pytest.CaptureFixture[str]) -> None:
    table = pa.table({"n": [1, 2, 3], "name": ["a", None, "c"], "x": [1 / 3, 2.0, 3.0]})
    _rows.print_table(table.to_reader(max_chunksize=2), 2)
    out, err = capsys.readouterr()
    assert [line.rstrip() for line in out.splitlines()] == [
        "n  name               x",
        "1  a     0.333333333333",
        "2  NULL               2",
    ]
    assert err == "first 2 rows; --rows N shows more, --format csv all\n"
    _rows.print_table(table.to_reader(), 3)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([{"hour": 0, "cpu": 0.1}, {"hour": 1, "cpu": 0.2}], "CPU 30.0% used"),
        (
            [{"average_cpu": 0.1, "cpu_request": 0.25}, {"average_cpu": None, "cpu_request": 0.15}],
            "CPU 20.0% used, 80.0% requested",
        ),
    ],
)
def test_use_of_a_machine(rows: list[dict[str, float]], text: str) -> None:
    # Half of the largest machine is its whole capacity; over hours the mean counts, at an instant the sum.
    assert _use("CPU", 0.5, rows) == text


def test_what_a_dataset_says(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from borgtrace.datasets import BuildResult
    from borgtrace.datasets.scaling import Scaling

    scaling = Scaling("average_cpu", "standard", 0.5, 0.25, 1_000, 0.5, 0.25, 0.0, 1.0)
    counts, removed = (
        {"training": 1_500, "testing": 2},
        {"all": (4_000, 50_000), "--tier": (2_498, 20_000)},
    )
    built = BuildResult(
        tmp_path, False, counts, 2_000, 30_000, removed, ("x is in both",), (scaling,)
    )
    # The store and the selection are for lengths, which are drawn where bounds of them leave traces out.
    store, selection = cast("Store", None), cast("Selection", None)
    _datasets.print_built(built, store, selection, as_json=False)
    out, err = capsys.readouterr()
    assert out == f"{tmp_path}\n"
    assert err.splitlines() == [
        f"{tmp_path} (already there, unchanged): training 1,500, testing 2 of 2,000 matching traces",
        "  kept: traces 1,502 of 4,000 (37.5 %), windows 30,000 of 50,000 (60.0 %)",
        "  left out by --tier: traces 2,498 of 4,000 (62.5 %), windows 20,000 of 50,000 (40.0 %)",
        "  average_cpu: (average_cpu − 0.5) ÷ 0.25, measured on 1,000 values",
        "  leakage: x is in both",
    ]
    _datasets.print_built(replace(built, is_new=True), store, selection, as_json=True)
    assert json.loads(capsys.readouterr().out)["path"] == str(tmp_path)
    assert _datasets.split_of("0.7, 0.3", "job").fractions == (0.7, 0.3)
    with pytest.raises(UsageError, match=r"--split: not a fraction"):
        _datasets.split_of("most", "job")


@pytest.mark.parametrize("option", ["--min-length", "--max-length", "slots of the grid"])
def test_lengths_are_drawn_where_bounds_of_them_leave_traces_out(
    option: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from borgtrace.datasets import BuildResult
    from borgtrace.datasets.histogram import LengthBin

    asked: list[tuple[object, object]] = []
    bins = (LengthBin(1, 4, 1, 4), LengthBin(5, 9, 3, 16))
    monkeypatch.setattr(
        "borgtrace.datasets.histogram.lengths", lambda *given: asked.append(given) or bins
    )
    built = BuildResult(
        tmp_path, True, {"training": 3}, 3, 16, {"all": (4, 20), option: (1, 4)}, (), ()
    )
    store, selection = cast("Store", "store"), cast("Selection", "selection")
    _datasets.print_built(built, store, selection, as_json=False)
    heading, first, second, share = capsys.readouterr().err.splitlines()[-4:]
    assert heading.split() == ["points", "traces", "share", "windows", "share"]
    assert [line.split()[:2] for line in (first, second)] == [["1–4", "1"], ["5–9", "3"]]
    assert share.startswith("5 to 50 points: 3 of 4 traces, 75.0 % (2011 as published: about 74 %)")
    assert asked == [("store", "selection")]


def test_targets_of_a_synthetic_trace(capsys: pytest.CaptureFixture[str]) -> None:
    row = {
        "measure": "mean_cpu",
        "tier": "free",
        "published": 0.25,
        "measured": 0.3,
        "deviation": 0.2,
        "low": 0.1,
        "high": 0.35,
        "verdict": "fits",
        "grade": "A",
        "reference": "counted",
    }
    reported = {
        **row,
        "deviation": None,
        "low": None,
        "high": None,
        "verdict": "reported",
        "measured": None,
    }
    synth._print_targets([row, reported, {**row, "verdict": "does not fit"}])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == [
        "mean_cpu,",
        "free",
        "0.25",
        "0.3",
        "+20.0%",
        "0.1",
        "…",
        "0.35",
        "fits",
        "A:",
        "counted",
    ]
    assert lines[2].split() == ["mean_cpu,", "free", "0.25", "reported", "A:", "counted"]
    assert lines[-1] == "1 of 2 judged targets fit"


def test_a_pool_that_cannot_be_made_names_its_store(tmp_path: Path) -> None:
    study = Study(EngineTables({}, Provenance("cell")))
    with pytest.raises(StoreError, match=r"^cell: no pool: "):
        _experiments.export(study, tmp_path / "pool", tasks=100, seed=0)
    assert not (tmp_path / "pool").exists()


def test_a_service_level_becomes_a_target_without_rounding_errors() -> None:
    assert _experiments.target_of("0.999") == 0.001
    assert _experiments.target_of("0.5") == 0.5
    # Of several tiers the strictest: the advice has one.
    assert _experiments.target_of("production=0.999,free=0.95") == 0.001
    for slo in ("0.0", "1", "-0.5", "1.5", "high", ""):
        with pytest.raises(UsageError, match="not a service level"):
            _experiments.target_of(slo)


@pytest.mark.parametrize(
    ("text", "default", "unit", "value"),
    [
        ("1", "a", None, "1"),
        ("1", 0.5, None, 1.0),
        ("1h", 60, 1_000_000, 3_600),
        ("90", 60, 1_000_000, 90),
        ("true", False, None, True),
        ("1-3,7", (1,), None, (1, 2, 3, 7)),
    ],
)
def test_values_take_the_type_of_their_default(
    text: str, default: object, unit: int | None, value: object
) -> None:
    found = _answers._parse("--set x", text, default, unit)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "default"), [("1.5", 1), ("true", 1), ("1", True), ("x", 1), ("null", 0.5), ("", 1)]
)
def test_values_of_another_type_are_refused(text: str, default: object) -> None:
    with pytest.raises(UsageError, match="wrong kind of value: expected like"):
        _answers._parse("--set x", text, default, None)
