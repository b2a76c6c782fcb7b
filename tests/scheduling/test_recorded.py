"""The policy that is the trace itself: running and pending by tier, and tasks by machine, after every event."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import borgtrace
from borgtrace.lifecycle.occupancy import occupancy
from borgtrace.question import EngineTables
from borgtrace.scheduling.machines import UNIT
from borgtrace.scheduling.replay import ScheduleInput, recorded
from borgtrace.scheduling.state import ENDED, RAN_ON, STARTED
from tests.cli.test_compact import store
from tests.scheduling.traces import levels

SECOND = 10**6


def by_machine(machine: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Machine, instant and by how many its tasks change then; an end below 0 is none."""
    starts = np.column_stack([machine, start, 0 * machine + 1])
    ends = np.column_stack([machine, end, 0 * machine - 1])
    changes = np.concatenate([starts, ends[end >= 0]])
    changes = changes[np.lexsort((changes[:, 1], changes[:, 0]))]
    is_first = np.ones(len(changes), np.bool_)
    is_first[1:] = (changes[1:, :2] != changes[:-1, :2]).any(axis=1)
    sums = np.add.reduceat(changes[:, 2], np.flatnonzero(is_first))
    return np.column_stack([changes[is_first, :2], sums])


def check(path: Path) -> ScheduleInput:
    """Compare a store with its attempts; return what is replayed."""
    opened = borgtrace.open(path)
    tables = EngineTables.of(opened)
    trace = ScheduleInput.of(tables, opened.manifest.time_range["instance_events"][1])
    rows = recorded(trace)
    attempts = tables.instance_attempts
    for place, (_, low, high) in enumerate(tables.dialect.tiers):
        known = tables.fetch(
            occupancy(attempts.filter(attempts.priority.between(low, high))).order_by("time")
        )
        found = levels(trace, rows, place)
        for name, values in zip(("time", "pending", "running"), found, strict=True):
            assert np.array_equal(values, known[name].to_numpy()), name
    ran = tables.fetch(
        attempts.filter(attempts.schedule_time.notnull()).select(
            "machine_id", "schedule_time", "left_time"
        )
    )
    machine, start, end = (column.fill_null(-1).to_numpy() for column in ran.columns)
    is_known = np.isin(machine, trace.machines.ids)
    assert trace.unknown_machine == (~is_known).sum()
    placed = rows[(rows[:, STARTED] >= 0) & (rows[:, RAN_ON] >= 0)]
    found = by_machine(
        trace.machines.ids[placed[:, RAN_ON]],
        placed[:, STARTED],
        placed[:, ENDED],
    )
    assert np.array_equal(found, by_machine(machine[is_known], start[is_known], end[is_known]))
    return trace


def test_tasks_on_machines_that_are_unknown_or_go(tmp_path: Path) -> None:
    def event(
        time: int,
        job: int,
        type_: int,
        machine: object = "",
    ) -> str:
        return f"{time * SECOND},,{job},0,{machine},{type_},u,1,0,0.1,0.1,0,0"

    # Job 2 runs on a machine of which nothing is known, job 3 has no SUBMIT, job 4 runs on when machine 1 goes.
    events = [
        event(700, 1, 0),
        event(701, 1, 1, 1),
        event(800, 1, 4, 1),
        event(700, 2, 0),
        event(702, 2, 1, 77),
    ]
    events += [
        event(703, 3, 1, 2),
        event(750, 3, 2, 2),
        event(751, 3, 0),
        event(751, 4, 0),
        event(752, 4, 1, 1),
    ]
    machines = ["0,1,0,PLATFORM,1,1", "0,2,0,PLATFORM,0.5,0.5", f"{760 * SECOND},1,1,PLATFORM,,"]
    trace = check(store(tmp_path, machine_events=machines, task_events=events))
    assert (trace.unknown_machine, trace.without_submit) == (1, 1)
    assert (trace.machines.capacity[:, 0] / UNIT).tolist() == [1.0, 0.5]
    rows = recorded(trace)
    placed = rows[rows[:, STARTED] >= 0]
    changes = by_machine(
        placed[:, RAN_ON],
        placed[:, STARTED] // SECOND,
        placed[:, ENDED] // SECOND,
    )
    assert changes.tolist() == [
        [-1, 702, 1],
        [0, 701, 1],
        [0, 752, 1],
        [0, 800, -1],
        [1, 703, 1],
        [1, 750, -1],
    ]


@pytest.mark.wide
def test_the_real_parts(real_store: Path) -> None:
    # A few of them ran on machines that no event names.
    assert check(real_store).unknown_machine > 0
