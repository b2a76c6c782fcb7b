"""Segments, windows and planted faults of a few events."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from borgtrace.schema.time import AFTER_TRACE, SECOND, TRACE_START
from borgtrace.synth.measure.usage_windows import windows_of
from borgtrace.synth.model.fault_rates import NO_FAULTS
from borgtrace.synth.model.machines import AttributeEvent, MachineEvent
from borgtrace.synth.options import SynthOptions
from borgtrace.synth.simulate.clock import Clock
from borgtrace.synth.simulate.event_log import (
    CollectionEvent,
    EventLog,
    Execution,
    InstanceEvent,
    TraceSegment,
)
from borgtrace.synth.simulate.fault_injection import (
    REUSED_ID,
    FaultInjector,
    MissingSchedules,
    choose,
    choose_share,
)
from tests.rows import chosen_columns
from tests.synth.scripted import FREE, GOOGLE_2011, ScriptedGenerator, job_of, workload


def test_segments_hand_over_what_goes_on() -> None:
    log = EventLog(Clock(10**9), [0, 100, 200])
    task = job_of().tasks[0]
    log.begin_execution(task)
    attribute = AttributeEvent(0, 0, "name", "value")
    first = log.hand_over([attribute])
    assert (first.number, first.start, first.end) == (0, 0, 100)
    assert first.attributes == [attribute]
    assert [(run.start, run.usage_end) for run in first.executions] == [(0, AFTER_TRACE)]
    log.end_execution(task, 150)
    second = log.hand_over([])
    assert (second.number, second.start, second.end) == (1, 100, 200)
    assert second.attributes == []
    assert [(run.start, run.usage_end) for run in second.executions] == [(0, 150)]


def execution(job_id: int, start: float, end: float) -> Execution:
    """An execution of the only task of a job, with times in seconds."""
    return Execution(
        task=job_of(id=job_id).tasks[0],
        machine=0,
        start=int(start * SECOND),
        usage_end=int(end * SECOND),
    )


def test_windows_lie_on_the_grid_of_300_seconds() -> None:
    runs = [
        execution(5, 950, 1300),
        execution(4, 600, 600.5),
        execution(3, 300, 900),
        execution(2, 300, 600),
        execution(6, 1199, 1201),
    ]
    segment = TraceSegment(0, 600 * SECOND, 1200 * SECOND, executions=runs)
    windows = windows_of(segment, np.array([77]))
    job_of_window = windows.executions["collection_id"][windows.rows["execution"]]
    rows = zip(
        job_of_window.tolist(),
        windows.rows["start"].tolist(),
        windows.rows["end"].tolist(),
        strict=True,
    )
    # By start, then by job.  Half a second is one; what ended when the part begins is not of it; the next part has the
    # rest of the first and of the last, whose windows here end where the grid says.
    assert list(rows) == [
        (3, 600, 900),
        (4, 600, 601),
        (5, 950, 1200),
        (6, 1199, 1200),
    ]
    assert set(windows.executions["machine_id"].tolist()) == {77}
    assert set(windows.executions["alloc_instance_index"].tolist()) == {-1}


def test_shares_are_chosen_in_order_and_never_more_than_there_are() -> None:
    rng = np.random.default_rng(0)
    assert choose(rng, [3, 5, 8], 9) == [3, 5, 8]
    assert choose(rng, [], 2) == []
    assert choose_share(rng, 0.0, [True]) == []


def test_how_many_are_chosen_is_drawn() -> None:
    rng = ScriptedGenerator(poisson=[2], choice=[[2, 0]])
    eligible = [False, True, False, True, True]
    assert choose_share(rng, 0.5, eligible) == [1, 4]  # type: ignore[arg-type]
    # Half of three.
    assert rng.calls[0] == ("poisson", (1.5,), {})


def test_who_finishes_without_a_schedule() -> None:
    first = job_of(id=1).tasks[0]
    second = job_of(id=2).tasks[0]
    third = job_of(id=3).tasks[0]
    late = TRACE_START + 1
    events = [
        InstanceEvent(TRACE_START, "SCHEDULE", third, "SUBMIT", 1),
        InstanceEvent(late, "SCHEDULE", first, "SUBMIT", 1),
        InstanceEvent(late, "SCHEDULE", second, "SUBMIT", 1),
        InstanceEvent(late + 1, "UPDATE_RUNNING", first, "SCHEDULE", 1),
        InstanceEvent(late + 2, "FINISH", first, "UPDATE_RUNNING", 1),
        InstanceEvent(late, "KILL", second, "SCHEDULE"),
    ]
    planted: dict[str, list[Any]] = {
        "missing_schedules": [],
        "finished_without_schedule": [],
    }
    # Every record that may be taken out is.
    rng = ScriptedGenerator(poisson=[9], choice=[[0, 1]])
    segment = TraceSegment(0, 0, 1, instances=events)
    MissingSchedules(0.5, rng, planted).remove_from(segment)  # type: ignore[arg-type]
    # The one at the start of the trace stays.  What follows a missing record follows what came before it.
    assert [(event.type, event.before) for event in segment.instances] == [
        ("SCHEDULE", "SUBMIT"),
        ("UPDATE_RUNNING", "SUBMIT"),
        ("FINISH", "UPDATE_RUNNING"),
        ("KILL", "SUBMIT"),
    ]
    assert planted == {
        "missing_schedules": [(1, 0, late), (2, 0, late)],
        "finished_without_schedule": [(1, 0, late + 2)],
    }


def injector(end: int = 7200, **rates: Any) -> FaultInjector:
    """An injector into a trace of so many seconds on ten machines."""
    bounds = [TRACE_START, TRACE_START + end * SECOND]
    return FaultInjector(NO_FAULTS._replace(**rates), workload(10), bounds, 1)


def test_a_small_trace_has_one_job_without_tasks_in_its_first_half() -> None:
    faults = injector(no_tasks=1e-9)
    end = TRACE_START + 7200 * SECOND
    (segment,) = faults.inject(iter([TraceSegment(0, TRACE_START, end)]))
    submit, schedule, kill = segment.collections
    assert (submit.type, schedule.type, kill.type) == ("SUBMIT", "SCHEDULE", "KILL")
    assert TRACE_START <= submit.time < TRACE_START + 3600 * SECOND
    assert submit.time == schedule.time <= kill.time < end
    assert segment.instances == []
    (job,) = {event.job for event in segment.collections}
    assert faults.planted["jobs_without_tasks"] == [job.id]
    assert (job.tier, job.size) == (FREE, 1)


def test_jobs_without_tasks_are_a_share_of_those_that_will_arrive() -> None:
    # Ten machines for two hours.
    jobs = GOOGLE_2011.jobs_per_hour * 10 * 2
    planted = injector(no_tasks=3 / jobs).planted
    assert len(planted["jobs_without_tasks"]) == 3


@pytest.mark.parametrize(
    ("seconds", "reused"),
    [(400, []), (401, [REUSED_ID])],
)
def test_an_id_is_reused_in_traces_above_400_seconds(seconds: int, reused: list[int]) -> None:
    faults = injector(seconds, no_tasks=1e-9, reuses_id=True)
    assert faults.planted["reused_job"] == reused
    events = [event for event in faults.pending if isinstance(event, CollectionEvent)]
    jobs = {event.job for event in events if event.job.id == REUSED_ID}
    assert [job.size for job in jobs] == [1 for _ in reused]


MADE_UP = "SNAPSHOT_BUT_NO_TRANSITION"


@pytest.mark.parametrize(
    ("rate", "planted", "expected"),
    [
        (
            "made_up",
            "made_up_events",
            {(type_, MADE_UP) for type_ in ("SCHEDULE", "UPDATE_RUNNING", "LOST")},
        ),
        ("made_up_updates", "made_up_events", {("UPDATE_RUNNING", MADE_UP)}),
        ("lost_tasks", "lost_tasks", {("LOST", "NO_SNAPSHOT_OR_TRANSITION")}),
        ("lost_jobs", "lost_jobs", {("LOST", "NO_SNAPSHOT_OR_TRANSITION")}),
        ("made_up_collections", "made_up_collections", {("SCHEDULE", MADE_UP), ("KILL", MADE_UP)}),
    ],
)
def test_what_is_marked_and_what_is_not(
    rate: str,
    planted: str,
    expected: set[tuple[str, str]],
) -> None:
    """Each event a hundred times: three in the trace, one before it; of a job an end, and one that is no end."""
    segment = TraceSegment(0, 0, 2 * TRACE_START)
    for id_ in range(100):
        job = job_of(id=id_)
        task = job.tasks[0]
        segment.instances += [
            InstanceEvent(0, "SUBMIT", task),
            InstanceEvent(TRACE_START, "SCHEDULE", task),
            InstanceEvent(TRACE_START + 1, "UPDATE_RUNNING", task),
            InstanceEvent(TRACE_START + 2, "LOST", task),
        ]
        segment.collections += [
            CollectionEvent(0, "SUBMIT", job),
            CollectionEvent(TRACE_START, "SCHEDULE", job),
            CollectionEvent(TRACE_START + 1, "KILL", job),
        ]
    faults = injector(**{rate: 1.0})
    (segment,) = faults.inject(iter([segment]))
    events = [*segment.instances, *segment.collections]
    marked = [event for event in events if event.missing]
    assert {(event.type, event.missing) for event in marked} == expected
    assert faults.planted[planted] == [event.place for event in marked]


def test_one_id_is_used_for_two_lives() -> None:
    faults = injector(1000, no_tasks=1e-9, reuses_id=True)
    parts = [
        TraceSegment(0, TRACE_START, TRACE_START + 500 * SECOND),
        TraceSegment(1, 0, TRACE_START + 1000 * SECOND),
    ]
    first, second = faults.inject(iter(parts))
    events = [*first.instances, *second.instances]
    # In the middle of what 360 s leave free: 320 s after the start; the second part begins at 500 s.
    begin = TRACE_START + 320 * SECOND
    lives = []
    for event in events:
        seconds = round((event.time - begin) / SECOND, 1)
        lives.append((seconds, event.before, event.type, event.machine >= 0))
    assert lives == [
        (0, "", "SUBMIT", False),
        (1.7, "SUBMIT", "SCHEDULE", True),
        (43.9, "SCHEDULE", "FAIL", True),
        (251.4, "FAIL", "SUBMIT", False),
        (253.0, "SUBMIT", "SCHEDULE", True),
        (349.7, "SCHEDULE", "FINISH", True),
    ]
    (job,) = {event.task.job for event in events}
    assert (job.id, job.tier) == (REUSED_ID, FREE)
    assert len(first.instances) == 3
    assert faults.planted["reused_job"] == [REUSED_ID]


def machines_added(number: int) -> TraceSegment:
    """A part in which ten machines come and one goes."""
    events = [MachineEvent(0, machine, "ADD") for machine in range(10)]
    events.append(MachineEvent(1, 0, "REMOVE"))
    return TraceSegment(number, TRACE_START, TRACE_START + SECOND, machines=events)


@pytest.mark.parametrize(
    ("rate", "number", "n_unknown"),
    [
        (1e-9, 0, 1),
        (1e-9, 1, 0),
        (0.5, 0, 5),
        (0.5, 1, 5),
        (0.0, 0, 0),
    ],
)
def test_one_machine_at_least_has_no_capacity_and_more_by_their_rate(
    rate: float,
    number: int,
    n_unknown: int,
) -> None:
    faults = injector(no_capacity=rate)
    (segment,) = faults.inject(iter([machines_added(number)]))
    unknown = [event for event in segment.machines if event.is_unknown]
    assert {event.type for event in unknown} <= {"ADD"}
    assert len(unknown) == n_unknown
    ids = faults.workload.machines.ids
    planted_ids = [int(ids[event.machine]) for event in unknown]
    assert faults.planted["machines_without_capacity"] == planted_ids


def two_tasks_at_the_start(number: int) -> TraceSegment:
    segment = TraceSegment(number, TRACE_START, 2 * TRACE_START)
    for id_ in (1, 2):
        task = job_of(id=id_).tasks[0]
        segment.instances += [
            InstanceEvent(0, "SUBMIT", task),
            InstanceEvent(0, "SCHEDULE", task),
        ]
    first_task = segment.instances[0].task
    segment.instances.append(InstanceEvent(TRACE_START + 1, "KILL", first_task))
    return segment


@pytest.mark.parametrize(
    ("rate", "number", "n_rows"),
    [
        (1e-9, 0, 2),
        (0.5, 0, 2),
        (1.0, 0, 4),
        (1.0, 1, 0),
        (0.0, 0, 0),
    ],
)
def test_requests_are_forgotten_at_the_start_alone_and_of_whole_tasks(
    rate: float,
    number: int,
    n_rows: int,
) -> None:
    faults = injector(no_requests=rate)
    (segment,) = faults.inject(iter([two_tasks_at_the_start(number)]))
    without = [event for event in segment.instances if not event.has_request]
    assert len(without) == n_rows
    assert {event.missing for event in without} <= {"EXISTS_BUT_NO_CREATION"}
    assert {event.time for event in without} <= {0}
    assert faults.planted["tasks_without_requests"] == [event.place for event in without]


def test_what_identifies_a_trace() -> None:
    plain = SynthOptions(
        machines=3,
        hours=2,
        parts=2,
        jobs=7,
    ).parameters()
    assert plain["parts"] == 2
    assert plain["machines"] == 3
    assert "cell" not in plain
    assert "shared_factor" not in plain
    other = SynthOptions(
        generation="2019",
        cell="b",
        file_format="parquet",
        shared_factor=0.5,
    ).parameters()
    expected = {
        "cell": "b",
        "format": "parquet",
        "shared_factor": 0.5,
    }
    assert chosen_columns(other, expected) == expected
    assert other["parts"] is None
