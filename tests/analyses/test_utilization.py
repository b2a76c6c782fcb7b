"""Used, allocated and available, by hand."""

from __future__ import annotations

import pytest

from borgtrace.analyses.dependencies import alloc_sets
from borgtrace.analyses.shared.step_functions import capacity_changes
from borgtrace.analyses.usage import utilization
from tests.analyses.tiny import answer, at, tiny, window
from tests.rows import chosen_columns

MACHINES = [
    {
        "time": 0,
        "machine_id": 1,
        "type": "ADD",
        "cpu_capacity": 1.0,
        "memory_capacity": 0.5,
    },
    {
        "time": at(1800),
        "machine_id": 2,
        "type": "ADD",
        "cpu_capacity": 0.5,
        "memory_capacity": 0.5,
    },
    {
        "time": at(3600),
        "machine_id": 1,
        "type": "REMOVE",
    },
]


def event(task: int, seconds: float, kind: str, **more: object) -> dict[str, object]:
    return {
        "collection_id": task,
        "time": at(seconds),
        "type": kind,
        "priority": 9,
        **more,
    }


def test_two_tiers_over_one_and_a_half_hours() -> None:
    tables = tiny(
        machine_events=MACHINES,
        instance_usage=[
            window(1, 0, 0.5, 0.25),
            window(1, 300, 0.25, 0.25, length=150),
            window(2, 3600, 0.125, None),
            window(2, 5100, 0.125, 0.5),  # the trace ends at 5400 s
        ],
        instance_events=[
            event(1, 0, "SUBMIT"),
            event(1, 0, "SCHEDULE", cpu_request=0.75, memory_request=0.5),
            event(1, 1800, "FINISH"),
            event(2, 3500, "SUBMIT", priority=0),
            event(
                2,
                3600,
                "SCHEDULE",
                priority=0,
                cpu_request=0.25,
                memory_request=None,
            ),
        ],
        tasks=[{"collection_id": 1, "priority": 9}, {"collection_id": 2, "priority": 0}],
    )
    rows = {(row["tier"], row["hour"]): row for row in answer(utilization.QUESTION, tables)}
    assert set(rows) == {(tier, hour) for tier in ("free", "production") for hour in (0, 1)}
    first = rows["production", 0]
    expected_columns = {
        "cpu_used": (0.5 * 300 + 0.25 * 150) / 3600,
        "memory_used": 0.25 * 450 / 3600,
    }
    assert chosen_columns(first, expected_columns) == pytest.approx(expected_columns, rel=1e-12)
    expected = {
        "cpu_allocated": 0.375,
        "memory_allocated": 0.25,
        "cpu_capacity": 1.25,
    }
    assert chosen_columns(first, expected) == expected
    second = rows["free", 1]
    expected_columns = {
        "cpu_used": 0.125 * 600 / 1800,
        "memory_used": 0.5 * 300 / 1800,
    }
    assert chosen_columns(second, expected_columns) == pytest.approx(expected_columns, rel=1e-12)
    assert second["cpu_allocated"] == 0.25
    assert second["cpu_capacity"] == 0.5
    assert rows["production", 1]["cpu_allocated"] == 0.0
    assert rows["free", 0]["cpu_used"] == 0.0


def test_small_usage_keeps_six_digits() -> None:
    tables = tiny(
        machine_events=MACHINES[:1],
        instance_usage=[window(1, 300 * k, 0.00013, 0.0) for k in range(12)],
        instance_events=[
            event(1, 0, "SUBMIT"),
            event(1, 0, "SCHEDULE", cpu_request=0.25, memory_request=0.25),
        ],
        tasks=[{"collection_id": 1, "priority": 9}],
    )
    (row,) = answer(utilization.QUESTION, tables)
    assert row["cpu_used"] == pytest.approx(0.00013, rel=1e-5)


def test_what_runs_in_an_alloc_set_counts_once() -> None:
    inside = {"alloc_collection_id": 7, "alloc_instance_index": 0}
    tables = tiny(
        "2019",
        machine_events=MACHINES[:1],
        instance_usage=[
            window(7, 0, 0.5, 0.25, collection_type="ALLOC_SET"),
            window(1, 0, 0.125, 0.125, **inside),
        ],
        instance_events=[
            event(7, 0, "SUBMIT", priority=200, collection_type="ALLOC_SET"),
            event(
                7,
                0,
                "SCHEDULE",
                priority=200,
                collection_type="ALLOC_SET",
                cpu_request=1.0,
                memory_request=1.0,
            ),
            event(1, 0, "SUBMIT", priority=103, alloc_collection_id=7),
            event(
                1,
                0,
                "SCHEDULE",
                priority=103,
                cpu_request=0.25,
                memory_request=0.25,
                alloc_collection_id=7,
            ),
        ],
        tasks=[
            {
                "collection_id": 7,
                "priority": 200,
                "collection_type": "ALLOC_SET",
            },
            {"collection_id": 1, "priority": 103},
        ],
    )
    rows = {row["tier"]: row for row in answer(utilization.QUESTION, tables)}
    assert rows["beb"]["cpu_used"] == 0.125
    assert rows["production"]["cpu_used"] == 0.375
    assert rows["beb"]["cpu_allocated"] == 0.25
    assert rows["production"]["cpu_allocated"] == 0.75


def test_claims_without_production_are_not_applicable() -> None:
    tables = tiny(
        machine_events=MACHINES[:1],
        instance_usage=[window(1, 0, 0.5, 0.25)],
        instance_events=[
            event(1, 0, "SUBMIT", priority=0),
            event(1, 0, "SCHEDULE", priority=0, cpu_request=0.5),
        ],
        tasks=[{"collection_id": 1, "priority": 0}],
    )
    findings = {finding.id: finding for finding in utilization.QUESTION.run(tables).findings}
    assert findings["S4-fig9-use"].verdict == "not applicable"
    assert findings["S4-fig9-use"].reason == "production is allocated no CPU"
    assert findings["S4-fig9-share-cpu"].verdict == "does not hold"
    assert findings["TIR-cpu-overcommit"].measured == "0.5"


def test_an_update_changes_what_is_held_until_the_end() -> None:
    tables = tiny(
        machine_events=MACHINES[:1],
        instance_usage=[window(1, 3300, 0.5)],
        instance_events=[
            event(1, 0, "SUBMIT"),
            event(1, 0, "SCHEDULE", cpu_request=0.25, memory_request=0.5),
            event(1, 900, "UPDATE_RUNNING", cpu_request=0.75, memory_request=0.5),
            event(1, 1800, "UPDATE_RUNNING", cpu_request=0.5, memory_request=0.25),
            event(1, 2700, "EVICT"),
            event(1, 2700, "SUBMIT"),
            event(1, 2700, "SCHEDULE", cpu_request=0.125, memory_request=0.125),
        ],
        tasks=[{"collection_id": 1, "priority": 9}],
    )
    (row,) = answer(utilization.QUESTION, tables)
    assert row["cpu_allocated"] == (0.25 + 0.75 + 0.5 + 0.125) / 4
    assert row["memory_allocated"] == (0.5 + 0.5 + 0.25 + 0.125) / 4


def test_requests_are_not_rounded_as_float32() -> None:
    # An odd number of 2⁻²⁴ above 2²³: a half more is no float32, and would be rounded to the next even number.
    request = (2**23 + 1) / 2**24
    tables = tiny(
        machine_events=MACHINES[:1],
        instance_usage=[window(1, 0, 0.5, 0.25, length=300)],
        instance_events=[
            event(1, 0, "SUBMIT"),
            event(1, 0, "SCHEDULE", cpu_request=request, memory_request=request),
        ],
        tasks=[{"collection_id": 1, "priority": 9}],
    )
    (row,) = answer(utilization.QUESTION, tables)
    assert row["cpu_allocated"] == request
    assert row["memory_allocated"] == request


def test_requests_of_alloc_sets_are_not_rounded_as_float32() -> None:
    # Just less than half of 2⁻¹⁰ is nothing; a half more, as float32, would be one.
    small = {
        "cpu_request": (0.5 - 2**-25) / 2**10,
        "memory_request": 0.5,
        "collection_type": "ALLOC_SET",
    }
    tables = tiny(
        "2019",
        collection_events=[
            {
                "collection_id": 7,
                "time": at(0),
                "type": "SUBMIT",
                "collection_type": "ALLOC_SET",
            }
        ],
        instance_usage=[window(7, 0, 0.5, collection_type="ALLOC_SET")],
        instance_events=[
            event(7, seconds, kind, **small)
            for seconds, kind in (
                (0, "SUBMIT"),
                (0, "SCHEDULE"),
                (2048, "FINISH"),
            )
        ],
        tasks=[
            {
                "collection_id": 7,
                "priority": 200,
                "collection_type": "ALLOC_SET",
            }
        ],
    )
    rows = {row["quantity"]: row for row in answer(alloc_sets.QUESTION, tables)}
    assert rows["cpu_allocated"]["n"] == 0
    assert rows["memory_allocated"]["n"] == 1024


def test_what_a_machine_event_changes() -> None:
    machine = {
        "machine_id": 1,
        "cpu_capacity": 0.5,
        "memory_capacity": None,
    }
    events = [
        {
            **machine,
            "time": 0,
            "type": "ADD",
        },
        {
            **machine,
            "time": at(0),
            "type": "ADD",
        },
        {
            **machine,
            "time": at(300),
            "type": "UPDATE",
            "cpu_capacity": 0.75,
        },
        {
            **machine,
            "time": at(600),
            "type": "REMOVE",
        },
        # Gone already.
        {
            **machine,
            "time": at(900),
            "type": "REMOVE",
        },
    ]
    tables = tiny(machine_events=events)
    rows = tables.fetch(
        capacity_changes(tables.machine_events).order_by("time"), "changes"
    ).to_pylist()
    unit = 2**24
    # A capacity that nobody published is none; two ADDs in a row add a machine once.
    changes = [
        (unit, unit // 2, 0),
        (0, 0, 0),
        (0, unit // 4, 0),
        (-unit, -3 * unit // 4, 0),
        (0, 0, 0),
    ]
    times = [
        0,
        at(0),
        at(300),
        at(600),
        at(900),
    ]
    assert rows == [
        {
            "time": time,
            "machines": machines,
            "cpu": cpu,
            "memory": memory,
        }
        for time, (machines, cpu, memory) in zip(times, changes, strict=True)
    ]


def test_a_tier_without_a_running_attempt_is_allocated_nothing() -> None:
    tables = tiny(
        machine_events=MACHINES[:1],
        instance_usage=[window(1, 0, 0.5, 0.25), window(2, 0, 0.25, 0.125)],
        instance_events=[
            event(1, 0, "SCHEDULE", cpu_request=0.25, memory_request=0.5),
            event(1, 300, "FINISH"),
        ],
        tasks=[{"collection_id": 1, "priority": 9}, {"collection_id": 2, "priority": 0}],
    )
    rows = {row["tier"]: row for row in answer(utilization.QUESTION, tables)}
    names = ("cpu_used", "cpu_allocated", "memory_used", "memory_allocated")
    assert [rows["free"][name] for name in names] == [0.25, 0.0, 0.125, 0.0]
    assert [rows["production"][name] for name in names] == [0.5, 0.25, 0.25, 0.5]
