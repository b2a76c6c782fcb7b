"""CPI that rises with the number of tasks on a machine, planted, and what a plan makes of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from borgtrace.question import NotApplicable
from borgtrace.scheduling.machines import UNIT
from borgtrace.scheduling.neighbors import slowdown
from borgtrace.scheduling.plan import TaskPlan, parse_plan, plan_of
from borgtrace.scheduling.workload import read_tasks
from tests.analyses.tiny import at, tiny, window

Row = dict[str, Any]
HOUR = range(12)


def cell(cpi: Callable[[int], float | None], slots: Iterable[int] = HOUR, **facts: Any) -> Any:
    """Return tables in which task 1 runs alone in even slots and beside task 2 in odd ones, with these CPI."""
    usage = [
        window(
            1,
            slot * 300,
            0.25,
            0.125,
            cycles_per_instruction=cpi(slot),
            **facts,
        )
        for slot in slots
    ]
    usage += [
        window(
            2,
            slot * 300,
            0.25,
            0.125,
            cycles_per_instruction=None,
        )
        for slot in slots
        if slot % 2
    ]
    events = [
        {
            "collection_id": id_,
            "time": at(time),
            "type": type_,
            "machine_id": 1,
            "cpu_request": 0.5,
        }
        | {"memory_request": 0.25}
        for id_ in (1, 2)
        for time, type_ in ((0, "SUBMIT"), (1, "SCHEDULE"))
    ]
    tasks = [{"collection_id": id_, "instance_index": 0} for id_ in (1, 2)]
    return tiny(
        "2011",
        instance_events=events,
        collection_events=[],
        tasks=tasks,
        instance_usage=[{"collection_type": "JOB", **row} for row in usage],
    )


def slowed(tables: Any) -> list[float]:
    return [float(share) for share in slowdown(tables, read_tasks(tables))]


def test_a_task_is_slowed_by_what_its_line_rises_from_the_fewest_neighbors() -> None:
    # 2 alone and 2.5 beside another; half of the time there is one: 2.25, an eighth above 2.
    assert slowed(cell(lambda slot: 2 + 0.5 * (slot % 2))) == pytest.approx([0.125, 0])
    # Windows that are impossible or without CPI are left out, the neighbor's time counts all the same.
    odd = {
        12: 99.0,
        13: None,
        14: 0.05,
    }
    assert slowed(
        cell(lambda slot: odd.get(slot, 2 + 0.5 * (slot % 2)), range(15))
    ) == pytest.approx([0.125, 0])


def test_who_gains_or_does_not_change_is_not_slowed() -> None:
    assert slowed(cell(lambda slot: 2 - 0.5 * (slot % 2))) == [0, 0]
    assert slowed(cell(lambda slot: 2.0)) == pytest.approx([0, 0], abs=1e-12)
    # Nor is who never has another number of neighbors.
    assert slowed(cell(lambda slot: 2.0 + slot, range(0, 24, 2))) == [0, 0]


@pytest.mark.parametrize(("noise", "is_seen"), [(0.31, True), (0.32, False)])
def test_a_line_rises_by_three_standard_errors(noise: float, is_seen: bool) -> None:
    """.6² · ¼ · (12 − 2) is .9: nine times the variance around the line up to a noise of √.1."""
    signs = [1, 1, -1, -1] * 3
    (share, _) = slowed(cell(lambda slot: 2 + 0.6 * (slot % 2) + noise * signs[slot]))
    assert share == pytest.approx(0.15 if is_seen else 0)


def test_without_an_hour_of_cpi_nothing_is_said() -> None:
    with pytest.raises(
        NotApplicable, match="needs CPI of 12 windows of a task on a machine that is known"
    ):
        slowed(cell(lambda slot: 2 + 0.5 * (slot % 2), range(11)))
    with pytest.raises(NotApplicable):
        slowed(cell(lambda slot: 2 + 0.5 * (slot % 2), machine_id=None))


def test_a_plan_counts_what_neighbors_cost_as_demand() -> None:
    def planned(text: str) -> TaskPlan:
        tables = cell(lambda slot: 2 + 0.5 * (slot % 2))
        return plan_of(parse_plan(text), tables, read_tasks(tables))

    plan = planned("request:1+cpi")
    assert (plan.sizes / UNIT).tolist() == [[0.5625, 0.25], [0.5, 0.25]]
    assert plan.label == f"{planned('request:1').label} with CPI"
    assert plan.slowed == 1
    # Also of what is reserved at last.
    plan = planned("reclaimed:0+cpi")
    assert (plan.lasting / UNIT).tolist() == [[0.28125, 0.125], [0.25, 0.125]]
    assert (plan.sizes / UNIT).tolist() == [[0.5625, 0.25], [0.5, 0.25]]


def test_rows_in_any_order_give_the_same_bytes() -> None:
    """Sums of CPI and of neighbors are exact: floats would differ in the last bit, as threads hand them over."""
    noise = np.random.default_rng(1).random(200)
    in_order = range(200)
    in_another_order = random.Random(1).sample(in_order, 200)
    shares = [
        slowed(cell(lambda slot: 1 + noise[slot] + slot % 2, slots))
        for slots in (in_order, in_another_order)
    ]
    assert shares[0] == shares[1]
    assert shares[0][0] > 0
