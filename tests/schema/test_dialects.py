"""Every dialect fits the declared tables: a new one costs no new test lines."""

from __future__ import annotations

import pickle
from datetime import timedelta

import pytest

from borgtrace.errors import UsageError
from borgtrace.schema import ENUMS, TRACE_TABLES
from borgtrace.schema.dialects import DIALECTS, GOOGLE_2011, GOOGLE_2019, KAGGLE_2019, dialect
from borgtrace.schema.records import row_of
from borgtrace.schema.time import TRACE_START

each_dialect = pytest.mark.parametrize("one", DIALECTS.values(), ids=DIALECTS)


@each_dialect
def test_a_field_fills_a_column_that_exists_and_no_two_fill_the_same(one):
    inner = [nested for raw in one.tables.values() for nested in raw.lists]
    for raw in (*one.tables.values(), *inner):
        filled = [field.column for field in raw.fields if field.column]
        assert set(filled) <= set(row_of(raw.table).names)
        assert len(filled) == len(set(filled))
        assert len({field.name for field in raw.fields}) == len(raw.fields)


@each_dialect
def test_codes_name_values_of_enumerations_and_null_codes_none(one):
    for name, codes in one.codes.items():
        assert set(codes.values()) <= set(ENUMS[name].names)
        assert not set(codes) & set(one.null_codes.get(name, ()))
    for raw in one.tables.values():
        columns = [row_of(raw.table).column(field.column) for field in raw.fields if field.column]
        assert {column.enum for column in columns if column.enum} <= set(one.codes)


@each_dialect
def test_tiers_ascend_without_gap_or_overlap(one):
    assert one.tiers[0][1] == 0
    for (_, _, last), (_, first, _) in zip(one.tiers, one.tiers[1:], strict=False):
        assert first == last + 1


@each_dialect
def test_the_origin_is_the_start_of_the_trace_in_every_cell(one):
    for cell in one.time_zones:
        assert one.wall_clock(TRACE_START, cell) == one.origin
        assert one.wall_clock(TRACE_START + 1_000_000, cell) - one.origin == timedelta(seconds=1)


@each_dialect
def test_what_is_published_has_a_source_and_what_is_not_a_reason(one):
    for table in TRACE_TABLES.values():
        for column in table.names:
            source = one.source(table.name, column)
            assert one.publishes(column, table.name) == isinstance(source, str)
            assert isinstance(source, str) or source.reason


@each_dialect
def test_a_manifest_of_its_trace_finds_a_dialect(one):
    assert dialect(one.trace).trace == one.trace
    assert pickle.loads(pickle.dumps(one)).name == one.name


def test_an_unknown_format_is_a_usage_error():
    with pytest.raises(UsageError) as error:
        dialect("2013")
    assert str(error.value) == (
        "dialect: no such trace format: expected "
        "alibaba-2018, azure-2019, 2011, 2019, kaggle-2019, openb, opendc, powerdata-2019, prometheus, swf, got 2013"
    )


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
