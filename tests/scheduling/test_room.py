"""Stranded room, overcommitted and overloaded time of a schedule of three tasks, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from borgtrace.scheduling.machines import UNIT
from borgtrace.scheduling.replay import ScheduleInput
from borgtrace.scheduling.room import room_of
from borgtrace.scheduling.state import ALIVE, DONE
from tests.rows import chosen_columns
from tests.scheduling.traces import trace_of

FOUND = np.array(
    [
        [0, 0, 0, -1, 0, ALIVE],
        [1, 0, 20, 60, 0, DONE],
        [2, 0, 10, 20, 1, DONE],
        [3, 0, -1, -1, -1, ALIVE],
    ]
)
"""Of 100 µs: the first on machine 0 from 0 on, the second there from 20 to 60, the third on machine 1 from 10 to 20."""


def trace() -> ScheduleInput:
    made = trace_of(
        [(job, 0, 0, 0, -1, 0.5, 0) for job in range(4)],
        (1.0, 1.0),
        until=100,
    )
    made.tasks.sizes[:] = (
        np.array(
            [
                [0.5, 0.25],
                [0.75, 0.5],
                [0.25, 1.0],
                [9.0, 9.0],
            ]
        )
        * UNIT
    )
    made.tasks.used[:] = (
        np.array(
            [
                [0.5, 0.25],
                [0.5, 0.5],
                [0.25, 1.25],
                [9.0, 9.0],
            ]
        )
        * UNIT
    )
    return made


def test_room_by_hand() -> None:
    cell = trace()
    # Machine 0 has a quarter of memory more than CPU all the time (from 20 to 60 no CPU: more is asked for than
    # there is), machine 1 three quarters of CPU and no memory for 10 µs; two machines have 200 µs.
    expected = {"stranded_cpu": 0.75 * 10 / 200, "stranded_memory": 0.25 * 100 / 200}
    # 110 µs with tasks: 40 with 1.25 CPU asked for; full is not more than full. Used is more for the 10 of machine 1.
    expected |= {"overcommitted": 40 / 110, "overloaded": 10 / 110}
    # One task for 60 µs and two for 40 on machine 0, one for 10 on machine 1.
    expected |= {"machines": 110 / 100, "tasks_per_machine": 150 / 110}
    assert room_of(cell, FOUND, cell.tasks.sizes) == pytest.approx(expected)


def test_what_is_free_is_told_by_what_is_planned() -> None:
    cell = trace()
    found = room_of(cell, FOUND, cell.tasks.sizes // 2)
    # Free are .75 and .875, then .375 and .625, then as before; on machine 1 .875 and .5.
    expected = {
        "stranded_memory": (0.125 * 20 + 0.25 * 40 + 0.125 * 40) / 200,
        "stranded_cpu": 0.375 * 10 / 200,
        "overcommitted": 40 / 110,
    }
    assert chosen_columns(found, expected) == pytest.approx(expected)


def test_overload_needs_usage_of_nine_tasks_in_ten() -> None:
    cell = trace()
    ten_tasks = cell.tasks.of(np.arange(4).repeat(5)[:10])
    ten = replace(cell, tasks=replace(ten_tasks, without_usage=1))
    assert room_of(ten, FOUND, ten.tasks.sizes)["overloaded"] is not None
    eleven = replace(ten, tasks=replace(ten.tasks, without_usage=2))
    assert room_of(eleven, FOUND, eleven.tasks.sizes)["overloaded"] is None


def test_who_starts_and_ends_when_the_trace_begins_takes_no_room() -> None:
    cell = trace()
    at_once = np.concatenate([FOUND, np.array([[2, 0, 0, 0, 1, DONE]])])
    assert room_of(cell, at_once, cell.tasks.sizes) == room_of(cell, FOUND, cell.tasks.sizes)


def test_tasks_on_machines_that_are_not_known_take_no_room() -> None:
    cell = trace()
    found = room_of(
        cell,
        np.array([[0, 0, 0, 50, -1, DONE]]),
        cell.tasks.sizes,
    )
    assert found == {
        "machines": 0.0,
        "tasks_per_machine": 0.0,
        "stranded_cpu": 0.0,
        "stranded_memory": 0.0,
        "overcommitted": 0.0,
        "overloaded": 0.0,
    }
