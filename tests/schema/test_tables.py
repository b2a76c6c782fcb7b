"""The declarations are complete, and agree with the trace's own schema.csv and with the docs."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from scripts.tables_page import main, tables_page

from borgtrace.errors import SchemaError, UsageError
from borgtrace.ingest.find.schema_csv import read_schema_csv
from borgtrace.schema import DIALECTS, ENUMS, TABLES, Absent, Column, Table
from borgtrace.schema.dialects import GOOGLE_2011, GOOGLE_2019, PUBLISHED
from borgtrace.schema.evolution import schema_digest
from borgtrace.schema.reasons import REASONS, SEVERITIES
from borgtrace.schema.time import parse_time

COLUMNS = [(table, column) for table in TABLES.values() for column in table.columns]


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_key_is_made_of_columns_that_are_never_null(table):
    assert set(table.key) <= set(table.names)
    assert len(set(table.names)) == len(table.names)
    assert not any(table.column(name).nullable for name in table.key)


@pytest.mark.parametrize(
    ("table", "column"), COLUMNS, ids=[f"{t.name}.{c.name}" for t, c in COLUMNS]
)
def test_a_column_has_a_sentence_a_unit_and_sources_or_reasons(table, column):
    assert column.doc[0].isupper()
    assert column.doc.endswith(".")
    assert column.unit
    assert (column.type == "enum") == (column.enum is not None)
    assert column.enum is None or column.enum in ENUMS
    for published in PUBLISHED:
        source = published.source(table.name, column.name)
        assert isinstance(source, Absent) or source.split(".")[0] in published.tables


def test_every_2011_field_fills_exactly_one_column():
    sources = [GOOGLE_2011.source(table.name, column.name) for table, column in COLUMNS]
    # A job's class is field 6 of job_events and field 8 of task_events, so no source repeats.
    expected = [
        f"{raw.name}.{n}"
        for raw in GOOGLE_2011.tables.values()
        for n, _ in enumerate(raw.fields, 1)
    ]
    assert sorted(source for source in sources if isinstance(source, str)) == sorted(expected)


def test_every_2019_value_fills_a_column_but_those_declared_to_fill_none():
    filled = {GOOGLE_2019.source(table.name, column.name) for table, column in COLUMNS}
    leaves, unread = (
        set(),
        {
            f"{r.name}.{field.name}"
            for r in GOOGLE_2019.tables.values()
            for field in r.fields
            if not field.column
        },
    )
    for raw in GOOGLE_2019.tables.values():
        leaves |= {f"{raw.name}.{field.name}" for field in raw.fields}
        leaves |= {
            f"{raw.name}.{inner.name}.{field.name}" for inner in raw.lists for field in inner.fields
        }
    assert leaves - filled == unread >= {"instance_usage.random_sample_usage.memory"}


@pytest.mark.parametrize("enum", ENUMS.values(), ids=ENUMS)
def test_codes_name_what_the_enumeration_lists(enum):
    for trace_format in DIALECTS.values():
        codes = trace_format.codes.get(enum.name, {})
        assert set(codes.values()) <= set(enum.names)


def test_codes_shift_between_the_generations():
    # FACTS §1.5 and §8.4, typed from there.
    assert GOOGLE_2011.codes["event_type"] == {
        0: "SUBMIT",
        1: "SCHEDULE",
        2: "EVICT",
        3: "FAIL",
        4: "FINISH",
        5: "KILL",
        6: "LOST",
        7: "UPDATE_PENDING",
        8: "UPDATE_RUNNING",
    }
    assert [GOOGLE_2019.codes["event_type"][code] for code in range(11)] == [
        "SUBMIT",
        "QUEUE",
        "ENABLE",
        "SCHEDULE",
        "EVICT",
        "FAIL",
        "FINISH",
        "KILL",
        "LOST",
        "UPDATE_PENDING",
        "UPDATE_RUNNING",
    ]
    assert GOOGLE_2011.codes["machine_event_type"] == {
        0: "ADD",
        1: "REMOVE",
        2: "UPDATE",
    }
    assert GOOGLE_2019.codes["machine_event_type"] == {
        0: "EVENT_TYPE_UNKNOWN",
        1: "ADD",
        2: "REMOVE",
        3: "UPDATE",
    }
    assert GOOGLE_2011.codes["missing_type"][0] == GOOGLE_2019.codes["missing_type"][1]


@pytest.mark.parametrize(
    ("priority", "trace", "tier"),
    [
        (0, "2019", "free"),
        (99, "2019", "free"),
        (100, "2019", "beb"),
        (115, "2019", "beb"),
        (116, "2019", "mid"),
        (119, "2019", "mid"),
        (120, "2019", "production"),
        (359, "2019", "production"),
        (360, "2019", "monitoring"),
        (450, "2019", "monitoring"),
        (0, "2011", "free"),
        (1, "2011", "free"),
        (2, "2011", "other"),
        (8, "2011", "other"),
        (9, "2011", "production"),
        (11, "2011", "production"),
    ],
)
def test_tiers(priority, trace, tier):
    assert DIALECTS[trace].tier_of(priority) == tier


@pytest.mark.parametrize(
    ("trace", "cell", "expected"),
    [
        ("2011", "", "2011-05-01T19:00:00-04:00"),
        ("2019", "a", "2019-05-01T03:00:00-04:00"),
        ("2019", "b", "2019-05-01T02:00:00-05:00"),
        ("2019", "e", "2019-05-01T10:00:00+03:00"),
        ("2019", "g", "2019-05-01T15:00:00+08:00"),
        ("2019", "h", "2019-05-01T09:00:00+02:00"),
    ],
)
def test_600_seconds_is_the_start_of_the_trace(trace, cell, expected):
    assert DIALECTS[trace].wall_clock(600_000_000, cell).isoformat() == expected


def test_a_sentinel_is_no_instant():
    with pytest.raises(UsageError) as error:
        GOOGLE_2011.wall_clock(2**63 - 1)
    assert str(error.value) == (
        "time: a sentinel has no wall clock: expected a time inside the trace, got 9223372036854775807"
    )


@pytest.mark.parametrize("text", ["5x", "", "h", "1h-2h", "abc"])
def test_what_is_no_time_is_said_so(text):
    with pytest.raises(UsageError) as error:
        parse_time(text)
    assert str(error.value) == (
        f"time: not a time: expected µs, or amounts such as 600s, 1h30m or 2d, got {text!r}"
    )


def test_reasons_are_sentences_with_a_severity():
    for reason in REASONS.values():
        assert reason.severity in SEVERITIES
        assert reason.sentence.endswith(".")
        assert reason.quarantines == (reason.severity == "data_loss")


def test_the_page_of_tables_is_fresh():
    page = Path(__file__).parents[2] / "docs" / "tables.md"
    assert page.read_text() == tables_page(), (
        "renew it: python scripts/tables_page.py docs/tables.md"
    )


def test_a_stale_page_is_noticed(tmp_path, capsys):
    page = tmp_path / "tables.md"
    assert main([str(page)]) == 0
    assert main(["--check", str(page)]) == 0
    page.write_text("old")
    assert main(["--check", str(page)]) == 1
    assert (
        capsys.readouterr().err == f"{page} is stale; run: python scripts/tables_page.py {page}\n"
    )


def test_the_real_schema_csv_agrees(trace):
    read_schema_csv(trace / "clusterdata-2011-2" / "schema.csv")


def test_a_differing_schema_csv_is_refused(trace, tmp_path):
    rows = list(csv.reader((trace / "clusterdata-2011-2" / "schema.csv").read_text().splitlines()))
    place = next(
        i for i, row in enumerate(rows) if row[0].startswith("task_constraints") and row[1] == "4"
    )
    operator, name = rows[place], rows[place + 1]
    operator[2], name[2] = name[2], operator[2]
    changed = tmp_path / "schema.csv"
    with changed.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    with pytest.raises(SchemaError) as error:
        read_schema_csv(changed)
    assert str(error.value) == (
        f"{changed}: schema.csv differs from the layout borgtrace reads: got "
        "task_constraints field 4: ('attribute name', 'INTEGER', 'YES') is not "
        "('comparison operator', 'INTEGER', 'YES'); "
        "task_constraints field 5: ('comparison operator', 'STRING_HASH', 'YES') is not "
        "('attribute name', 'STRING_HASH', 'YES'); fetch schema.csv again, or remove it to ingest all the same"
    )


def test_the_digest_of_a_schema_ignores_order_and_tells_types_apart():
    tables = list(TABLES.values())
    # SHA-256 of "[]"
    assert schema_digest([]) == "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"
    assert schema_digest(tables) == schema_digest(reversed(tables)) != schema_digest(tables[1:])
    kinds = [
        Table("t", "thing", ("a",), (Column("a", kind, "id", "A."),)) for kind in ("int32", "int64")
    ]
    assert schema_digest(kinds[:1]) != schema_digest(kinds[1:])
