"""Which machines meet a demand at an instant, and what tasks demand: by hand, at each instant and just before it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from borgtrace.question import NotApplicable
from borgtrace.question.constraints import fingerprints, meets, number
from borgtrace.question.eligibility import Eligibility, shares_of
from borgtrace.schema.time import AFTER_TRACE
from tests.analyses.tiny import at, tiny


def machine(id_: int, time: int, type_: str) -> dict[str, Any]:
    return {
        "machine_id": id_,
        "time": time,
        "type": type_,
    }


def attribute(id_: int, time: int, value: str | None, name: str = "kernel") -> dict[str, Any]:
    return {
        "machine_id": id_,
        "time": time,
        "name": name,
        "value": value,
        "is_deleted": value is None,
    }


MACHINES = [
    machine(10, 0, "ADD"),
    machine(20, 0, "ADD"),
    machine(30, at(5), "ADD"),
    # Away and back at one instant, in this order; then away for good. An update does not move it.
    machine(20, at(10), "REMOVE"),
    machine(20, at(10), "ADD"),
    machine(20, at(15), "UPDATE"),
    machine(20, at(20), "REMOVE"),
    machine(40, AFTER_TRACE, "ADD"),
]
KERNELS = [
    attribute(10, 0, "3"),
    attribute(20, 0, "5"),
    # Machine 30 has one from 7 s on, and none from 9 s on; one of a machine that is never there counts nowhere.
    attribute(30, at(7), "3"),
    attribute(30, at(9), None),
    attribute(99, 0, "3"),
    attribute(10, 0, "7", name="disk"),
    attribute(20, at(12) + 1, "5", name="disk"),
]
TIMES = np.array(
    [
        0,
        at(5) - 1,
        at(5),
        at(7) - 1,
        at(7),
        at(9),
        at(10),
        at(19),
        at(20),
    ]
)


@pytest.fixture(scope="module")
def cell() -> Eligibility:
    return Eligibility(tiny("2019", machine_events=MACHINES, machine_attributes=KERNELS))


@pytest.mark.parametrize(
    ("constraints", "numbers"),
    [
        ((), [2, 2, 3, 3, 3, 3, 3, 3, 2]),
        ((("kernel", "EQUAL", "3"),), [1, 1, 1, 1, 2, 1, 1, 1, 1]),
        ((("kernel", "PRESENT", ""),), [2, 2, 2, 2, 3, 2, 2, 2, 1]),
        ((("kernel", "NOT_PRESENT", ""),), [0, 0, 1, 1, 0, 1, 1, 1, 1]),
        ((("kernel", "LESS_THAN", "4"), ("disk", "EQUAL", "7")), [1] * 9),
        ((("kernel", "GREATER_THAN", "4"), ("disk", "EQUAL", "7")), [0] * 9),
        ((("unknown", "EQUAL", "x"),), [0] * 9),
    ],
)
def test_how_many_machines_meet_a_demand(
    cell: Eligibility, constraints: Any, numbers: list[int]
) -> None:
    assert cell.numbers(constraints, TIMES).tolist() == numbers
    everything = cell.numbers((), TIMES)
    assert cell.shares(constraints, TIMES).tolist() == (np.array(numbers) / everything).tolist()


def test_a_machine_that_is_asked_for_by_its_id(cell: Eligibility) -> None:
    assert cell.machines.tolist() == [10, 20, 30]
    assert cell.knows(np.array([10, 15, 30, 40])).tolist() == [True, False, True, False]
    machines, times = (
        np.array([10, 20, 30, 30, 20]),
        np.array(
            [
                0,
                0,
                at(5),
                at(7),
                at(20),
            ]
        ),
    )
    assert cell.allows((("kernel", "EQUAL", "3"),), machines, times).tolist() == [
        True,
        False,
        False,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("constraints", "machines", "changes"),
    [
        # Machine 30 has no kernel before 7 s, an old one until 9 s, and none again; whether it is there is not asked.
        (
            (("kernel", "EQUAL", "3"),),
            [10, 30],
            [
                (0, 0, True),
                (0, 1, False),
                (at(7), 1, True),
                (at(9), 1, False),
            ],
        ),
        # What is absent counts as 0: the demand is met all the time, and no change is told.
        ((("kernel", "LESS_THAN", "9"),), [30], [(0, 0, True)]),
        (
            (("disk", "EQUAL", "5"),),
            [10, 20],
            [
                (0, 0, False),
                (0, 1, False),
                (at(12) + 1, 1, True),
            ],
        ),
        ((), [20], [(0, 0, True)]),
    ],
)
def test_when_machines_begin_and_cease_to_meet_a_demand(
    cell: Eligibility, constraints: Any, machines: list[int], changes: list[tuple[int, int, bool]]
) -> None:
    times, places, states = cell.changes(constraints, np.array(machines))
    assert [*zip(times.tolist(), places.tolist(), states.tolist(), strict=True)] == changes


def test_where_no_machine_is_there_a_share_is_no_number() -> None:
    late = Eligibility(
        tiny("2019", machine_events=[machine(1, at(5) + 1, "ADD")], machine_attributes=[])
    )
    found = late.shares((), np.array([at(5), at(5) + 1]))
    assert np.isnan(found[0])
    assert found[1] == 1.0
    with pytest.raises(NotApplicable, match="no machine is there"):
        Eligibility(
            tiny("2019", machine_events=[machine(1, AFTER_TRACE, "ADD")], machine_attributes=[])
        )


def test_demands_are_looked_up_set_by_set(cell: Eligibility) -> None:
    sets = {7: (("kernel", "EQUAL", "3"),), 3: ()}
    demands = pa.table({"time": [at(7), at(7), 0], "fingerprint": [7, 3, 7]})
    assert shares_of(cell, sets, demands).tolist() == [2 / 3, 1.0, 0.5]


def constraint(task: int, name: str, value: str | None) -> dict[str, Any]:
    return {
        "collection_id": task,
        "time": at(1),
        "name": name,
        "relation": "EQUAL",
        "value": value,
    }


def test_equal_sets_have_one_fingerprint_whatever_their_order() -> None:
    rows = [
        *(constraint(1, "a", "x"), constraint(1, "b", None)),
        # The other way round, and one of them twice: the empty text is no other value than NULL.
        *(constraint(2, "b", ""), constraint(2, "a", "x"), constraint(2, "a", "x")),
        constraint(3, "a", "x"),
    ]
    tables = tiny("2019", instance_constraints=rows)
    events, sets = fingerprints(tables)
    codes = {row["collection_id"]: row["fingerprint"] for row in tables.fetch(events).to_pylist()}
    assert codes[1] == codes[2] != codes[3]
    a, b = ("a", "EQUAL", "x"), ("b", "EQUAL", "")
    assert sets == {codes[1]: (a, b), codes[3]: (a,)}
    # 2¹⁹ of them can be added up.
    assert all(0 <= code < 2 * 2**44 for code in codes.values())


def test_what_is_absent_or_no_number() -> None:
    assert [number(text) for text in (None, "", "0", "-7", "7.5", "hash=")] == [
        0,
        0,
        0,
        -7,
        None,
        None,
    ]
    assert not meets("3", "GREATER_THAN_EQUAL", "hash=")
    assert meets(None, "GREATER_THAN_EQUAL", None)
