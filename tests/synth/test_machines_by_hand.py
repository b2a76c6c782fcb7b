"""Machines that come and go, and which of them a task goes to, by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from borgtrace.schema.time import HOUR, SECOND, TRACE_START
from borgtrace.synth.model.jobs import Task
from borgtrace.synth.model.machines import (
    AttributeEvent,
    CellMachines,
    MachineEvent,
    draw_machines,
    machine_events,
)
from borgtrace.synth.model.profile import MachineShape
from borgtrace.synth.simulate import simulation
from borgtrace.synth.simulate.scheduler import CPU_LIMIT, EVICTION_TRIES, TRIES, SyntheticScheduler
from tests.synth.scripted import GOOGLE_2011, ScriptedRandom, job_of

SHAPES = (
    MachineShape("a", 1.0, 1.0, 60),
    MachineShape("b", 0.5, 0.5, 25),
    MachineShape("c", 0.25, 1.0, 15),
)


def test_machines_have_their_shapes_by_largest_remainder() -> None:
    machines = draw_machines(replace(GOOGLE_2011, shapes=SHAPES), 10, 3)
    # 6, 2.5 and 1.5: of two equal remainders the first one gets the machine.
    assert [machines.platform.count(name) for name in "abc"] == [6, 3, 1]
    assert sorted(machines.cpu.tolist()) == [0.25, 0.5, 0.5, 0.5, *[1.0] * 6]


def test_ids_are_like_the_real_ones() -> None:
    ids = draw_machines(GOOGLE_2011, 2000, 1).ids
    assert ((ids - 5) % 1037 == 0).all()
    assert (np.diff(ids) > 0).all()
    assert 6_300_000_000 < ids[-1] <= 6_457_070_948


END = TRACE_START + 20_000 * HOUR


@pytest.fixture(scope="module")
def churn() -> list[MachineEvent]:
    """Three machines over 20,000 hours."""
    return machine_events(GOOGLE_2011, 3, END, seed=2)


def test_machine_events_are_in_order_of_time(churn: list[MachineEvent]) -> None:
    times = [event.time for event in churn]
    assert times == sorted(times)
    assert times[-1] < END


@pytest.mark.parametrize("machine", range(3))
def test_a_machine_comes_back_after_it_went_and_nothing_happens_to_it_meanwhile(
    machine: int, churn: list[MachineEvent]
) -> None:
    events = [event for event in churn if event.machine == machine]
    assert (events[0].type, events[0].time) == ("ADD", 0)
    assert len(events) > 20
    for before, after in pairwise(events):
        # Only what went comes back.
        assert (before.type == "REMOVE") == (after.type == "ADD")
        if before.type == "REMOVE":
            # The published downtimes are from 2 s to 1,044,366 s.
            downtime = after.time - before.time
            assert 2 * SECOND <= downtime <= 1_044_367 * SECOND


def test_a_part_has_the_attributes_that_change_before_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bounds = [TRACE_START + part * 300 * SECOND for part in range(3)]
    times = (0, bounds[1] - 1, bounds[1], bounds[2] - 1)
    changes = [AttributeEvent(time, 0, "name", "value") for time in times]
    monkeypatch.setattr(simulation, "attribute_events", lambda machines, end, seed: changes)
    machines = draw_machines(GOOGLE_2011, 1, 1)
    cell = simulation.Simulation(GOOGLE_2011, machines, 1 / 6, 1, bounds)
    first, second = cell.segments()
    # What changes when the second part begins belongs to the second.
    assert first.attributes == changes[:2]
    assert second.attributes == changes[2:]


def scheduler(count: int, *numbers: float) -> SyntheticScheduler:
    """A scheduler of equal machines, which looks at those that the numbers choose."""
    machines = CellMachines(
        ids=np.arange(count),
        platform=("a",) * count,
        cpu=np.ones(count),
        memory=np.ones(count),
        switch=np.arange(count),
        attributes=np.ones((count, 8), int),
    )
    return SyntheticScheduler(machines, ScriptedRandom(*numbers))


def test_the_least_loaded_of_three_with_room_is_taken() -> None:
    chooser = scheduler(4, 0.0, 0.25, 0.5, 0.75)
    chooser.cpu = [0.5, 0.2, 0.3, 0.0]
    assert chooser.choose(job_of().tasks[0]) == 1
    # The fourth was not looked at.
    assert chooser.random.remaining == [0.75]


def test_where_nothing_has_room_nothing_is_taken_unless_it_must() -> None:
    chooser = scheduler(2, *[0.0] * TRIES)
    chooser.cpu = [CPU_LIMIT, CPU_LIMIT - 0.05]
    (task,) = job_of().tasks
    assert chooser.choose(task) == -1
    chooser.random = ScriptedRandom(*[0.0] * TRIES)
    assert chooser.choose(task, insist=True) == 1


@pytest.mark.parametrize(
    ("cpu", "memory", "fits"),
    [
        (0.4, 0.4, True),
        (0.41, 0.4, False),
        (0.4, 0.41, False),
    ],
)
def test_what_fits_fills_a_machine_to_its_limit(
    cpu: float,
    memory: float,
    fits: bool,
) -> None:
    chooser = scheduler(1)
    chooser.cpu_limit = [0.5]
    chooser.memory_limit = [0.5]
    chooser.cpu = [cpu]
    chooser.memory = [memory]
    (task,) = job_of(1, 0.1, 0.1).tasks
    assert chooser.fits(task, 0) is fits


def test_a_task_fits_only_on_machines_that_are_up_allowed_and_different() -> None:
    chooser = scheduler(1)
    (task,) = job_of().tasks
    assert chooser.fits(task, 0)
    chooser.is_up[0] = False
    assert not chooser.fits(task, 0)
    chooser.is_up[0] = True
    (forbidden,) = job_of(allowed=np.array([False])).tasks
    assert not chooser.fits(forbidden, 0)
    (second,) = job_of(different=True, machines={0}).tasks
    assert not chooser.fits(second, 0)


def test_inside_an_alloc_set_a_task_goes_where_its_place_is() -> None:
    host = job_of(2)
    host.tasks[1].machine = 3
    guest = job_of(2, host=host)
    assert scheduler(4).choose(guest.tasks[1]) == 3


class FullMachine:
    """One machine with five tasks of .2: .8 of its 1.0 are booked."""

    def __init__(self) -> None:
        self.scheduler = scheduler(1)
        self.scheduler.cpu_limit = [1.0]
        self.scheduler.memory_limit = [1.0]
        self.inside_alloc_set = self.add(
            1,
            priority=0,
            start=99,
            host=job_of(),
        )
        self.old = self.add(2, priority=0, start=5)
        self.young = self.add(3, priority=0, start=9)
        self.other = self.add(4, priority=4, start=1)
        self.equal = self.add(5, priority=9, start=1)

    def add(
        self,
        id_: int,
        *,
        start: int,
        **traits: Any,
    ) -> Task:
        (task,) = job_of(1, 0.2, 0.2, id=id_, **traits).tasks
        task.machine = 0
        task.start = start
        self.scheduler.add(task)
        return task

    def victims_of(self, cpu: float, memory: float) -> list[Task]:
        (task,) = job_of(1, cpu, memory, priority=9).tasks
        return self.scheduler.victims(task, 0)

    def machine_with_victims(self, cpu: float, *numbers: float) -> int:
        self.scheduler.random = ScriptedRandom(*numbers)
        (task,) = job_of(1, cpu, 0.1, priority=9).tasks
        return self.scheduler.choose_victim(task)


def test_the_lowest_priority_goes_first_and_then_the_youngest_until_there_is_room() -> None:
    machine = FullMachine()
    assert machine.scheduler.cpu == pytest.approx([0.8])
    # .3 is missing: two of .2.  The task inside an alloc set has booked nothing, and equals stay.
    two = [machine.young, machine.old]
    assert machine.victims_of(0.5, 0.1) == two
    assert machine.victims_of(0.1, 0.5) == two
    assert machine.victims_of(0.7, 0.1) == [*two, machine.other]
    assert machine.victims_of(0.2, 0.2) == []


def test_a_machine_is_chosen_where_evictions_make_enough_room() -> None:
    machine = FullMachine()
    assert machine.machine_with_victims(0.8, 0.0) == 0
    assert machine.machine_with_victims(0.81, *[0.0] * EVICTION_TRIES) == -1


def test_a_task_that_is_removed_gives_back_what_it_booked() -> None:
    machine = FullMachine()
    booked = machine.scheduler
    assert booked.tasks_on(0) == [
        machine.inside_alloc_set,
        machine.old,
        machine.young,
        machine.other,
        machine.equal,
    ]
    booked.remove(machine.old)
    assert booked.cpu == pytest.approx([0.6])
    assert booked.memory == pytest.approx([0.6])
    # What is inside an alloc set has booked nothing.
    booked.remove(machine.inside_alloc_set)
    assert booked.cpu == pytest.approx([0.6])
    assert booked.memory == pytest.approx([0.6])
    assert booked.tasks_on(0) == [machine.young, machine.other, machine.equal]
