"""The small rules of tables and dialects: sources, clocks, what stores of other versions may hold."""

from __future__ import annotations

from types import MappingProxyType

import pyarrow as pa
import pytest

from borgtrace.errors import UsageError
from borgtrace.schema import TABLES, TRACE_TABLES, Column, Table, evolution
from borgtrace.schema.arrow import arrow_field, raw_schema
from borgtrace.schema.checks import code_at_most, mean_at_most, not_before
from borgtrace.schema.dialects import (
    DECLARED,
    DIALECTS,
    GOOGLE_2011,
    GOOGLE_2019,
    Absent,
    RawField,
    RawTable,
    declare,
    dialect,
)
from borgtrace.schema.dialects.trace_format import at_most, exactly, some_up_to
from borgtrace.schema.evolution import column_number, incompatible_columns, names_in_files
from borgtrace.schema.ranges import parse_numbers
from borgtrace.schema.records import row_of
from borgtrace.schema.time import parse_time, write_time

PAIR = Table(
    "pair",
    "pair",
    ("a",),
    (
        Column("a", "int64", "id", "A.", nullable=False),
        Column("b", "enum", "enum", "B.", enum="event_type"),
    ),
)


def test_tables_come_in_the_order_in_which_people_read() -> None:
    assert list(TRACE_TABLES) == [
        "machine_events",
        "machine_attributes",
        "power_measurements",
        "machine_power_domains",
        "collection_events",
        "instance_events",
        "instance_constraints",
        "instance_usage",
    ]
    assert list(TABLES) == [*TRACE_TABLES, "tasks"]
    assert [TABLES[name].is_about_machines for name in ("machine_attributes", "tasks")] == [
        True,
        False,
    ]
    assert PAIR.column("b").enum == "event_type"
    with pytest.raises(KeyError):
        PAIR.column("c")
    assert row_of("usage_rows").names[0] == "task"


def test_arrow_says_whether_a_column_may_be_null() -> None:
    assert arrow_field(PAIR.columns[0]) == pa.field("a", pa.int64(), nullable=False)
    assert arrow_field(PAIR.columns[1]) == pa.field("b", pa.string(), nullable=True)


def test_nested_records_are_as_wide_as_they_are_published() -> None:
    events = raw_schema(GOOGLE_2019.tables["instance_events"])
    amounts = pa.struct({"cpus": pa.float32(), "memory": pa.float32()})
    item = pa.struct(
        {
            "name": pa.string(),
            "value": pa.string(),
            "relation": pa.int64(),
        }
    )
    assert [
        events.field(name).type for name in ("time", "type", "priority", "resource_request")
    ] == [
        pa.int64(),
        pa.int64(),
        pa.int64(),
        amounts,
    ]
    assert set(events.field("constraint").type.value_type) == set(item)
    # The memory of the sample fills no column, and is an amount all the same.
    assert (
        raw_schema(GOOGLE_2019.tables["instance_usage"]).field("random_sample_usage").type
        == amounts
    )


def test_where_a_raw_table_publishes_a_column() -> None:
    inner = RawTable("item", "parts", (RawField("name", "name"),))
    fields = (RawField("id", "id", is_mandatory=True), RawField("r.x", "x"), RawField("r.y", ""))
    outer = RawTable("things", "wholes", fields, optional=1, lists=(inner,))
    asked = [
        ("wholes", "id"),
        ("wholes", "x"),
        ("parts", "name"),
        ("parts", "id"),
        ("parts", "z"),
        ("others", "id"),
    ]
    assert [outer.source(*each) for each in asked] == [
        "things.id",
        "things.r.x",
        "things.item.name",
        "things.id",  # an item has it from the row around it
        None,
        None,
    ]
    assert RawTable("t", "wholes", fields, is_positional=True).source("wholes", "x") == "t.2"
    assert (outer.names, outer.mandatory, outer.field_counts) == (
        ("id", "r", "item"),
        ("id",),
        (2, 3),
    )


@pytest.mark.parametrize(
    ("trace", "time", "cell", "expected"),
    [
        ("2011", 4200, "", "2011-05-01T20:00:00-04:00"),
        ("2011", 0.000001, "", "2011-05-01T18:50:00.000001-04:00"),
        ("2019", 4200, "a", "2019-05-01T04:00:00-04:00"),
        ("2019", 4200, "nowhere", "2019-05-01T08:00:00+00:00"),
        (
            "2011",
            4200,
            "a",
            "2011-05-01T20:00:00-04:00",
        ),  # one cell without a name: its zone all the same
    ],
)
def test_an_hour_after_the_start(
    trace: str,
    time: float,
    cell: str,
    expected: str,
) -> None:
    assert DIALECTS[trace].wall_clock(round(time * 1e6), cell).isoformat() == expected


def test_no_instant_and_no_tier() -> None:
    for time in (0, 2**63 - 1):
        with pytest.raises(UsageError, match="a sentinel has no wall clock"):
            GOOGLE_2011.wall_clock(time)
    for trace, priority in (("2011", 12), ("2011", -1), ("2019", -1)):
        with pytest.raises(KeyError):
            DIALECTS[trace].tier_of(priority)


def test_why_a_column_is_absent() -> None:
    for one in (GOOGLE_2011, GOOGLE_2019):
        assert one.source("instance_events", "source_row") == Absent("given at ingest")
    # The narrower reason comes first: a constraint of 2011 is a row of its own.
    assert GOOGLE_2011.source("instance_constraints", "position") == Absent(
        "one constraint a row: always 0"
    )
    # FACTS §8.4: v3 has no disk requests.
    assert GOOGLE_2019.publishes("cpu_request", "instance_events")
    assert not GOOGLE_2019.publishes("disk_request")
    assert not GOOGLE_2019.publishes("cpu_request", "instance_usage")
    assert GOOGLE_2011.publishes("disk_request", "instance_events")
    # Published of one table, not of another.
    assert GOOGLE_2011.publishes("user")


def test_what_to_cite() -> None:
    (first, second) = GOOGLE_2011.citations
    assert first.text.startswith(
        "C. Reiss, J. Wilkes, J. L. Hellerstein: Google cluster-usage traces: format + schema."
    )
    assert second.address.startswith("https://")
    assert all("2011" not in citation.text for citation in GOOGLE_2019.citations)


def test_rates_are_those_of_all_traces_and_of_one() -> None:
    of_2011 = GOOGLE_2011.anomalies
    of_2019 = GOOGLE_2019.anomalies
    assert of_2011["after_trace"] == of_2019["after_trace"]
    # What the format document says of 2011, and what nothing says of 2019.
    assert of_2011["window_off_grid"].documented == (0.0, 0.0)
    assert of_2019["window_off_grid"].documented is None
    # The rate of one trace comes before that of all.
    assert of_2011["mixed_requests"].expected == "305 of 3,574 in the first 12.5 h"
    assert of_2019["mixed_requests"].expected == "not documented"
    assert "fail_days" not in of_2019
    assert of_2011["fail_days"].is_count


def test_ranges_of_rates() -> None:
    assert exactly(3) == (3.0, 3.0)
    assert at_most(0.5) == (0.0, 0.5)
    lowest, highest = some_up_to(0.5)
    assert 0 < lowest < 1e-300
    assert highest == 0.5


def test_a_declared_format_is_known_by_its_name() -> None:
    made = declare(
        {
            "name": "known",
            "clock": "relative",
            "machines": {"machine": "node"},
        },
        "own.toml",
    )
    try:
        assert dialect(made.name) is made
        # The first one made stays: layouts are cached by its identity.
        again = declare(
            {
                "name": "known",
                "clock": "relative",
                "machines": {"machine": "node"},
            },
            "own.toml",
        )
        assert again is made
        assert dialect("2011") is GOOGLE_2011
    finally:
        del DECLARED[made.name]


def test_rules_of_columns() -> None:
    code = code_at_most(3)
    assert (code.reason, code.rule, code.bound, code.minus) == (
        "unknown_enum_code",
        "at_most",
        3,
        "",
    )
    end = not_before("start_time")
    assert (end.reason, end.rule, end.bound, end.minus) == (
        "end_before_start",
        "at_least",
        0,
        "start_time",
    )
    mean = mean_at_most("maximum_cpu")
    assert (mean.reason, mean.reason_if_flag) == (
        "mean_above_maximum",
        "mean_above_summed_maximum",
    )
    assert (mean.flag, mean.minus, mean.bound) == ("aggregation_type", "maximum_cpu", 0)


def test_the_number_of_a_column_is_64_bits_of_a_hash_of_its_first_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # printf tasks.user | b2sum -l 64
    assert column_number("tasks", "user") == 0x26C0E59D1D803B5B
    monkeypatch.setattr(evolution, "RENAMED", {"tasks": {"owner": ("user", "who")}})
    assert column_number("tasks", "owner") == 0x26C0E59D1D803B5B


def test_files_hold_a_column_under_its_last_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evolution, "RENAMED", {"pair": {"b": ("first", "second")}})
    for held, name in (
        ({"first"}, "first"),
        ({"second", "first"}, "second"),
        ({"b", "first"}, "b"),
        (set(), None),
    ):
        assert names_in_files(PAIR, held) == {"a": None, "b": name}


@pytest.mark.parametrize(
    ("held", "faults"),
    [
        ({"a": "int64", "b": "string"}, []),
        ({"a": "int64"}, []),  # lacking, but not of the key: NULL
        ({"b": "string"}, ["pair.a is missing"]),
        (
            {"a": "int32", "b": "int64"},
            ["pair.a is int32, not int64", "pair.b is int64, not string"],
        ),
        ({"a": "int64", "c": "bool"}, ["pair.c is no longer a column"]),
    ],
)
def test_what_keeps_a_table_from_being_read(held: dict[str, str], faults: list[str]) -> None:
    assert incompatible_columns(PAIR, MappingProxyType(held)) == faults
    # A later version may have columns that are unknown here.
    assert incompatible_columns(PAIR, held, is_newer=True) == [
        fault for fault in faults if "no longer" not in fault
    ]


def test_amounts_of_time_are_exact_and_read_back() -> None:
    assert parse_time("8.2s") == 8_200_000
    for time in (1, 999, 1_000, 59_999_999, 90 * 60_000_000, 25 * 3_600_000_000 + 1):
        assert parse_time(write_time(time)) == time
    assert write_time(86_400_000_000) == "1d"


def test_an_open_range_ends_where_it_is_asked_to() -> None:
    assert list(parse_numbers("1-2,5-").numbers(7)) == [1, 2, 5, 6]
    assert list(parse_numbers("1-9").numbers(3)) == [1, 2]
    assert list(parse_numbers("0-1").numbers(9)) == [0, 1]
