"""Sums by machine and slot are the same from compiled code as from SQL, and left to SQL where they must be."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from borgtrace.analyses.shared import slot_pages
from borgtrace.analyses.shared.machine_slots import SLOT_SUMS
from borgtrace.engine import to_arrow
from borgtrace.question import Tables
from borgtrace.question.shared_tables import LeftToSQLError
from borgtrace.schema.time import AFTER_TRACE, TRACE_START
from tests.analyses.tiny import at, tiny, window

DAY = 86_400


@pytest.fixture(autouse=True)
def _few_windows_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slot_pages, "LEAST_ROWS", 1)


def compiled_sums(tables: Tables) -> list[dict[str, Any]]:
    parts = slot_pages.slot_sums_in_parts(tables)
    return in_order(pa.concat_tables([part.read_all() for part in parts]))


def sums_of_sql(tables: Tables) -> list[dict[str, Any]]:
    return in_order(to_arrow(SLOT_SUMS.build(tables)))


def in_order(rows: pa.Table) -> list[dict[str, Any]]:
    keys = ("machine_id", "slot")
    sorted_rows: list[dict[str, Any]] = rows.sort_by(
        [(key, "ascending") for key in keys]
    ).to_pylist()
    return sorted_rows


def test_sums_of_a_machine_by_hand() -> None:
    tables = tiny(
        "2019",
        instance_usage=[
            window(1, 0, 0.25, 0.5, machine_id=7),
            window(2, 0, 0.125, None, length=100, machine_id=7),
            # Of a task in an alloc set only the time counts, of the alloc set itself no time.
            window(3, 0, 0.5, 0.5, machine_id=7, alloc_collection_id=4),
            window(4, 0, 0.5, 0.5, machine_id=7, collection_type="ALLOC_SET"),
            # Half a second weighs nothing.
            window(5, 0, 0.5, 0.5, length=0.5, machine_id=7),
            # Three pages on, on no machine that is named.
            window(6, 3 * DAY, 0.5, 0.5, machine_id=None, alloc_collection_id=4),
        ],
    )
    assert compiled_sums(tables) == [
        {
            "machine_id": 7,
            "slot": 0,
            "n_outermost": 3,
            "cpu": round((0.25 * 300 + 0.125 * 100 + 0.5 * 300) * 2**30),
            "memory": round((0.5 * 300 + 0.5 * 300) * 2**30),
            "task_seconds": 300 + 100 + 300,
        },
        {
            "machine_id": None,
            "slot": 3 * 288,
            "n_outermost": 0,
            "cpu": None,
            "memory": None,
            "task_seconds": 300,
        },
    ]


TIMES = st.one_of(
    st.integers(0, 2 * TRACE_START),
    st.integers(at(0), at(5 * DAY)),
    st.sampled_from([0, TRACE_START - 1, TRACE_START]),
)
LENGTHS = st.one_of(
    st.integers(0, 600_000_000),
    st.sampled_from([0, 999_999, 1_000_000, 300_000_000, AFTER_TRACE]),
)
RESOURCES = st.one_of(st.none(), st.floats(0, 8, width=32))


@st.composite
def windows(draw: st.DrawFn) -> dict[str, Any]:
    start = draw(TIMES)
    end = min(start + draw(LENGTHS), AFTER_TRACE)
    return {
        "collection_id": draw(st.integers(1, 5)),
        "start_time": start,
        "end_time": end,
        "machine_id": draw(st.one_of(st.none(), st.integers(-3, 9), st.just(2**62))),
        "average_cpu": draw(RESOURCES),
        "average_memory": draw(RESOURCES),
        "alloc_collection_id": draw(st.sampled_from([None, 3])),
        "collection_type": draw(st.sampled_from(["JOB", "ALLOC_SET"])),
    }


@settings(max_examples=20, deadline=None)
@given(st.lists(windows(), min_size=1, max_size=40), st.sampled_from([1, 2, 4]))
def test_compiled_sums_are_those_of_sql(rows: list[dict[str, Any]], n_parts: int) -> None:
    tables = tiny("2019", instance_usage=rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slot_pages, "number_of_parts", lambda *_: n_parts)
        assert compiled_sums(tables) == sums_of_sql(tables)


def test_sums_that_need_more_pages_than_there_are_are_left_to_sql(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tables = tiny(instance_usage=[window(1, 0, 0.5, 0.5), window(1, DAY, 0.5, 0.5)])
    assert len(compiled_sums(tables)) == 2
    tables.memory = slot_pages.PAGE_BYTES * slot_pages.SHARE_OF_BUDGET
    with pytest.raises(LeftToSQLError):
        compiled_sums(tables)


def test_sums_beyond_64_bits_are_left_to_sql() -> None:
    # 2³² machines for 300 s are 2⁷⁰·².
    tables = tiny(instance_usage=[window(1, 0, 2.0**32, 0.5)])
    with pytest.raises(LeftToSQLError):
        compiled_sums(tables)


def test_few_windows_are_left_to_sql(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slot_pages, "LEAST_ROWS", 2)
    with pytest.raises(LeftToSQLError):
        compiled_sums(tiny(instance_usage=[window(1, 0, 0.5, 0.5)]))
