"""What the files of trace formats say, and how it is read."""

from __future__ import annotations

from borgtrace.schema.dialects import DIALECTS, GOOGLE_2011, GOOGLE_2019


def test_codes_are_lists_from_0_names_from_a_number_or_tables_of_numbers_and_words() -> None:
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


def test_a_format_like_another_differs_in_what_it_says_and_is_published_apart() -> None:
    flattened, power = DIALECTS["kaggle-2019"], DIALECTS["powerdata-2019"]
    for one in (flattened, power):
        assert (one.trace, one.tiers, one.codes, one.publication) == (
            "2019",
            GOOGLE_2019.tiers,
            GOOGLE_2019.codes,
            None,
        )
    # The very tables of the other, where it has none of its own.
    assert list(flattened.tables) == ["instance_events", "collection_events", "instance_usage"]
    assert all(flattened.tables[name] is GOOGLE_2019.tables[name] for name in flattened.tables)
    assert {raw.table for raw in power.tables.values()} == {
        "power_measurements",
        "machine_power_domains",
    }
    assert (power.formats, GOOGLE_2019.formats) == (("csv",), ("json", "parquet"))


def test_lists_of_a_file_cannot_be_changed() -> None:
    assert DIALECTS["alibaba-2018"].none["memory"] == (-1, 101)
    conversion = DIALECTS["alibaba-2018"].conversion
    assert conversion is not None
    assert (conversion.shares, conversion.of) == (
        ("memory",),
        {"cpu": "request", "memory": "request"},
    )
    assert GOOGLE_2011.tiers == (("free", 0, 1), ("other", 2, 8), ("production", 9, 11))
