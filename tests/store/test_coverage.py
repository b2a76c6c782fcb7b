"""How much of a trace a store holds, told by its ledger."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from borgtrace.schema import TRACE_TABLES, dialect
from borgtrace.schema.dialects import DIALECTS
from borgtrace.store.coverage import DECLARED_WHOLE, Coverage, StoreCoverage, coverage, whole_trace
from borgtrace.store.parts import describe_numbers
from tests.rows import chosen_columns
from tests.store.typed import EMPTY, SECOND, entry


def test_a_table_is_whole_when_no_part_is_missing() -> None:
    assert Coverage(1, (), 0).is_whole
    assert not Coverage(1, (0,), 2).is_whole
    assert Coverage(1, (0, 1), 2).is_whole
    assert not Coverage(1, (0, 1), None).is_whole


def test_parts_are_contiguous_without_a_gap() -> None:
    assert Coverage(1, ()).is_contiguous
    assert Coverage(1, (4,)).is_contiguous
    assert Coverage(1, (0, 1, 2)).is_contiguous
    assert not Coverage(1, (0, 1, 3)).is_contiguous
    assert not Coverage(1, (0, 2, 3)).is_contiguous


def test_a_whole_table_speaks_about_the_whole_trace() -> None:
    tables = {
        "a": Coverage(1, (0,), 1, 5),
        "b": Coverage(1, (0,), 2, 9),
        "c": Coverage(1, (0,), None, 7),
    }
    cover = StoreCoverage(dialect("2011"), tables, 0)
    assert cover.span == 9
    assert [cover.span_of(name) for name in tables] == [9, 9, 7]
    assert StoreCoverage(dialect("2011"), {}, 0).span == 0
    whole = whole_trace(dialect("2019"), 3)
    # FACTS: 31 days of May 2019.
    span = 31 * 24 * 3600 * SECOND
    assert whole.tables["instance_usage"] == Coverage(0, (), 0, span)
    assert whole.n_tasks == 3
    assert not whole.is_subset


def test_what_the_ledger_tells_of_parts_and_time() -> None:
    manifest = replace(
        EMPTY,
        tables={"instance_usage": 8, "tasks": 2},
        sources=(
            entry(7),
            entry(3),
            entry(3),
            entry(None),
            entry(1, table="instance_events", raw_table="task_events"),
        ),
        time_range={
            "instance_usage": [0, 607 * SECOND],
            "instance_events": [601 * SECOND, 605 * SECOND],
        },
        notes=("first", "subset of other"),
    )
    cover = coverage(manifest)
    assert cover.n_tasks == 2
    assert cover.is_subset
    # 500 parts are published (FACTS §1); what is before 600 s is before the trace.
    expected = {
        "instance_usage": Coverage(8, (3, 7), 500, 7 * SECOND),
        "instance_events": Coverage(0, (1,), 500, 4 * SECOND),
        "machine_events": Coverage(0, (), None, 0),
    }
    assert chosen_columns(cover.tables, expected) == expected
    before_trace = replace(EMPTY, time_range={"instance_usage": [0, 5 * SECOND]}, notes=("first",))
    none = coverage(before_trace)
    assert none.tables["instance_usage"].span == 0
    assert none.n_tasks == 0
    assert not none.is_subset


def test_constraints_are_told_by_the_files_of_events() -> None:
    events = entry(
        4,
        table="instance_events",
        raw_table="instance_events",
        also={"instance_constraints": 6},
    )
    tables = coverage(replace(EMPTY, generation="2019", sources=(events,))).tables
    assert tables["instance_events"].parts == (4,)
    assert tables["instance_constraints"].parts == (4,)
    assert tables["instance_usage"].parts == ()


USAGE_2019 = {"raw_table": "instance_usage"}
ALL_RAW = tuple(entry(0, raw_table=name) for name in DIALECTS["2011"].tables)
UNPUBLISHED = next(one.name for one in DIALECTS.values() if one.publication is None)


@pytest.mark.parametrize(
    ("facts", "of"),
    [
        # The published number first: a file may be renamed.
        ({"sources": (entry(0, 7),)}, 500),
        ({"generation": "2019", "sources": (entry(0, **USAGE_2019),)}, None),
        (
            {
                "generation": "2019",
                "sources": (entry(0, 7, **USAGE_2019), entry(1, 7, **USAGE_2019)),
            },
            7,
        ),
        (
            {
                "generation": "2019",
                "sources": (entry(0, 7, **USAGE_2019), entry(1, 8, **USAGE_2019)),
            },
            None,
        ),
        (
            {
                "generation": "2019",
                "sources": (entry(0, **USAGE_2019),),
                "notes": (DECLARED_WHOLE,),
            },
            0,
        ),
        ({"generation": "2019", "sources": (entry(0, raw_table="other"),)}, None),
        ({"generation": UNPUBLISHED, "sources": (entry(0, 7),)}, 0),
        ({"synthetic": {"parts": {"task_usage": 2}}, "sources": (entry(0, 7),)}, 2),
        ({"synthetic": {}, "sources": (entry(0, 7),)}, 7),
        ({"synthetic": {"parts": None}, "sources": (entry(0),)}, None),
        # Old generators did not record how many files they wrote.
        ({"synthetic": {}, "sources": ALL_RAW}, 0),
        ({"synthetic": {}, "sources": ALL_RAW[1:]}, None),
    ],
)
def test_how_many_parts_a_whole_table_has(facts: dict[str, Any], of: int | None) -> None:
    cover = coverage(replace(EMPTY, **facts))
    assert cover.tables["instance_usage"].of == of


@pytest.mark.parametrize(
    ("numbers", "total", "text"),
    [
        ([3, 1, 2, 9, 10, 7, None], None, "1–3, 7, 9–10"),
        ([0], 1, "0 of 1"),
        ([], 5, ""),
        ([0, 2], 0, "0, 2"),
    ],
)
def test_parts_in_words(numbers: list[int | None], total: int | None, text: str) -> None:
    assert describe_numbers(numbers, total) == text


def test_every_table_of_a_trace_is_covered() -> None:
    assert list(coverage(EMPTY).tables) == list(TRACE_TABLES)


def test_nobody_has_more_of_own_data() -> None:
    """The series of Prometheus become usage, events and machines, none of which is part of something larger."""
    manifest = replace(
        EMPTY, generation="prometheus", sources=(entry(None, table="", raw_table="series"),)
    )
    assert all(table.is_whole for table in coverage(manifest).tables.values())
    # Of what others published there may be more than one has.
    published = replace(manifest, generation="azure-2017")
    assert not coverage(published).tables["instance_events"].is_whole
