"""A cluster whose tasks come and go: what a new task counts as, where it goes, what is learned, slot by slot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from borgtrace.colocation.packing import online_cluster as module
from borgtrace.colocation.packing.online_cluster import (
    EVERYBODY,
    OnlineCluster,
    milestones,
    simulate,
)
from borgtrace.colocation.tasks.pool import TaskPool
from borgtrace.colocation.tasks.simultaneous import Timeline
from borgtrace.placement import BEST_FIT, FIRST_FIT, Average, Request
from borgtrace.question import NotApplicable
from tests.colocation.test_packing_past import on_clock
from tests.colocation.test_pool import make


def cluster_of(
    pool: TaskPool, estimator: Any = None, capacity: float = 1.0, **more: Any
) -> OnlineCluster:
    known = {"packer": BEST_FIT, "cold_start": "name"} | more
    return OnlineCluster(
        pool,
        Timeline.of(pool),
        estimator or Average(1),
        capacity,
        **known,
    )


def asking(*requests: float, slots: int = 3) -> OnlineCluster:
    """A cluster of capacity 1 that goes by requests."""
    pool = on_clock(
        np.full((len(requests), slots), 0.25),
        cpu_request=np.float32(requests),
    )
    return cluster_of(pool, Request(1.0), cold_start="request")


# --- what a task counts as that nothing is known of ----------------------------------------------

NAME = (0, 0)
USER = (1, 3)


@pytest.mark.parametrize(
    ("past", "request_", "cold_start", "counts_as"),
    [
        # Nothing at all: a whole machine, of .75.
        ({}, None, "name", 0.75),
        ({}, 0.5, "name", 0.5),
        ({EVERYBODY: [0.125] * 11}, None, "name", 0.75),
        ({EVERYBODY: [0.125] * 12}, None, "name", 0.125),
        ({EVERYBODY: [0.125] * 12}, 0.5, "name", 0.5),
        # Its name, when an hour of it is known, before its user; both before the request.
        ({NAME: [0.25] * 12, USER: [0.375] * 12}, 0.5, "name", 0.25),
        ({NAME: [0.25] * 11, USER: [0.375] * 12}, 0.5, "name", 0.375),
        ({NAME: [0.25] * 11, USER: [0.375] * 11}, 0.5, "name", 0.5),
        ({NAME: [0.25] * 12, USER: [0.375] * 12}, 0.5, "request", 0.5),
        ({NAME: [0.25] * 12, EVERYBODY: [0.125] * 12}, None, "request", 0.125),
        ({NAME: [0.0] * 6 + [0.5] * 6}, None, "name", 0.25),
        # Of 289 measurements the first is forgotten: 1 ÷ 288 of 288.
        ({NAME: [288.0] + [0.0] * 287 + [1.0]}, None, "name", 1 / 288),
    ],
)
def test_what_a_new_task_counts_as(
    past: dict[Any, list[float]],
    request_: float | None,
    cold_start: str,
    counts_as: float,
) -> None:
    known = {
        "user": np.array([3]),
        "logical_name": np.array([7]),
    }
    calls = None if request_ is None else np.float32([request_])
    cluster = cluster_of(
        on_clock(
            np.ones((1, 3)),
            cpu_request=calls,
            **known,
        ),
        capacity=0.75,
        cold_start=cold_start,
    )
    assert cluster.kin == [[NAME, USER]]
    for kin, values in past.items():
        cluster.past[kin].extend(values)
    assert cluster.guess(0).tolist() == [pytest.approx(counts_as)]


def test_a_task_without_a_name_has_its_user_alone() -> None:
    pool = on_clock(
        np.ones((3, 3)),
        user=np.array([3, -1, -1]),
        logical_name=np.array([-1, 7, -1]),
    )
    (first,), (second,), nobody = cluster_of(pool).kin
    assert first == USER
    assert second[0] == 0
    assert nobody == []


# --- machines ------------------------------------------------------------------------------------


def test_tasks_arrive_and_leave() -> None:
    cluster = asking(0.5, 0.5, 0.5, 1.5, 0.75)
    assert [cluster.arrive(task) for task in range(4)] == [True, True, True, False]
    assert cluster.members == [[0, 1], [2]]
    assert cluster.machine_of.tolist() == [0, 0, 1, -1, -1]
    assert cluster.states.tolist() == [[1.0], [0.5]]
    cluster.depart(0)
    # Who runs nowhere leaves nothing.
    cluster.depart(3)
    assert cluster.members == [[1], [2]]
    assert cluster.machine_of.tolist() == [-1, 0, 1, -1, -1]
    assert cluster.changed == {0}
    # Neither machine has .75 left; one is summed up anew and one is opened.
    assert cluster.arrive(4)
    assert cluster.members == [
        [1],
        [2],
        [4],
    ]
    assert cluster.changed == set()
    assert cluster.states.tolist() == [
        [0.5],
        [0.5],
        [0.75],
    ]


def test_an_idle_machine_is_opened_before_another_and_after_all_that_run() -> None:
    cluster = asking(0.5, 0.75, 0.25, 0.5, 0.75)
    cluster.arrive(0)
    cluster.arrive(1)
    cluster.depart(0)
    # The first machine is idle and would be the first to fit.
    cluster.packer = FIRST_FIT
    assert cluster.idle_flags().tolist() == [1, 0]
    cluster.arrive(2)
    assert cluster.members == [[], [1, 2]]
    cluster.arrive(3)
    assert cluster.members == [[3], [1, 2]]
    assert len(cluster.states) == 2
    assert cluster.states.tolist() == [[0.5], [1.0]]
    cluster.arrive(4)
    assert cluster.members == [
        [3],
        [1, 2],
        [4],
    ]
    assert cluster.machine_of.tolist() == [-1, 1, 1, 0, 2]


def test_a_task_may_fill_a_machine_to_the_last_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    # Without the tolerance, of which float32 capacities have need.
    monkeypatch.setattr(module, "CAPACITY_RTOL", 1.0)
    cluster = asking(
        1.0,
        np.nextafter(np.float32(1), np.float32(2)),
    )
    assert [cluster.arrive(task) for task in (0, 1)] == [True, False]


# --- what is learned -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("longest", "expected"),
    [
        (11, []),
        (12, [12]),
        (16, [12, 16]),
        (27, [12, 16, 21]),
    ],
)
def test_a_history_counts_anew_when_it_has_grown_by_a_third(
    longest: int, expected: list[int]
) -> None:
    lengths = milestones(longest)
    assert len(lengths) == longest + 1
    assert np.flatnonzero(lengths).tolist() == expected


def test_and_at_each_day() -> None:
    lengths = np.flatnonzero(milestones(600)).tolist()
    assert lengths[:8] == [12, 16, 21, 28, 37, 49, 65, 86]
    assert lengths[8:] == [114, 152, 202, 269, 288, 358, 477, 576]
    assert not milestones(287)[-1]
    assert milestones(288)[-1]


def test_what_was_measured_is_kept_and_described_at_milestones() -> None:
    # Averages of the first 12, 13 and 16 slots: those of a task that rises after twelve.
    values = np.zeros((3, 16))
    values[:, :12], values[:, 12:] = 0.25, 0.5
    known = {
        "user": np.array([3, 3, -1]),
        "cpu_request": np.float32([0.125] * 3),
    }
    cluster = cluster_of(on_clock(values, **known))
    for task in range(3):
        cluster.arrive(task)
    cluster.changed.clear()
    assert cluster.machine_of.tolist() == [0, 0, 0]
    cluster.machine_of[:] = [4, 5, 6]
    cluster.learn(
        np.array([0, 1, 2]),
        np.array([12, 13, 16]),
        np.float32([0.25, 0.5, 0.75]),
    )
    assert cluster.items.tolist() == [
        [0.25],
        [0.125],
        [(12 * 0.25 + 4 * 0.5) / 16],
    ]
    assert cluster.changed == {4, 6}
    assert {kin: list(past) for kin, past in cluster.past.items() if past} == {
        USER: [0.25, 0.5],
        EVERYBODY: [0.25, 0.5, 0.75],
    }


def test_one_that_runs_nowhere_has_no_machine_to_sum_up() -> None:
    cluster = asking(0.5)
    cluster.refresh()
    assert cluster.changed == set()


# --- slot by slot --------------------------------------------------------------------------------


def test_a_simulation_slot_by_slot() -> None:
    # From slot 4 on: .5; two slots later .75 that asks for .25, and .1 that asks for two machines.
    values = np.repeat(
        [
            [0.5],
            [0.75],
            [0.1],
        ],
        3,
        axis=1,
    )
    pool = on_clock(
        values,
        start=[4, 6, 6],
        cpu_request=np.float32([0.5, 0.25, 2.0]),
    )
    day = simulate(pool, Request(1.0), cold_start="request")
    assert day.first == 4
    assert day.cold.tolist() == [1, 0, 1, 0, 0]
    assert day.unplaceable.tolist() == [0, 0, 1, 0, 0]
    assert day.machines.tolist() == [1, 1, 1, 1, 1]
    assert day.tasks.tolist() == [1, 1, 2, 1, 1]
    # .5 and .75 in one slot; after it the first has left.
    assert day.overflows.tolist() == [0, 0, 1, 0, 0]


def test_who_leaves_makes_room_in_the_same_slot() -> None:
    pool = on_clock(
        np.full((2, 3), 0.75),
        start=[0, 3],
        cpu_request=np.float32([0.75, 0.75]),
    )
    day = simulate(pool, Request(1.0), cold_start="request")
    assert day.machines.tolist() == [1] * 6
    assert day.tasks.tolist() == [1] * 6


@pytest.mark.parametrize(
    ("usage", "capacity", "overflows"),
    [
        (1.0, 1.0, 0),
        # A tolerance of 2⁻²⁰, as in other evaluations.
        (1 + 2**-20, 1.0, 0),
        (1 + 2**-19, 1.0, 1),
        (0.5, 0.5, 0),
        (0.501, 0.5, 1),
        (1.5, 2.0, 0),
        (2.1, 2.0, 1),
    ],
)
def test_a_machine_overflows_above_its_capacity(
    usage: float, capacity: float, overflows: int
) -> None:
    pool = on_clock(
        np.full((1, 2), usage),
        cpu_request=np.float32([0.25]),
    )
    day = simulate(pool, Request(1.0), capacity=capacity, cold_start="request")
    assert day.overflows.tolist() == [overflows] * 2


def test_earlier_tasks_of_the_name_are_asked_unless_requests_are() -> None:
    values = np.full((2, 20), 0.25)
    known = {
        "cpu_request": np.float32([0.75] * 2),
        "logical_name": np.array([5, 5]),
    }
    assert (
        simulate(on_clock(values, start=[0, 15], **known), Average(1)).machines.tolist() == [1] * 35
    )


def test_without_a_clock_nothing_is_simulated() -> None:
    with pytest.raises(NotApplicable) as caught:
        simulate(make([[0.5]]), Average(1))
    assert str(caught.value) == "the pool has no time stamps"
