"""On which stores a claim is judged: at each threshold, and just beyond it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from borgtrace.question import Scope
from borgtrace.question.scope import QuestionRequest, duration
from borgtrace.schema.dialects import dialect
from borgtrace.schema.time import DAY, HOUR, MINUTE, TRACE_START
from borgtrace.store.coverage import DECLARED_WHOLE, Coverage, StoreCoverage, coverage, whole_trace
from borgtrace.store.manifest import Manifest, SourceEntry

READS = ("tasks", "instance_usage")
EVENTS = Coverage(
    5_000,
    parts=tuple(range(500)),
    of=500,
    span=29 * DAY,
)
ALL_2011 = StoreCoverage(
    dialect("2011"), {"instance_events": EVENTS, "instance_usage": EVENTS}, n_tasks=1000
)
SHARDS = Coverage(
    5_000,
    parts=(0, 1, 2),
    of=3,
    span=31 * DAY,
)
ALL_2019 = StoreCoverage(
    dialect("2019"), {"instance_events": SHARDS, "instance_usage": SHARDS}, n_tasks=1000
)


def held(store: StoreCoverage, **usage: Any) -> StoreCoverage:
    """Return a store whose usage is another."""
    return replace(
        store,
        tables={**store.tables, "instance_usage": replace(store.tables["instance_usage"], **usage)},
    )


@pytest.mark.parametrize(
    ("scope", "store", "expected"),
    [
        (Scope(), ALL_2011, ""),
        (
            Scope(),
            held(ALL_2011, parts=tuple(range(1, 500))),
            "needs all 500 parts of instance_usage, has 499 (29 days)",
        ),
        (
            Scope(),
            held(ALL_2011, parts=(3,), span=5 * MINUTE),
            "needs all 500 parts of instance_usage, has 1 (5 min)",
        ),
        (
            Scope(),
            held(ALL_2019, of=None),
            "needs all of instance_usage (how many parts is not known), has 3 (31 days)",
        ),
        (
            Scope(),
            held(ALL_2019, of=None, parts=()),
            "needs all of instance_usage (how many parts is not known), has 31 days",
        ),
        (Scope(tables=("instance_events",)), held(ALL_2011, parts=(3,)), ""),
        # Parts by time: some are enough where they follow each other and are long enough.
        (Scope(is_whole=False), held(ALL_2011, parts=tuple(range(3, 21)), span=DAY), ""),
        (
            Scope(is_whole=False),
            held(ALL_2011, parts=tuple(range(3, 21)), span=DAY - 5 * MINUTE + 1),
            "",
        ),
        (
            Scope(is_whole=False),
            held(ALL_2011, parts=tuple(range(3, 21)), span=DAY - 5 * MINUTE),
            "needs instance_usage of 24 h or more, has 23.9 h (18 of 500 parts)",
        ),
        (
            Scope(is_whole=False),
            held(ALL_2011, parts=(3, 5), span=DAY),
            "needs parts of instance_usage that follow each other, has 2 (24 h)",
        ),
        (
            Scope(is_whole=False),
            StoreCoverage(
                dialect("2011"),
                {
                    "instance_events": replace(EVENTS, parts=tuple(range(20)), span=DAY),
                    "instance_usage": replace(EVENTS, parts=tuple(range(30, 50)), span=DAY),
                },
                n_tasks=1000,
            ),
            "needs the same parts of instance_events and instance_usage, has 20 and 20",
        ),
        # Shards by hash: rows of a task lie in all of them, so that they are a sample of rows alone.
        (
            Scope(is_whole=False),
            held(ALL_2019, parts=(0, 2)),
            "is about tasks, whose rows lie in all 3 parts of instance_usage; the store has 2 (31 days)",
        ),
        (Scope(is_whole=False, is_row_wise=True), held(ALL_2019, parts=(0, 2)), ""),
        (Scope(is_whole=False, is_row_wise=True), held(ALL_2019, parts=(0, 2), of=None), ""),
        (
            Scope(is_whole=False, is_row_wise=True),
            held(
                ALL_2019,
                parts=(0,),
                of=None,
                span=HOUR,
            ),
            "needs instance_usage of 24 h or more, has 60 min",
        ),
        (Scope(), replace(ALL_2011, n_tasks=999), "needs 1,000 tasks or more, has 999"),
        (Scope(), replace(ALL_2011, n_tasks=None), ""),
        (Scope(tasks=10_000), ALL_2011, "needs 10,000 tasks or more, has 1,000"),
        (
            Scope(),
            replace(ALL_2011, is_subset=True),
            "is about the whole trace, the store is a subset of another",
        ),
        (Scope(traces=("2011",)), ALL_2011, ""),
        (Scope(traces=("2011",)), ALL_2019, "is about 2011, the store holds 2019"),
        (Scope(traces=("2011", "2019")), ALL_2019, ""),
        (Scope(traces=("2011",), is_general=True), ALL_2019, ""),
        # Numbers of the published cell are those of no other one.
        (Scope(traces=("2011",), is_of_this_cell=True), ALL_2011, ""),
        (
            Scope(traces=("2011",), is_of_this_cell=True),
            replace(ALL_2011, is_synthetic=True),
            "is about the cell of 2011, the store holds a synthetic one",
        ),
        (Scope(traces=("2011",)), replace(ALL_2011, is_synthetic=True), ""),
    ],
)
def test_what_a_store_must_hold(scope: Scope, store: StoreCoverage, expected: str) -> None:
    assert scope.objection(store, READS) == expected


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (1, "1e-06 s"),
        (2 * MINUTE - 1, "120 s"),
        (2 * MINUTE, "2 min"),
        (2 * HOUR - 1, "120 min"),
        (2 * HOUR, "2 h"),
        (2 * DAY, "48 h"),
        (2 * DAY + HOUR, "2.04 days"),
    ],
)
def test_spans_are_told_in_the_largest_unit_that_leaves_two(span: int, text: str) -> None:
    assert duration(span) == text


def test_machines_are_of_no_number_of_tasks() -> None:
    machines = StoreCoverage(
        dialect("2011"), {"machine_events": Coverage(9, (0,), 1, 29 * DAY)}, n_tasks=0
    )
    assert Scope().objection(machines, ["machine_events"]) == ""


def test_a_whole_table_speaks_about_the_whole_trace() -> None:
    # The only event of machines is their arrival, and no day is missing.
    tables = {"machine_events": Coverage(9, (0,), 1, 0), "instance_usage": EVENTS}
    assert (
        Scope(span=29 * DAY).objection(
            StoreCoverage(dialect("2011"), tables, 1000), ["machine_events"]
        )
        == ""
    )


@pytest.mark.parametrize(
    ("scope", "where", "changed", "expected"),
    [
        (Scope(), "", {}, ""),
        (Scope(), "priority > 8", {}, "is about all tasks, not a selection (--where)"),
        (Scope(), "", {"seed": 7}, ""),
        (Scope(), "", {"step": 60}, "is about the question's defaults, not step 60"),
        (Scope(free=("step",)), "", {"step": 60}, ""),
        (Scope(free=("step",)), "", {"seed": 7}, "is about the question's defaults, not seed 7"),
        (Scope(larger=("size",)), "", {"size": 1001}, ""),
        (Scope(larger=("size",)), "", {"size": 999}, "needs size of 1,000 or more, got 999"),
    ],
)
def test_what_was_asked(scope: Scope, where: str, changed: dict[str, Any], expected: str) -> None:
    assert (
        scope.objection(ALL_2011, READS, QuestionRequest(where, changed, {"size": 1000}))
        == expected
    )


@pytest.mark.parametrize(
    ("value", "unit", "setting"),
    [
        (7_200_000_000, 1, "horizon 2 h"),
        (300_000_000, 1, "horizon 5 min"),
        (5_400, 1_000_000, "horizon 1 h 30 min"),
        (None, 1, "horizon None"),
    ],
)
def test_times_are_said_in_words(value: int | None, unit: int, setting: str) -> None:
    request = QuestionRequest("", {"horizon": value}, {"horizon": 1}, {"horizon": unit})
    expected = f"is about the question's defaults, not {setting}"
    assert Scope().objection(ALL_2011, READS, request) == expected


def test_a_verdict_on_another_trace_says_so() -> None:
    scope = Scope(traces=("2011",), is_general=True)
    assert scope.note(ALL_2019) == "published of 2011, measured on 2019"
    assert scope.note(ALL_2011) == ""
    assert Scope().note(ALL_2019) == ""


def entry(
    raw: str, table: str, part: int | None, parts: int | None = None, **more: Any
) -> SourceEntry:
    return SourceEntry(
        f"{raw}/{part}", f"{raw}/{part}", table, raw, "csv", 1, "", part, parts, 10, 10, 0, **more
    )


def manifest(*sources: SourceEntry, generation: str = "2011", **more: Any) -> Manifest:
    return Manifest(
        generation,
        "",
        "UTC",
        "1",
        "",
        {"instance_usage": 20, "tasks": 1234},
        sources,
        time_range={"instance_usage": [0, TRACE_START + DAY]},
        **more,
    )


def usage_of(found: Manifest) -> Coverage:
    return coverage(found).tables["instance_usage"]


def test_parts_of_the_published_trace() -> None:
    sources = [entry("task_usage", "instance_usage", part, 500) for part in (1, 0)]
    found = coverage(manifest(*sources))
    assert found.tables["instance_usage"] == Coverage(20, (0, 1), 500, DAY)
    assert (found.n_tasks, found.is_subset) == (1234, False)
    # A file cannot shrink the trace by its name.
    assert usage_of(manifest(entry("task_usage", "instance_usage", 0, 1))).of == 500
    assert coverage(manifest(notes=("subset of /cell: part=3",))).is_subset


def test_shards_whose_number_nobody_knows() -> None:
    events = entry("instance_events", "instance_events", 4, also={"instance_constraints": 3})
    found = coverage(manifest(events, generation="2019"))
    assert found.tables["instance_events"] == Coverage(0, (4,), None, 0)
    assert found.tables["instance_constraints"].parts == (4,)
    flattened = manifest(entry("kaggle", "instance_usage", None), generation="2019")
    assert usage_of(flattened) == Coverage(20, (), None, DAY)


def test_a_trace_of_unknown_parts_is_whole_where_that_is_declared() -> None:
    shard = entry("instance_usage", "instance_usage", 0)
    assert usage_of(manifest(shard, generation="2019", notes=(DECLARED_WHOLE,))).is_whole
    # No declaration is believed where the number is published.
    part = entry("task_usage", "instance_usage", 0, 500)
    assert not usage_of(manifest(part, notes=(DECLARED_WHOLE,))).is_whole


def test_a_synthetic_trace_says_how_many_files_it_has() -> None:
    shard = entry("instance_usage", "instance_usage", 0)
    told = {"seed": 1, "parts": {"instance_usage": 2}}
    assert usage_of(manifest(shard, generation="2019", synthetic=told)) == Coverage(
        20, (0,), 2, DAY
    )
    parts = entry("task_usage", "instance_usage", 0, 17)
    assert usage_of(manifest(parts, synthetic={"seed": 1, "parts": None})).of == 17


def test_an_old_synthetic_trace_is_whole_when_it_has_all_tables() -> None:
    raw = dialect("2019").tables
    every = [entry(name, raw[name].table, 0) for name in raw]
    assert usage_of(manifest(*every, generation="2019", synthetic={"seed": 1})).is_whole
    usage = [each for each in every if each.table == "instance_usage"]
    assert usage_of(manifest(*usage, generation="2019", synthetic={"seed": 1})).of is None


def test_tables_that_nobody_says_to_be_a_part_are_whole() -> None:
    assert Scope(span=29 * DAY, tasks=10**9).objection(whole_trace(dialect("2011")), READS) == ""
    assert (
        Scope().objection(whole_trace(dialect("2011"), 999), READS)
        == "needs 1,000 tasks or more, has 999"
    )
