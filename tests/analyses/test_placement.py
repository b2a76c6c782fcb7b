from __future__ import annotations

import pytest

from borgtrace.catalog import find
from borgtrace.question.constraints import meets
from borgtrace.schema.time import DAY, SECOND, TRACE_START
from tests.analyses.tiny import answer, at, tiny
from tests.rows import chosen_columns


@pytest.mark.parametrize(
    ("attribute", "relation", "value", "expected"),
    [
        (None, "EQUAL", "", True),
        ("", "EQUAL", None, True),
        (None, "EQUAL", "x", False),
        ("x", "EQUAL", "x", True),
        (None, "NOT_EQUAL", "x", True),
        (None, "NOT_EQUAL", "", False),
        ("x", "NOT_EQUAL", "x", False),
        (None, "LESS_THAN", "1", True),
        (None, "LESS_THAN", "0", False),
        ("3", "LESS_THAN", "3", False),
        (None, "GREATER_THAN", "0", False),
        ("4", "GREATER_THAN", "3", True),
        ("10", "GREATER_THAN", "9", True),
        ("3", "LESS_THAN_EQUAL", "3", True),
        ("3", "GREATER_THAN_EQUAL", "3", True),
        ("hash=", "GREATER_THAN", "3", False),
        ("hash=", "LESS_THAN", "3", False),
        ("", "PRESENT", None, True),
        (None, "PRESENT", None, False),
        (None, "NOT_PRESENT", None, True),
    ],
)
def test_what_a_machine_meets(
    attribute: str | None, relation: str, value: str | None, expected: bool
) -> None:
    assert meets(attribute, relation, value) is expected


def attribute(
    machine: int, name: str, value: str | None, time: int = 0, deleted: bool = False
) -> dict[str, object]:
    return {
        "time": time,
        "machine_id": machine,
        "name": name,
        "value": value,
        "is_deleted": deleted,
    }


def constraint(
    task: int, name: str, relation: str, value: str | None, time: int
) -> dict[str, object]:
    return {
        "collection_id": task,
        "instance_index": 0,
        "time": time,
        "name": name,
        "relation": relation,
        "value": value,
    }


def event(task: int, type_: str, time: int) -> dict[str, object]:
    return {
        "collection_id": task,
        "instance_index": 0,
        "time": time,
        "type": type_,
        "priority": 0,
    }


DAY_2 = TRACE_START + DAY + SECOND
CELL = {
    "machine_events": [
        {
            "time": 0,
            "machine_id": machine,
            "type": "ADD",
            "cpu_capacity": 1.0,
        }
        for machine in (1, 2, 3, 4)
    ]
    + [
        {
            "time": DAY_2,
            "machine_id": 4,
            "type": "REMOVE",
        }
    ],
    "machine_attributes": [
        attribute(1, "kernel", "3"),
        attribute(2, "kernel", "5"),
        attribute(3, "disk", ""),
        attribute(3, "disk", None, DAY_2, deleted=True),
    ],
    "instance_events": [
        event(1, "SUBMIT", at(1)),
        event(1, "SCHEDULE", at(11)),
        event(2, "SUBMIT", at(2)),
        event(2, "SCHEDULE", at(4)),
        event(3, "SUBMIT", DAY_2),
        event(3, "SCHEDULE", DAY_2 + SECOND),
        event(4, "SUBMIT", at(3)),
        event(4, "SCHEDULE", at(4)),
    ],
    "instance_constraints": [
        constraint(1, "kernel", "GREATER_THAN", "2", at(1)),
        constraint(1, "kernel", "LESS_THAN", "4", at(1)),
        constraint(2, "kernel", "NOT_EQUAL", "3", at(2)),
        constraint(3, "disk", "PRESENT", None, DAY_2),
    ],
}
"""Task 1 may use machine 1 of 4, task 2 three of 4, task 3 (next day) none of 3, task 4 any."""


def test_share_of_eligible_machines() -> None:
    first, second = answer(find("eligible_machines"), tiny("2019", **CELL))
    expected = {
        "day": 0,
        "n_submitted": 3,
        "n_constrained": 2,
        "n_machines": 4,
        "share_p0": 0.25,
        "share_p50": 0.5,
    }
    assert chosen_columns(first, expected) == expected
    expected = {
        "day": 1,
        "n_constrained": 1,
        "n_machines": 3,
        "share_p50": 0.0,
    }
    assert chosen_columns(second, expected) == expected


def test_alloc_sets_alone_submit_no_task() -> None:
    alone = {
        **CELL,
        "instance_events": [{**event(1, "SUBMIT", at(1)), "collection_type": "ALLOC_SET"}],
    }
    assert (
        find("eligible_machines").run(tiny("2019", **alone)).not_applicable
        == "no task is submitted"
    )


def test_waits_by_share_of_eligible_machines() -> None:
    row_by_key = {
        row["share_below"]: row
        for row in answer(find("delay_by_eligibility"), tiny("2019", **CELL))
    }
    assert {band: (row["n"], row["mean"]) for band, row in row_by_key.items()} == {
        0.01: (1, 1.0),
        0.3: (1, 10.0),
        0.9: (1, 2.0),
        2.0: (1, 1.0),
    }


def test_an_attribute_counts_at_the_instant_and_not_at_the_end_of_the_day() -> None:
    # The disk of machine 3 goes a second after task 5 asks for it: then one of four machines could run it.
    later = {
        **CELL,
        "instance_events": [event(5, "SUBMIT", DAY_2 - SECOND), event(5, "SCHEDULE", DAY_2 + 2)],
    }
    later["instance_constraints"] = [constraint(5, "disk", "PRESENT", None, DAY_2 - SECOND)]
    (row,) = answer(find("eligible_machines"), tiny("2019", **later))
    expected = {
        "day": 1,
        "n_machines": 3,
        "share_p50": 0.25,
    }
    assert chosen_columns(row, expected) == expected
    (wait,) = answer(find("delay_by_eligibility"), tiny("2019", **later))
    # To the microsecond: 1 s and 2 µs.
    expected = {
        "share_below": 0.3,
        "mean": 1.000002,
        "wait_p50": 1.000002,
    }
    assert chosen_columns(wait, expected) == expected


def placed(task: int, machine: int, time: int) -> dict[str, object]:
    return {**event(task, "SCHEDULE", time), "machine_id": machine}


def test_starts_on_machines_that_meet_the_constraints() -> None:
    starts = {
        **CELL,
        "instance_events": [
            *(event(task, "SUBMIT", at(1)) for task in (1, 2, 3, 4, 6)),
            placed(1, 1, at(5)),  # kernel 3 lies between 2 and 4
            placed(2, 2, at(5)),  # kernel 5 does not
            placed(3, 3, DAY_2 - 1),  # the disk is there for another microsecond
            placed(4, 3, DAY_2),  # and gone now
            placed(6, 4, DAY_2),  # the machine is removed now
            event(7, "SUBMIT", at(1)),
            placed(7, 9, at(5)),  # nobody knows machine 9
        ],
        "instance_constraints": [
            *(constraint(task, "kernel", "GREATER_THAN", "2", at(1)) for task in (1, 2, 7)),
            *(constraint(task, "kernel", "LESS_THAN", "4", at(1)) for task in (1, 2)),
            *(constraint(task, "disk", "PRESENT", None, at(1)) for task in (3, 4)),
            constraint(6, "disk", "NOT_PRESENT", None, at(1)),
        ],
    }
    (row,) = answer(find("eligible_starts"), tiny("2019", **starts))
    assert row == {
        "tier": "free",
        "n_starts": 5,
        "n_broken": 3,
    }


def test_the_last_demand_before_the_start_rules() -> None:
    # What was pending asked for the disk first, then for its absence; what is demanded while it runs is too late.
    starts = {
        **CELL,
        "instance_events": [
            event(1, "SUBMIT", at(1)),
            event(1, "UPDATE_PENDING", at(2)),
            placed(1, 1, at(3)),
            event(1, "UPDATE_RUNNING", at(4)),
        ],
        "instance_constraints": [
            constraint(1, "disk", "PRESENT", None, at(1)),
            constraint(1, "disk", "NOT_PRESENT", None, at(2)),
            constraint(1, "disk", "PRESENT", None, at(4)),
        ],
    }
    (row,) = answer(find("eligible_starts"), tiny("2019", **starts))
    assert row["n_starts"] == 1
    assert row["n_broken"] == 0


def test_a_demand_rules_its_own_attempt_from_its_very_microsecond() -> None:
    starts = {
        **CELL,
        "instance_events": [
            event(1, "SUBMIT", at(1)),
            placed(1, 1, at(2)),
            event(1, "EVICT", at(3)),
            event(1, "SUBMIT", at(4)),  # demands nothing any more: not counted
            placed(1, 1, at(5)),
            event(2, "SUBMIT", at(1)),
            placed(2, 1, at(3)),
            event(3, "SUBMIT", at(1)),  # never demands anything
            placed(3, 1, at(3)),
        ],
        "instance_constraints": [
            constraint(1, "disk", "PRESENT", None, at(1)),  # machine 1 has none
            constraint(2, "disk", "NOT_PRESENT", None, at(3)),
        ],
    }
    (row,) = answer(find("eligible_starts"), tiny("2019", **starts))
    assert row["n_starts"] == 2
    assert row["n_broken"] == 1
