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
    draw_machines,
    machine_events,
)
from borgtrace.synth.model.profile import MachineShape
from borgtrace.synth.simulate import simulation
from borgtrace.synth.simulate.scheduler import CPU_LIMIT, TRIES, Scheduler
from tests.synth.scripted import GOOGLE_2011, ScriptedRandom, job_of


def test_machines_have_their_shapes_by_largest_remainder_and_ids_like_the_real_ones() -> None:
    shapes = (
        MachineShape(
            "a",
            cpu=1.0,
            memory=1.0,
            share=60,
        ),
        MachineShape(
            "b",
            cpu=0.5,
            memory=0.5,
            share=25,
        ),
        MachineShape(
            "c",
            cpu=0.25,
            memory=1.0,
            share=15,
        ),
    )
    found = draw_machines(replace(GOOGLE_2011, shapes=shapes), 10, 3)
    # 6, 2.5 and 1.5: of two equal remainders the first one gets the machine.
    assert [found.platform.count(name) for name in "abc"] == [6, 3, 1]
    assert sorted(found.cpu.tolist()) == [0.25, 0.5, 0.5, 0.5, *[1.0] * 6]
    ids = draw_machines(GOOGLE_2011, 2000, 1).ids
    assert ((ids - 5) % 1037 == 0).all()
    assert (np.diff(ids) > 0).all()
    assert 6_300_000_000 < ids[-1] <= 6_457_070_948


def test_a_machine_comes_back_after_it_went_and_nothing_happens_to_it_meanwhile() -> None:
    end = TRACE_START + 20_000 * HOUR
    events = machine_events(GOOGLE_2011, 3, end, seed=2)
    assert [event.time for event in events] == sorted(event.time for event in events)
    for machine in range(3):
        mine = [(event.type, event.time) for event in events if event.machine == machine]
        assert mine[0] == ("ADD", 0)
        assert len(mine) > 20
        for (before, since), (kind, time) in pairwise(mine):
            assert (before == "REMOVE") == (kind == "ADD"), (
                "only what went comes back, and nothing else happens to it"
            )
            # The published downtimes are from 2 s to 1,044,366 s.
            assert before != "REMOVE" or 2 * SECOND <= time - since <= 1_044_367 * SECOND
        assert mine[-1][1] < end


def test_a_part_has_the_attributes_that_change_before_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bounds = [TRACE_START + part * 300 * SECOND for part in range(3)]
    changes = [
        AttributeEvent(time, 0, "name", "value")
        for time in (
            0,
            bounds[1] - 1,
            bounds[1],
            bounds[2] - 1,
        )
    ]
    monkeypatch.setattr(simulation, "attribute_events", lambda machines, end, seed: changes)
    cell = simulation.Simulation(
        GOOGLE_2011,
        draw_machines(GOOGLE_2011, 1, 1),
        1 / 6,
        1,
        bounds,
    )
    # What changes when the second part begins is of the second.
    assert [part.attributes for part in cell.segments()] == [changes[:2], changes[2:]]


def scheduler(
    count: int,
    *numbers: float,
    cpu: float = 1.0,
) -> Scheduler:
    ones = np.ones(count)
    machines = CellMachines(
        np.arange(count),
        ("a",) * count,
        ones * cpu,
        ones,
        np.arange(count),
        np.ones((count, 8), int),
    )
    return Scheduler(machines, ScriptedRandom(*numbers))


def test_the_least_loaded_of_three_with_room_is_taken() -> None:
    found = scheduler(4, 0.0, 0.25, 0.5, 0.75)
    found.cpu = [0.5, 0.2, 0.3, 0.0]
    assert found.choose(job_of().tasks[0]) == 1
    # The fourth was not looked at.
    assert found.random.remaining == [0.75]


def test_where_nothing_has_room_nothing_is_taken_unless_it_must() -> None:
    found = scheduler(2, *[0.0] * TRIES)
    found.cpu, found.memory = [CPU_LIMIT, CPU_LIMIT - 0.05], [0.0, 0.0]
    assert found.choose(job_of().tasks[0]) == -1
    found.random = ScriptedRandom(*[0.0] * TRIES)
    assert found.choose(job_of().tasks[0], insist=True) == 1


def test_what_fits_fills_a_machine_to_its_limit() -> None:
    found, task = scheduler(1), job_of(1, 0.1, 0.1).tasks[0]
    found.cpu_limit, found.memory_limit = [0.5], [0.5]
    for cpu, memory, fits in ((0.4, 0.4, True), (0.41, 0.4, False), (0.4, 0.41, False)):
        found.cpu, found.memory = [cpu], [memory]
        assert found.fits(task, 0) is fits
    found.cpu, found.memory = [0.0], [0.0]
    found.is_up[0] = False
    assert not found.fits(task, 0)
    found.is_up[0] = True
    assert not found.fits(job_of(allowed=np.array([False])).tasks[0], 0)
    assert not found.fits(job_of(different=True, machines={0}).tasks[0], 0)


def test_inside_an_alloc_set_a_task_goes_where_its_place_is() -> None:
    host = job_of(2)
    host.tasks[1].machine = 3
    assert scheduler(4).choose(job_of(2, host=host).tasks[1]) == 3


def test_the_lowest_priority_goes_first_and_then_the_youngest_until_there_is_room() -> None:
    found = scheduler(1)
    found.cpu_limit, found.memory_limit = [1.0], [1.0]

    def on(id_: int, priority: int, start: int, **traits: Any) -> Task:
        task = job_of(
            1,
            0.2,
            0.2,
            id=id_,
            priority=priority,
            **traits,
        ).tasks[0]
        task.machine, task.start = 0, start
        found.add(task)
        return task

    inside = on(1, 0, 99, host=job_of())
    old, young, other, equal = on(2, 0, 5), on(3, 0, 9), on(4, 4, 1), on(5, 9, 1)
    assert found.cpu == pytest.approx([0.8])
    new = job_of(1, 0.5, 0.1, priority=9).tasks[0]
    # .3 is missing: two of .2.  The task inside an alloc set has booked nothing, and equals stay.
    assert found.victims(new, 0) == [young, old]
    assert found.victims(job_of(1, 0.1, 0.5, priority=9).tasks[0], 0) == [young, old]
    assert found.victims(job_of(1, 0.7, 0.1, priority=9).tasks[0], 0) == [young, old, other]
    assert found.victims(job_of(1, 0.2, 0.2, priority=9).tasks[0], 0) == []
    found.random = ScriptedRandom(0.0)
    assert found.choose_victim(job_of(1, 0.8, 0.1, priority=9).tasks[0]) == 0
    found.random = ScriptedRandom(*[0.0] * 50)
    assert found.choose_victim(job_of(1, 0.81, 0.1, priority=9).tasks[0]) == -1
    assert found.tasks_on(0) == [inside, old, young, other, equal]
    found.remove(old)
    assert (found.cpu, found.memory) == (pytest.approx([0.6]), pytest.approx([0.6]))
    found.remove(inside)
    assert found.cpu == pytest.approx([0.6])
