"""Changed traces: what is added to a cell, and what is said of dropped constraints, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from borgtrace.errors import UsageError
from borgtrace.scheduling.machines import UNIT
from borgtrace.scheduling.variants import (
    costliest,
    parse_machines,
    parse_upgrade,
    with_machines,
    with_upgrade,
)
from tests.scheduling.traces import trace_of


def test_added_machines_come_after_the_others_are_there_from_the_begin_and_meet_all_constraints() -> (
    None
):
    made = trace_of([(1, 0, 0, 0, -1, 0.5, 0)], (1.0, 0.5))
    made.machines.ids[:] = (4, 9)
    made.changes[:, 0] = 50
    trace = with_machines(made, parse_machines("2:0.25:0.75"))
    assert trace.machines.ids.tolist() == [4, 9, 10, 11]
    assert (trace.machines.capacity / UNIT).tolist() == [
        [1, 1],
        [0.5, 0.5],
        [0.25, 0.75],
        [0.25, 0.75],
    ]
    assert sorted(trace.changes.tolist()) == [
        [0, 2, 1, 0],
        [0, 3, 1, 0],
        [50, 0, 1, 0],
        [50, 1, 1, 0],
    ]
    assert trace.allowed.shape == (0, 4)
    assert len(made.machines.ids) == 2


def test_machines_of_one_shape_become_others() -> None:
    made = trace_of([(1, 0, 0, 0, -1, 0.5, 0)], (1.0, 0.5, 0.5))
    made.machines.capacity[2] = (UNIT // 2, round(0.2493 * UNIT))
    found = with_upgrade(made, parse_upgrade("0.5:0.25=0.75:1")).machines
    assert (found.capacity / UNIT).tolist() == [
        [1, 1],
        [0.5, 0.5],
        [0.75, 1],
    ]
    with pytest.raises(UsageError) as caught:
        with_upgrade(made, parse_upgrade("0.5:0.251=1:1"))
    assert str(caught.value) == (
        "--upgrade-machines: no machine has this shape: expected one of 0.5:0.2493; 0.5:0.5; 1:1, got 0.5:0.251=1:1"
    )


def row(policy: str, hours: float) -> dict[str, object]:
    return {"policy": policy, "waiting_hours": hours}


def test_the_constraints_that_cost_most_waiting_are_those_whose_absence_saves_most() -> None:
    rows = [
        row("a", 6.0),
        row("a", 4.0),
        row("b", 1.0),
        row("c", 5.0),
        row("recorded", 9.0),
    ]
    # Hours of all tiers together: 10 without a change, 4 and 7 with one.
    rows += [
        row("a without x", 3.0),
        row("a without x", 1.0),
        row("a without y", 7.0),
    ]
    rows += [
        row("b without x", 1.0),
        row("b without y", 2.0),
        row("c without x", 4.5),
    ]
    assert costliest(rows) == [
        "a (simulated): of 2 attributes, constraints on x cost the most waiting, 6.00 of 10.00 task-hours",
        "b (simulated): constraints on none of 2 attributes cost any waiting",
        "c (simulated): of 1 attributes, constraints on x cost the most waiting, 0.50 of 5.00 task-hours",
    ]
    assert costliest([row("a", 6.0)]) == []


def test_sets_of_constraints_keep_their_lines() -> None:
    made = trace_of([(1, 0, 0, 0, -1, 0.5, 0)], (1.0, 0.5))
    allowed = np.array([[True, False], [False, False]])
    found = with_machines(replace(made, allowed=allowed), parse_machines("1:1:1"))
    assert found.allowed.tolist() == [[True, False, True], [False, False, True]]
