"""Tables and columns: their order, their Arrow types, the rules that values keep."""

from __future__ import annotations

import pyarrow as pa
import pytest

from borgtrace.schema import TABLES, TRACE_TABLES, Column, Table
from borgtrace.schema.arrow import arrow_field, raw_schema
from borgtrace.schema.checks import code_at_most, mean_at_most, not_before
from borgtrace.schema.dialects import (
    GOOGLE_2019,
)
from borgtrace.schema.records import row_of

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
