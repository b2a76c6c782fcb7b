"""Distribution of machine utilization, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from borgtrace.analyses.usage import machine_utilization
from tests.analyses.tiny import answer, at, tiny, window

MACHINES = [
    {
        "time": 0,
        "machine_id": 1,
        "type": "ADD",
        "cpu_capacity": 0.5,
        "memory_capacity": 0.5,
    },
    {
        "time": at(300),
        "machine_id": 2,
        "type": "ADD",
        "cpu_capacity": 1.0,
        "memory_capacity": 1.0,
    },
    {
        "time": at(600),
        "machine_id": 1,
        "type": "UPDATE",
        "cpu_capacity": 1.0,
        "memory_capacity": 0.5,
    },
    {
        "time": 0,
        "machine_id": 3,
        "type": "ADD",
    },
]


def test_slots_of_two_machines() -> None:
    # Slots 0 and 2: nothing was measured in slot 1.  Machine 1 is there in both, machine 2 in slot 2.
    tables = tiny(
        machine_events=MACHINES,
        instance_usage=[
            window(1, 0, 0.125, 0.25),
            window(2, 0, 0.125, 0.25, length=150),
            window(1, 600, 0.5, 1.0),
            window(8, 600, 0.25, 0.25, alloc_collection_id=9),  # already in the alloc's own row
        ],
    )
    rows = {
        (row["resource"], row["percent"]): row
        for row in answer(machine_utilization.QUESTION, tables)
    }
    # Slot 0: (0.125·300 + 0.125·150)/300 = 0.1875 of 0.5 → 37.5 %; slot 2: 0.5 of 1.0 → 50 %.
    assert {key: row["n_slots"] for key, row in rows.items() if key[0] == "cpu"} == {
        ("cpu", 0): 1,
        ("cpu", 38): 1,
        ("cpu", 50): 1,
    }
    # Memory: (0.25·300 + 0.25·150)/300 = 0.375 of 0.5 → 75 %; 1.0 of 0.5 → 200 %, above the last bin.
    assert {key: row["n_slots"] for key, row in rows.items() if key[0] == "memory"} == {
        ("memory", 0): 1,
        ("memory", 75): 1,
        ("memory", 151): 1,
    }
    assert rows["cpu", 38]["share"] == pytest.approx(2 / 3)
    finding = machine_utilization.QUESTION.run(tables).findings[0]
    assert finding.measured == "0"
    assert finding.verdict == "holds"


def test_usage_outside_the_trace_alone_is_not_applicable() -> None:
    before = {
        **window(1, 0, 0.125, 0.25),
        "start_time": 0,
        "end_time": at(0),
    }
    result = machine_utilization.QUESTION.run(
        tiny(machine_events=MACHINES, instance_usage=[before])
    )
    assert result.not_applicable == "no usage inside the trace, or no machine of known capacity"


def test_slots_are_measured_where_a_window_begins() -> None:
    def measured(*windows: dict[str, Any]) -> list[bool]:
        tables = tiny(instance_usage=list(windows))
        return machine_utilization.fetch_measured_slots(tables).tolist()

    assert measured() == []
    assert measured(window(1, 0, 0.5)) == [True]
    assert measured(window(1, 900, 0.5), window(2, 300, None)) == [False, True, False, True]
