"""How the page writes numbers, tables and what a store holds: at each threshold, and just beyond it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from borgtrace.report.holdings import counters, holdings
from borgtrace.report.overview import percent, short_percent
from borgtrace.report.values import cell, instant, is_number, shown_table, unit, whole_number
from borgtrace.schema import Column, Table
from borgtrace.schema.time import AFTER_TRACE
from borgtrace.store import SourceEntry

from .conftest import HOUR, manifest

START = 600_000_000
N = Column("n", "int64", "count", "A count.")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (999, "999"),
        (1_000, "1,000"),
        (-10_000, "-10,000"),
        (AFTER_TRACE, "after the trace"),
    ],
)
def test_integers_are_grouped_by_commas(value: int, text: str) -> None:
    assert whole_number(value) == text


@pytest.mark.parametrize(
    ("value", "unit_", "text"),
    [
        (True, "1", "yes"),
        (False, "1", "no"),
        (12_345, "id", "12345"),
        (12_345, "rank", "12345"),
        (12_345, "class", "12345"),
        (12_345, "h", "12345"),
        (12_345, "us", "12,345"),
        ([1.5, None, 12_345], "count", "1.5, –, 12,345"),
        ("text", "id", "text"),
    ],
)
def test_cells_by_their_type(value: Any, unit_: str, text: str) -> None:
    assert cell(value, Column("x", "int64", unit_, "X.")) == text


def test_numbers_and_their_units_in_headings() -> None:
    columns = [
        Column("x", type_, unit_, "X.")
        for type_, unit_ in (("uint32", "us"), ("int64", "id"), ("string", "s"))
    ]
    assert [is_number(column) for column in columns] == [True, False, False]
    assert [unit(column) for column in columns] == ["µs", "", "s"]


@pytest.mark.parametrize(
    ("rows", "n_shown", "is_cut"),
    [
        (39, 39, False),
        (40, 40, False),
        (41, 40, True),
    ],
)
def test_forty_rows_are_shown(rows: int, n_shown: int, is_cut: bool) -> None:
    table = pa.table({"n": range(rows)})
    shown = shown_table(table, Table("t", "row", (), (N,)))
    assert len(shown.rows) == n_shown
    assert shown.n_rows == rows
    assert shown.is_cut == is_cut
    assert shown.rows[0] == ("0",)


def test_names_are_codes_only_where_that_is_said() -> None:
    declared = Table("t", "row", (), (Column("who", "string", "id", "Who."),))
    assert shown_table(pa.table({"who": ["a_name"]}), declared).rows == (("a_name",),)


def test_sentinels_of_time_are_words() -> None:
    assert [instant(time, manifest(), "%H:%M") for time in (0, START, AFTER_TRACE)] == [
        "before the trace",
        "19:00",
        "after the trace",
    ]


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0994, "9.9"),
        (0.0995, "10"),
        (0.0, "0.0"),
    ],
)
def test_shares_from_ten_percent_on_have_no_decimal(share: float, text: str) -> None:
    assert short_percent(share) == text
    assert percent(0.0123456) == "1.23 %"


def entry(
    part: int | None,
    parts: int | None,
    table: str = "instance_events",
    **more: Any,
) -> SourceEntry:
    return replace(
        manifest().sources[0],
        part=part,
        parts=parts,
        table=table,
        **more,
    )


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        ((), "derived at ingest"),
        ((entry(0, None),), "1 file"),
        ((entry(0, None), entry(1, None)), "2 files"),
        ((entry(0, 2), entry(1, 2)), "2 files"),
        ((entry(0, 3), entry(1, 3)), "2 of 3 files"),
        ((entry(0, 3), entry(1, None)), "2 of 3 files"),
        ((entry(0, 3), entry(1, 4)), "2 files"),
        ((entry(0, 3), entry(1, 3, "instance_usage")), "1 of 3 files"),
        ((entry(0, 3), entry(1, 3, "instance_usage", also={"instance_events": 1})), "2 of 3 files"),
    ],
)
def test_the_files_of_a_table(sources: tuple[SourceEntry, ...], said: str) -> None:
    [(_, files, _)] = holdings(manifest(sources=sources, tables={"instance_events": 1}))
    assert files == said


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        ([START, START + HOUR], "1 May 2011 19:00 EDT to 1 May 2011 20:00 EDT (1.0 h)"),
        ([START + HOUR, START + HOUR], "1 May 2011 20:00 EDT"),
        ([0, START], "before the trace to 1 May 2011 19:00 EDT"),
        ([START, AFTER_TRACE], "1 May 2011 19:00 EDT to after the trace"),
        ([], ""),
    ],
)
def test_the_span_of_a_table(bounds: list[int], said: str) -> None:
    described = manifest(tables={"instance_events": 1}, time_range={"instance_events": bounds})
    assert holdings(described)[0][2] == said


def test_counters_come_by_severity_then_table_then_number_then_code() -> None:
    quality = {
        "tasks": {
            "unknown_machine": 3,
            "orphan_instance": 3,
            "cpu_above_1": 9,
            "after_trace_time": 7,
        },
        "instance_usage": {
            "unknown_machine": 1,
            "negative_resource": 2,
            "exact_duplicate": 0,
        },
    }
    rows = counters(manifest(sources=(), quality=quality))
    assert [(table, reason.code, n) for table, reason, n in rows] == [
        ("instance_usage", "negative_resource", 2),
        ("instance_usage", "unknown_machine", 1),
        ("tasks", "cpu_above_1", 9),
        ("tasks", "orphan_instance", 3),
        ("tasks", "unknown_machine", 3),
        ("tasks", "after_trace_time", 7),
    ]
