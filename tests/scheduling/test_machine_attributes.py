"""Attributes of machines as a scheduler sees them: numbers and words, over time, in replays and in compact cells."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import borgtrace
from borgtrace.errors import UsageError
from borgtrace.scheduling import PlacementPolicy, Scheduler
from borgtrace.scheduling.changes import make_changes
from borgtrace.scheduling.compaction import CellWorkload, needed
from borgtrace.scheduling.machine_attributes import (
    MachineAttributes,
    attribute_number,
    read_attributes,
)
from borgtrace.scheduling.machines import UNIT, Demand
from borgtrace.scheduling.replay import ScheduleInput, replayed
from borgtrace.scheduling.state import ENDED, RAN_ON, STARTED
from borgtrace.scheduling.variants import parse_machines, with_machines
from tests.analyses.tiny import at, tiny
from tests.scheduling.traces import trace_of

FREE = 0
NEW, OLD = attribute_number("new"), attribute_number("old")


def test_a_number_is_itself_and_a_word_is_one_that_no_other_has() -> None:
    numbers = {"16": 16.0, "-3": -3.0, "+2.5": 2.5, "007": 7.0}
    assert {text: attribute_number(text) for text in numbers} == numbers
    # What Python would read as a number, and is none; and one too long to be exact.
    words = [
        "haswell",
        "Haswell",
        "nan",
        "inf",
        "1e5",
        "1_000",
        "٣",
        "",
        " 1",
        "1" * 16,
        "1.",
        "\ud800",
    ]
    found = [attribute_number(word) for word in words]
    assert len(set(found)) == len(words)
    assert all(-(2.0**53) < number <= -(2.0**52) for number in found)
    assert all(number == int(number) for number in found)
    assert borgtrace.attribute_number("haswell") == found[0]


def machine(id_: int, time: int, platform: str | None, type_: str = "ADD") -> dict[str, Any]:
    return {"machine_id": id_, "time": time, "type": type_, "platform_id": platform}


def attribute(id_: int, time: int, value: str | None, name: str = "kernel") -> dict[str, Any]:
    return {
        "machine_id": id_,
        "time": time,
        "name": name,
        "value": value,
        "is_deleted": value is None,
    }


def test_what_a_store_says_over_time() -> None:
    tables = tiny(
        "2019",
        machine_events=[
            machine(10, 0, "old"),
            machine(20, 0, "old"),
            machine(20, at(4), None, "REMOVE"),
            machine(20, at(8), "new"),
            machine(30, 0, None),
        ],
        machine_attributes=[
            attribute(10, 0, "3"),
            # Of two at one instant the last in the file counts.
            attribute(10, at(5), "4"),
            attribute(10, at(5), "new"),
            attribute(20, at(2), "5"),
            attribute(20, at(9), None),
            attribute(99, 0, "9"),
            attribute(10, 0, "1", name="disk"),
        ],
    )
    found = read_attributes(
        tables, ["kernel", "platform_id", "kernel"], np.array([10, 20, 30]), at(3)
    )
    assert found.names == ("kernel", "platform_id")
    nan = np.nan
    np.testing.assert_array_equal(found.first, [[3, OLD], [5, OLD], [nan, nan]])
    changes = [
        (time, line, found.values[place], which) for time, line, place, which in found.changes
    ]
    # The platform is known by what an event says: one that says nothing changes nothing.
    assert changes[:2] == [(at(5), 0, 4.0, -1), (at(5), 0, NEW, -1)]
    assert changes[2][:2] == (at(9), 1)
    assert np.isnan(changes[2][2])
    assert changes[3] == (at(8), 1, NEW, -2)
    other = found.of(["platform_id"])
    np.testing.assert_array_equal(other.first, [[OLD], [OLD], [nan]])
    assert other.changes.tolist() == [[at(8), 1, 3, -1]]


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ([], "a store with machine_attributes"),
        ([attribute(10, 0, "1", name=name) for name in "fedcba"], "a, b, c, d, e …"),
    ],
)
def test_a_name_that_no_machine_has_is_refused(attributes: list, expected: str) -> None:
    tables = tiny("2019", machine_events=[machine(10, 0, "old")], machine_attributes=attributes)
    with pytest.raises(UsageError) as raised:
        read_attributes(tables, ["kernal"], np.array([10]), 0)
    assert str(raised.value) == (
        f"scheduler: no machine has an attribute that it names: expected {expected}, got kernal"
    )


def smallest(task, machine):
    return machine.attributes[1]


def only_new(task, machine):
    return machine.attributes[0] == NEW


def by_attributes(**functions: Any) -> PlacementPolicy:
    return PlacementPolicy.of(
        Scheduler(name="own", about="of a test", attributes=["platform_id", "rank"], **functions)
    )


SMALLEST = by_attributes(score=smallest)
ONLY_NEW = by_attributes(accepts=only_new)


def with_attributes(
    trace: ScheduleInput, first: list[list[float]], *changes: tuple[int, int, int, float]
) -> ScheduleInput:
    """Return a trace whose machines have these attributes, and get others: time, line, which, value."""
    rows = [
        make_changes(time, line, place, -1 - which)[0]
        for place, (time, line, which, _) in enumerate(changes)
    ]
    attributes = MachineAttributes(
        # In another order than the scheduler's.
        names=("rank", "platform_id"),
        first=np.array(first),
        changes=np.array(rows, np.int64).reshape(-1, 4),
        values=np.array([change[3] for change in changes]),
    )
    object.__setattr__(trace, "attributes", attributes)
    return trace


@pytest.mark.wide
def test_a_score_reads_them_as_they_are_now() -> None:
    attempts = [(job, 0, 10 * job, 10 * job, -1, 0.125, FREE) for job in range(4)]
    trace = with_attributes(
        # The cell is sorted by capacity: lines are not places.
        trace_of(attempts, (1.0, 0.5, 0.75)),
        [[2.0, OLD], [3.0, OLD], [1.0, NEW]],
        (15, 1, 0, 0.5),
        (25, 0, 0, -1.0),
    )
    assert replayed(trace, SMALLEST, 1.0)[:, RAN_ON].tolist() == [2, 2, 1, 0]


def test_who_waits_is_asked_again_when_an_attribute_changes() -> None:
    trace = with_attributes(
        trace_of([(1, 0, 10, 10, 110, 0.5, FREE)], (1.0, 1.0)),
        [[0.0, OLD], [0.0, np.nan]],
        (50, 1, 1, NEW),
    )
    rows = replayed(trace, ONLY_NEW, 1.0)
    assert rows[:, [STARTED, RAN_ON, ENDED]].tolist() == [[50, 1, 150]]


def test_added_machines_have_none() -> None:
    attempts = [(job, 0, 10 * job, 10 * job, -1, 0.75, FREE) for job in range(3)]
    trace = with_attributes(trace_of(attempts, (1.0, 1.0)), [[0.0, OLD], [0.0, NEW]])
    more = with_machines(trace, parse_machines("2:1:1"))
    assert replayed(more, ONLY_NEW, 1.0)[:, RAN_ON].tolist() == [1, -1, -1]


@pytest.mark.wide
@pytest.mark.parametrize("seed", range(3))
def test_a_cell_is_compacted_by_what_its_machines_are(seed: int) -> None:
    # A filter by attributes is what a constraint on them is.
    n = 8
    is_new = np.array([False, True] * (n // 2))
    demand = Demand(
        np.full((n, 2), UNIT // 2),
        np.full(n, -1),
        np.zeros(n, np.int64),
        attributes=np.column_stack([np.where(is_new, NEW, OLD), np.zeros(n)]),
    )
    workload = CellWorkload(demand, np.zeros(n, np.int64), np.arange(n), np.zeros(n, np.bool_))
    capacity = np.full((n, 2), UNIT)
    constrained = Demand(demand.sizes, demand.groups, demand.sets + 1, is_new[None])
    expected = needed(replace(workload, demand=constrained), capacity, seed)
    assert needed(workload, capacity, seed, ONLY_NEW) == expected
    assert expected > needed(workload, capacity, seed, SMALLEST) == n // 2


def no_number(task, machine):
    return machine.attributes[1] * 1.0


def test_what_was_asked_is_shown_with_its_attributes() -> None:
    trace = with_attributes(trace_of([(1, 0, 0, 0, 100, 0.25, FREE)]), [[np.nan, 3.0]])
    with pytest.raises(UsageError) as raised:
        replayed(trace, by_attributes(score=no_number), 1.0)
    line = no_number.__code__.co_firstlineno
    assert str(raised.value) == (
        f"{__file__}:{line}: the score of own is not a number: got NaN for "
        "task(cpu=0.25, memory=0.25, gpu=0, priority=0) and machine(cpu_capacity=1, "
        "memory_capacity=1, gpu_capacity=0, cpu_free=1, memory_free=1, gpu_free=0, n_tasks=0, "
        "attributes=(3, nan)); return infinity for a machine that should not be used"
    )


def test_attributes_that_are_no_names() -> None:
    with pytest.raises(UsageError) as raised:
        Scheduler(name="own", about="of a test", attributes="platform_id")
    assert str(raised.value) == (
        "scheduler own: `attributes` are no names: expected a tuple of texts, such as "
        "(\"platform_id\",), got 'platform_id'"
    )


def test_attributes_that_are_no_list_or_name_one_twice() -> None:
    with pytest.raises(UsageError) as raised:
        Scheduler(name="own", about="of a test", attributes=5)  # type: ignore[arg-type]
    assert str(raised.value) == (
        'scheduler own: `attributes` are no names: expected a tuple of texts, such as ("platform_id",), got 5'
    )
    with pytest.raises(UsageError) as raised:
        Scheduler(name="own", about="of a test", attributes=("rank", "rank"))
    assert str(raised.value) == (
        "scheduler own: `attributes` name one twice: expected each once, got ('rank', 'rank')"
    )
