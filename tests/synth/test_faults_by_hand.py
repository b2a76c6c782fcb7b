"""Segments, windows and planted faults of a few events."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from borgtrace.schema.time import AFTER_TRACE, SECOND, TRACE_START
from borgtrace.synth.measure.usage_windows import windows_of
from borgtrace.synth.model.fault_rates import NO_FAULTS
from borgtrace.synth.model.machines import MachineEvent
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
from tests.synth.scripted import FREE, GOOGLE_2011, job_of, workload


def test_segments_hand_over_what_goes_on() -> None:
    log = EventLog(Clock(10**9), [0, 100, 200])
    task = job_of().tasks[0]
    log.begin_execution(task)
    first = log.hand_over(["a"])  # type: ignore[list-item]
    assert (first.number, first.start, first.end, first.attributes) == (0, 0, 100, ["a"])
    assert [(run.start, run.usage_end) for run in first.executions] == [(0, AFTER_TRACE)]
    log.end_execution(task, 150)
    second = log.hand_over([])
    assert (second.number, second.start, second.end, second.attributes) == (1, 100, 200, [])
    assert [(run.start, run.usage_end) for run in second.executions] == [(0, 150)]


def test_windows_lie_on_the_grid_of_300_seconds() -> None:
    second = SECOND

    def ran(
        id_: int,
        start: float,
        end: float,
    ) -> Execution:
        task = job_of(id=id_).tasks[0]
        return Execution(
            task,
            0,
            int(start * second),
            int(end * second),
        )

    runs = [
        ran(5, 950, 1300),
        ran(4, 600, 600.5),
        ran(3, 300, 900),
        ran(2, 300, 600),
        ran(6, 1199, 1201),
    ]
    segment = TraceSegment(
        0,
        600 * second,
        1200 * second,
        executions=runs,
    )
    found = windows_of(segment, np.array([77]))
    rows = [
        (
            int(found.executions["collection_id"][row["execution"]]),
            int(row["start"]),
            int(row["end"]),
        )
        for row in found.rows
    ]
    # By start, then by job.  Half a second is one; what ended when the part begins is not of it; the next part has the
    # rest of the first and of the last, whose windows here end where the grid says.
    assert rows == [
        (3, 600, 900),
        (4, 600, 601),
        (5, 950, 1200),
        (6, 1199, 1200),
    ]
    assert set(found.executions["machine_id"].tolist()) == {77}
    assert set(found.executions["alloc_instance_index"].tolist()) == {-1}


def test_shares_are_chosen_in_order_and_never_more_than_there_are() -> None:
    rng = np.random.default_rng(0)
    assert choose(rng, [3, 5, 8], 9) == [3, 5, 8]
    assert choose(rng, [], 2) == []
    assert choose_share(rng, 0.0, [True]) == []
    one = SimpleNamespace(
        poisson=lambda mean: 2 if mean == 1.5 else 0,
        choice=lambda n, size, replace: np.array([2, 0]),
    )
    assert choose_share(one, 0.5, [False, True, False, True, True]) == [1, 4]  # type: ignore[arg-type]


def test_who_finishes_without_a_schedule() -> None:
    first, second, third = (job_of(id=id_).tasks[0] for id_ in (1, 2, 3))
    late = TRACE_START + 1
    events = [
        InstanceEvent(TRACE_START, "SCHEDULE", third, "SUBMIT", 1),
        *(InstanceEvent(late, "SCHEDULE", task, "SUBMIT", 1) for task in (first, second)),
        InstanceEvent(
            late + 1,
            "UPDATE_RUNNING",
            first,
            "SCHEDULE",
            1,
        ),
        *(
            InstanceEvent(
                late + 2,
                "FINISH",
                first,
                "UPDATE_RUNNING",
                1,
            ),
            InstanceEvent(late, "KILL", second, "SCHEDULE"),
        ),
    ]
    planted: dict[str, list[Any]] = {"missing_schedules": [], "finished_without_schedule": []}
    every = SimpleNamespace(poisson=lambda mean: 9, choice=lambda n, size, replace: np.arange(size))
    segment = TraceSegment(0, 0, 1, instances=events)
    MissingSchedules(0.5, every, planted).remove_from(segment)  # type: ignore[arg-type]
    # The one at the start of the trace stays.  What follows a missing record follows what came before it.
    assert [(event.type, event.before) for event in segment.instances] == [
        *(
            ("SCHEDULE", "SUBMIT"),
            ("UPDATE_RUNNING", "SUBMIT"),
            ("FINISH", "UPDATE_RUNNING"),
            ("KILL", "SUBMIT"),
        )
    ]
    assert planted == {
        "missing_schedules": [(1, 0, late), (2, 0, late)],
        "finished_without_schedule": [(1, 0, late + 2)],
    }


def injector(end: int = 7200, **rates: Any) -> FaultInjector:
    return FaultInjector(
        NO_FAULTS._replace(**rates),
        workload(10),
        [TRACE_START, TRACE_START + end * SECOND],
        1,
    )


def test_a_small_trace_has_one_job_without_tasks_in_its_first_half() -> None:
    found = injector(no_tasks=1e-9)
    (segment,) = found.inject(iter([TraceSegment(0, TRACE_START, TRACE_START + 7200 * SECOND)]))
    times = [event.time for event in segment.collections]
    assert [event.type for event in segment.collections] == ["SUBMIT", "SCHEDULE", "KILL"]
    assert TRACE_START <= times[0] == times[1] < TRACE_START + 3600 * SECOND
    assert times[1] <= times[2] < TRACE_START + 7200 * SECOND
    assert [event.job.id for event in segment.collections] == found.planted[
        "jobs_without_tasks"
    ] * 3
    assert segment.instances == []
    assert {(event.job.tier, event.job.size) for event in segment.collections} == {(FREE, 1)}


def test_jobs_without_tasks_are_a_share_of_those_that_will_arrive() -> None:
    # Ten machines for two hours.
    jobs = GOOGLE_2011.jobs_per_hour * 10 * 2
    assert len(injector(no_tasks=3 / jobs).planted["jobs_without_tasks"]) == 3


@pytest.mark.parametrize(("seconds", "reused"), [(400, []), (401, [REUSED_ID])])
def test_an_id_is_reused_in_traces_above_400_seconds(seconds: int, reused: list[int]) -> None:
    found = injector(seconds, no_tasks=1e-9, reuses_id=True)
    assert found.planted["reused_job"] == reused
    jobs = [
        event.job
        for event in found.pending
        if isinstance(event, CollectionEvent) and event.job.id == REUSED_ID
    ]
    assert {job.size for job in jobs} == {1 for _ in reused}


def test_what_is_marked_and_what_is_not() -> None:
    """Each event a hundred times: two in the trace, one before it; of a job an end, and one that is no end."""
    tasks = [job_of(id=id_).tasks[0] for id_ in range(100)]
    made_up = "SNAPSHOT_BUT_NO_TRANSITION"
    for rate, planted, expected in (
        ("made_up", "made_up_events", {("SCHEDULE", made_up), ("UPDATE_RUNNING", made_up)}),
        ("made_up_updates", "made_up_events", {("UPDATE_RUNNING", made_up)}),
        ("lost_jobs", "lost_jobs", {("LOST", "NO_SNAPSHOT_OR_TRANSITION")}),
        ("made_up_collections", "made_up_collections", {("SCHEDULE", made_up), ("KILL", made_up)}),
    ):
        kinds = ((0, "SUBMIT"), (TRACE_START, "SCHEDULE"), (TRACE_START + 1, "UPDATE_RUNNING"))
        events = [InstanceEvent(time, kind, task) for time, kind in kinds for task in tasks]
        ends = ((0, "SUBMIT"), (TRACE_START, "SCHEDULE"), (TRACE_START + 1, "KILL"))
        jobs = [CollectionEvent(time, kind, task.job) for time, kind in ends for task in tasks]
        found = injector(**{rate: 1.0})
        (segment,) = found.inject(
            iter(
                [
                    TraceSegment(
                        0,
                        0,
                        2 * TRACE_START,
                        instances=events,
                        collections=jobs,
                    )
                ]
            )
        )
        marked = [event for event in (*segment.instances, *segment.collections) if event.missing]
        assert {(event.type, event.missing) for event in marked} == expected
        assert found.planted[planted] == [event.place for event in marked]


def test_one_id_is_used_for_two_lives() -> None:
    found = injector(1000, no_tasks=1e-9, reuses_id=True)
    parts = [
        TraceSegment(0, TRACE_START, TRACE_START + 500 * SECOND),
        TraceSegment(1, 0, TRACE_START + 1000 * SECOND),
    ]
    first, second = found.inject(iter(parts))
    events = [*first.instances, *second.instances]
    # In the middle of what 360 s leave free: 320 s after the start; the second part begins at 500 s.
    begin = TRACE_START + 320 * SECOND
    assert [round((event.time - begin) / SECOND, 1) for event in events] == [
        0,
        1.7,
        43.9,
        251.4,
        253.0,
        349.7,
    ]
    assert [event.type for event in events] == [
        "SUBMIT",
        "SCHEDULE",
        "FAIL",
        "SUBMIT",
        "SCHEDULE",
        "FINISH",
    ]
    assert [event.before for event in events] == [
        "",
        "SUBMIT",
        "SCHEDULE",
        "FAIL",
        "SUBMIT",
        "SCHEDULE",
    ]
    assert [event.machine < 0 for event in events] == [True, False, False, True, False, False]
    assert {(event.task.job.id, event.task.job.tier) for event in events} == {(REUSED_ID, FREE)}
    assert len(first.instances) == 3
    assert found.planted["reused_job"] == [REUSED_ID]
    # In a trace shorter than that there is no room for it.
    assert injector(400, no_tasks=1e-9, reuses_id=True).planted["reused_job"] == []


def machines_added(number: int) -> TraceSegment:
    events = [
        *(MachineEvent(0, machine, "ADD") for machine in range(10)),
        MachineEvent(1, 0, "REMOVE"),
    ]
    return TraceSegment(
        number,
        TRACE_START,
        TRACE_START + SECOND,
        machines=events,
    )


def test_one_machine_at_least_has_no_capacity_and_more_by_their_rate() -> None:
    for rate, number, n in (
        (1e-9, 0, 1),
        (1e-9, 1, 0),
        (0.5, 0, 5),
        (0.5, 1, 5),
        (0.0, 0, 0),
    ):
        found = injector(no_capacity=rate)
        (segment,) = found.inject(iter([machines_added(number)]))
        unknown = [event for event in segment.machines if event.is_unknown]
        assert {event.type for event in unknown} <= {"ADD"}
        assert len(unknown) == n, (rate, number)
        ids = found.workload.machines.ids
        assert found.planted["machines_without_capacity"] == [
            int(ids[event.machine]) for event in unknown
        ]


def test_requests_are_forgotten_at_the_start_alone_and_of_whole_tasks() -> None:
    def start(number: int) -> TraceSegment:
        tasks = [job_of(id=id_).tasks[0] for id_ in (1, 2)]
        events = [InstanceEvent(0, kind, task) for task in tasks for kind in ("SUBMIT", "SCHEDULE")]
        later = InstanceEvent(TRACE_START + 1, "KILL", tasks[0])
        return TraceSegment(
            number,
            TRACE_START,
            2 * TRACE_START,
            instances=[*events, later],
        )

    for rate, number, n in (
        (1e-9, 0, 2),
        (0.5, 0, 2),
        (1.0, 0, 4),
        (1.0, 1, 0),
        (0.0, 0, 0),
    ):
        found = injector(no_requests=rate)
        (segment,) = found.inject(iter([start(number)]))
        without = [event for event in segment.instances if not event.has_request]
        assert len(without) == n, (rate, number)
        assert {(event.missing, event.time) for event in without} <= {("EXISTS_BUT_NO_CREATION", 0)}
        assert found.planted["tasks_without_requests"] == [event.place for event in without]


def test_what_identifies_a_trace() -> None:
    plain = SynthOptions(
        machines=3,
        hours=2,
        parts=2,
        jobs=7,
    ).parameters()
    assert (
        plain["parts"],
        plain["machines"],
        "cell" in plain,
        "shared_factor" in plain,
    ) == (
        2,
        3,
        False,
        False,
    )
    other = SynthOptions(
        generation="2019",
        cell="b",
        file_format="parquet",
        shared_factor=0.5,
    ).parameters()
    assert (other["cell"], other["format"], other["shared_factor"], other["parts"]) == (
        "b",
        "parquet",
        0.5,
        None,
    )
