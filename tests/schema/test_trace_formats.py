"""What a trace format answers: sources, clocks, tiers, rates, citations."""

from __future__ import annotations

import pytest

from borgtrace.errors import UsageError
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


def test_where_a_raw_table_publishes_a_column() -> None:
    inner = RawTable("item", "parts", (RawField("name", "name"),))
    fields = (RawField("id", "id", is_mandatory=True), RawField("r.x", "x"), RawField("r.y", ""))
    outer = RawTable("things", "wholes", fields, optional=1, lists=(inner,))
    assert outer.source("wholes", "id") == "things.id"
    assert outer.source("wholes", "x") == "things.r.x"
    assert outer.source("parts", "name") == "things.item.name"
    # An item has it from the row around it.
    assert outer.source("parts", "id") == "things.id"
    assert outer.source("parts", "z") is None
    assert outer.source("others", "id") is None
    assert RawTable("t", "wholes", fields, is_positional=True).source("wholes", "x") == "t.2"
    assert outer.names == ("id", "r", "item")
    assert outer.mandatory == ("id",)
    assert outer.field_counts == (2, 3)


@pytest.mark.parametrize(
    ("trace", "time", "cell", "expected"),
    [
        ("2011", 4200, "", "2011-05-01T20:00:00-04:00"),
        ("2011", 0.000001, "", "2011-05-01T18:50:00.000001-04:00"),
        ("2019", 4200, "a", "2019-05-01T04:00:00-04:00"),
        ("2019", 4200, "nowhere", "2019-05-01T08:00:00+00:00"),
        # One cell without a name: its zone all the same.
        ("2011", 4200, "a", "2011-05-01T20:00:00-04:00"),
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
    for published in (GOOGLE_2011, GOOGLE_2019):
        source = published.source("instance_events", "source_row")
        assert source == Absent("given at ingest")
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
    assert of_2011["mixed_requests"].expected == "4 of 1,946 in the first 12.5 h"
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
    declaration = {
        "name": "known",
        "clock": "relative",
        "machines": {"machine": "node"},
    }
    declared = declare(declaration, "own.toml")
    try:
        assert dialect(declared.name) is declared
        # The first one stays: layouts are cached by its identity.
        assert declare(declaration, "own.toml") is declared
        assert dialect("2011") is GOOGLE_2011
    finally:
        del DECLARED[declared.name]
