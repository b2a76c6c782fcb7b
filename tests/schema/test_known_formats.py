"""What the known formats say, typed from their publishers' documents."""

from __future__ import annotations

import dataclasses

import pytest

from borgtrace.schema.dialects import (
    DIALECTS,
    GOOGLE_2011,
    GOOGLE_2019,
    Conversion,
    Dialect,
    RawField,
    RawTable,
)


def test_codes_are_numbers_or_words() -> None:
    assert GOOGLE_2011.codes["relation"] == {
        0: "EQUAL",
        1: "NOT_EQUAL",
        2: "LESS_THAN",
        3: "GREATER_THAN",
    }
    assert GOOGLE_2019.codes["missing_data_reason"] == {1: "SNAPSHOT_BUT_NO_TRANSITION"}
    assert GOOGLE_2019.codes["collection_type"] == {0: "JOB", 1: "ALLOC_SET"}
    assert DIALECTS["swf"].codes["event_type"][101] == "SUBMIT"
    assert DIALECTS["openb"].codes["event_type"]["Succeeded"] == "FINISH"


@pytest.mark.parametrize("name", ["kaggle-2019", "powerdata-2019"])
def test_a_format_derived_from_2019_shares_its_facts_and_is_not_published_with_it(
    name: str,
) -> None:
    derived = DIALECTS[name]
    assert derived.trace == "2019"
    assert derived.tiers == GOOGLE_2019.tiers
    assert derived.codes == GOOGLE_2019.codes
    assert derived.publication is None


def test_the_flattened_sample_has_the_very_tables_of_2019() -> None:
    flattened = DIALECTS["kaggle-2019"]
    assert list(flattened.tables) == ["instance_events", "collection_events", "instance_usage"]
    for name, table in flattened.tables.items():
        assert table is GOOGLE_2019.tables[name]


def test_power_data_has_tables_of_its_own() -> None:
    power = DIALECTS["powerdata-2019"]
    assert {raw.table for raw in power.tables.values()} == {
        "power_measurements",
        "machine_power_domains",
    }
    assert (power.formats, GOOGLE_2019.formats) == (("csv",), ("json", "parquet"))


def test_what_is_said_of_alibaba_and_2011() -> None:
    assert DIALECTS["alibaba-2018"].none["memory"] == (-1, 101)
    conversion = DIALECTS["alibaba-2018"].conversion
    assert conversion is not None
    assert conversion.shares == ("memory",)
    assert conversion.share_of == {"cpu": "request", "memory": "request"}
    assert GOOGLE_2011.tiers == (("free", 0, 1), ("other", 2, 8), ("production", 9, 11))


def test_a_format_needs_a_name_a_title_and_tables_and_cannot_be_changed() -> None:
    nodes = RawTable(
        "nodes",
        "machine_rows",
        (RawField("node", "machine", is_mandatory=True),),
    )
    own = Dialect(
        name="own",
        title="Own trace",
        tables={"nodes": nodes},
        conversion=Conversion(),
    )
    assert own.trace == "own"
    assert own.formats == ("csv",)
    assert own.tiers == (("all", 0, 2_147_483_647),)
    assert own.codes == {"event_type": {"SUBMIT": "SUBMIT", "SCHEDULE": "SCHEDULE"}}
    assert own.cells == ()
    assert own.time_zone() == "UTC"
    assert own.citations == ()
    with pytest.raises(dataclasses.FrozenInstanceError):
        own.name = "other"  # type: ignore[misc]
