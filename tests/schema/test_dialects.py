"""Every dialect fits the declared tables: a new one costs no new test lines."""

from __future__ import annotations

import pickle
from dataclasses import replace
from datetime import timedelta

import pytest

from borgtrace.errors import SchemaError, UsageError
from borgtrace.schema import (
    TRACE_TABLES,
    Conversion,
    Dialect,
    PriorityTier,
    RawField,
    RawTable,
    check_dialect,
)
from borgtrace.schema.dialects import DIALECTS, GOOGLE_2011, GOOGLE_2019, KAGGLE_2019, dialect
from borgtrace.schema.time import TRACE_START

each_dialect = pytest.mark.parametrize("known", DIALECTS.values(), ids=DIALECTS)


@each_dialect
def test_every_format_fits_the_declared_tables(known):
    check_dialect(known)


IDS = (RawField("job", "collection_id"), RawField("task", "instance_index"))
TYPE = RawField("type", "type")


def own_dialect(fields=(TYPE,), table="instance_events", **facts):
    """A format with one raw table, which fits the declared tables unless a test says otherwise."""
    raw = RawTable("log", table, (RawField("ts", "time"), *IDS, *fields))
    return Dialect(
        name="own",
        title="Own trace",
        tables={"log": raw},
        **facts,
    )


def own_usage(*fields):
    """A format of converted measurements with the given fields."""
    raw = RawTable("load", "usage_rows", fields)
    return Dialect(
        name="own",
        title="Own trace",
        tables={"load": raw},
        conversion=Conversion(),
    )


@pytest.mark.parametrize(
    ("dialect", "fault"),
    [
        (
            own_dialect([TYPE, RawField("e", "typ")]),
            "log.e fills typ, which instance_events does not have (did you mean type?)",
        ),
        (own_dialect([TYPE, RawField("e", "time")]), "log fills time twice"),
        (own_dialect([TYPE, RawField("ts")]), "log has the field ts twice"),
        (own_dialect(table="nothing"), "log has rows of nothing, which is no table"),
        (
            replace(own_usage(RawField("pod", "task"), RawField("ts", "time")), conversion=None),
            "load has usage_rows, which need a conversion",
        ),
        (
            own_dialect(conversion=Conversion()),
            "log has rows of instance_events, which are not converted",
        ),
        (
            own_dialect(codes={"event_type": {0: "SUBMIT", 1: "DONE"}}),
            "DONE is no name of event_type",
        ),
        (
            own_dialect(codes={"event_type": {0: "SUBMIT"}}, null_codes={"event_type": (0,)}),
            "code 0 of event_type is NULL too",
        ),
        (
            own_dialect(codes={"event_type": {0: "SUBMIT"}, "colors": {}}),
            "codes of colors, which is no enumeration",
        ),
        (
            own_dialect(codes={}),
            "log fills type, but there are no codes of event_type",
        ),
        (own_dialect([]), "no field of log fills type, which instance_events must have"),
        (
            own_usage(RawField("ts", "time"), RawField("cpu", "average_cpu")),
            "no field of load fills task, which usage_rows must have",
        ),
        (
            own_usage(RawField("pod", "task"), RawField("cpu", "average_cpu")),
            "no field of load fills time or length, one of which usage_rows must have",
        ),
        (own_dialect(tiers=()), "no tiers"),
        (
            own_dialect(tiers=(PriorityTier("low", 1, 2),)),
            "the first tier, low, begins at 1 rather than 0",
        ),
        (
            own_dialect(tiers=(PriorityTier("low", 0, 2), PriorityTier("high", 4, 9))),
            "the tier high begins at 4 rather than 3",
        ),
        (own_dialect(time_zones={"": "Mars/Base"}), "no such time zone: Mars/Base"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_format_that_does_not_fit_is_refused(dialect, fault):
    with pytest.raises(SchemaError) as error:
        check_dialect(dialect)
    assert str(error.value) == f"own: not a sound trace format: got {fault}"


@each_dialect
def test_the_origin_is_the_start_of_the_trace_in_every_cell(known):
    for cell in known.time_zones:
        assert known.wall_clock(TRACE_START, cell) == known.origin
        a_second_later = known.wall_clock(TRACE_START + 1_000_000, cell)
        assert a_second_later - known.origin == timedelta(seconds=1)


@each_dialect
def test_what_is_published_has_a_source_and_what_is_not_a_reason(known):
    for table in TRACE_TABLES.values():
        for column in table.names:
            source = known.source(table.name, column)
            assert known.publishes(column, table.name) == isinstance(source, str)
            assert isinstance(source, str) or source.reason


@each_dialect
def test_a_manifest_of_its_trace_finds_a_dialect(known):
    assert dialect(known.trace).trace == known.trace


@each_dialect
def test_a_known_format_goes_to_workers_as_its_name(known):
    """Its raw tables would be most of what each task is sent of a file."""
    sent = pickle.dumps(known)
    assert pickle.loads(sent) is known
    assert len(sent) < 200
    # Another one of its name goes whole.
    other = pickle.loads(pickle.dumps(replace(known, title="another")))
    assert (other.name, other.title, other.tables.keys()) == (
        known.name,
        "another",
        known.tables.keys(),
    )


def test_an_unknown_format_is_a_usage_error():
    with pytest.raises(UsageError) as error:
        dialect("2013")
    known = ", ".join(DIALECTS)
    assert str(error.value) == f"dialect: no such trace format: expected {known}, got 2013"


def test_what_the_traces_publish():
    # FACTS §1 and §8: 2011 has neither alloc sets nor percentiles nor dependencies, 2019 no disk and no sampled memory.
    only_2019 = (
        "alloc_collection_id",
        "cpu_usage_distribution",
        "parent_collection_id",
        "start_after_collection_ids",
    )
    only_2011 = (
        "disk_request",
        "mean_disk_io_time",
        "unmapped_page_cache_memory",
        "aggregation_type",
    )
    assert [GOOGLE_2011.publishes(name) for name in only_2019] == [False] * 4
    assert [GOOGLE_2019.publishes(name) for name in only_2019] == [True] * 4
    assert [GOOGLE_2011.publishes(name) for name in only_2011] == [True] * 4
    assert [GOOGLE_2019.publishes(name) for name in only_2011] == [False] * 4
    assert (
        GOOGLE_2011.publishes("user", "instance_events"),
        GOOGLE_2019.publishes("user", "instance_events"),
    ) == (
        True,
        False,
    )
    assert not KAGGLE_2019.publishes("name", "machine_attributes")
    assert (GOOGLE_2011.cells, "".join(GOOGLE_2019.cells)) == ((), "abcdefgh")
    assert {name: raw.parts for name, raw in GOOGLE_2011.tables.items()} == {
        "machine_events": 1,
        "machine_attributes": 1,
        "job_events": 500,
        "task_events": 500,
        "task_constraints": 500,
        "task_usage": 500,
    }
    assert GOOGLE_2011.tables["task_usage"].field_counts == (19, 20)
