"""How waits and runs end, with the draws given."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from borgtrace.schema import TERMINAL_EVENTS
from borgtrace.schema.time import SECOND, TRACE_START
from borgtrace.synth.model.jobs import Job, Task
from borgtrace.synth.model.machines import draw_machines
from borgtrace.synth.model.outcomes import FIRST_EVICTED, LOOPING, Outcomes, RunEnd, Wait
from borgtrace.synth.model.profile import Profile
from borgtrace.synth.simulate.event_log import EventLog
from borgtrace.synth.simulate.lifecycle import Lifecycle
from borgtrace.synth.simulate.relations import Relations
from tests.synth.scripted import (
    BEB,
    FREE,
    GOOGLE_2011,
    GOOGLE_2019,
    OTHER,
    PRODUCTION,
    Fixed,
    ScriptedRandom,
    job_of,
    workload,
)


def outcomes(*numbers: float) -> Outcomes:
    return Outcomes(GOOGLE_2011, ScriptedRandom(*numbers))


def run(
    job: Job,
    u: float,
    *numbers: float,
    residual: bool = False,
) -> RunEnd:
    drawn = outcomes(*numbers)
    drawn.lengths[job.tier.name] = Fixed(u)
    return drawn.run(job, residual)


def test_how_runs_end() -> None:
    # A crash loop fails after half a minute to five and a half; an alloc set is killed.
    assert run(job_of(is_looping=True), 0.5, 0.0) == (180.0, "FAIL")
    assert run(job_of(is_alloc_set=True), 0.5, 0.0) == (FREE.residual.at(0.525), "KILL")
    assert run(job_of(), 0.5, 1.7e-4) == (FREE.duration.at(0.5), "LOST")
    end = run(job_of(is_looping=True), 0.5, 0.5, 0.0, residual=True)
    assert end.seconds == FREE.residual.at(0.5)
    assert end.kind == next(iter(FREE.residual_outcomes))


def test_how_waits_end() -> None:
    delay = round(FREE.delay.at(0.5) * SECOND)
    wait = outcomes(0.5, 0.5).wait(job_of())
    assert (wait.ending, wait.delay, wait.is_updated) == ("SCHEDULE", delay, False)
    assert outcomes(0.0, 0.5).wait(job_of(is_alloc_set=True)) == wait
    assert outcomes(1 - 1e-6, 0.5).wait(job_of()).is_updated
    killed = outcomes(0.0366, 0.5, 1.0).wait(job_of())
    assert killed.ending == "KILL"
    assert killed.delay == round(math.exp(10.1) * SECOND)
    assert outcomes(0.0368, 0.5).wait(job_of()).ending == "EVICT"
    assert outcomes(0.0371, 0.5).wait(job_of()).ending == "SCHEDULE"


def test_one_early_wait_ends_in_an_eviction() -> None:
    drawn = outcomes(*[0.5] * 2 * FIRST_EVICTED, 0.5, 0.5)
    evicted = []
    for number in range(1, FIRST_EVICTED + 2):
        if drawn.wait(job_of()).ending == "EVICT":
            evicted.append(number)
    assert evicted == [FIRST_EVICTED]


def test_pauses_between_tries_grow_up_to_the_tenth() -> None:
    pauses = [outcomes(0.5).retry(tries) for tries in (0, 1, 9, 20)]
    assert pauses == [n * 75 * SECOND for n in (1, 2, 10, 10)]


def test_how_often_runs_are_updated() -> None:
    scaled = job_of(scaling="FULLY_AUTOMATED")
    assert outcomes(0.099).is_updated(scaled)
    assert not outcomes(0.1).is_updated(scaled)
    # Of the month's 28.4 million runs of free tasks 26,357 have an update, of 17.3 million others 601,047.
    assert outcomes(9e-4).is_updated(job_of())
    assert not outcomes(9.4e-4).is_updated(job_of())
    assert outcomes(0.034).is_updated(job_of(tier=OTHER))
    assert not outcomes(0.035).is_updated(job_of(tier=OTHER))
    assert outcomes(2e-4).is_updated(job_of(tier=BEB))
    assert not outcomes(4e-4).is_updated(job_of(tier=BEB))
    assert outcomes(0.5).scale() == 1.0


def test_how_runs_are_recorded_at_their_end() -> None:
    assert outcomes(0.19, 3.6).overrun() == 4 * SECOND
    assert outcomes(0.2).overrun() == 0
    assert not outcomes(0.29).names_machine("KILL")
    assert outcomes(0.3).names_machine("KILL")
    assert outcomes().names_machine("FINISH")


@pytest.mark.parametrize("kind", TERMINAL_EVENTS)
def test_a_task_can_come_back_after_every_kind_of_end(kind: str) -> None:
    # A service's task comes back whatever ended it, a lost one too.
    assert Outcomes(GOOGLE_2011, random.Random(1)).pause(kind) >= 1


def test_who_comes_back() -> None:
    looping = job_of(is_looping=True)
    assert outcomes(0.98).comes_back(looping, "FAIL")
    assert not outcomes(0.99).comes_back(looping, "FAIL")
    # At the chance itself, 98.5 %, it does not come back.
    assert not outcomes(LOOPING).comes_back(looping, "FAIL")
    cancelled = job_of(is_looping=True, is_cancelled=True)
    assert not outcomes(0.0).comes_back(cancelled, "FAIL")
    assert outcomes(0.4).pause("KILL") == 1


def test_pauses_after_a_finish_have_the_measured_median_and_90th_percentile() -> None:
    draws = ScriptedRandom(5e6)
    assert Outcomes(GOOGLE_2011, draws).pause("FINISH") == 5_000_000
    ((mean, deviation),) = draws.calls
    # 54.6 s and 608 s; nine of ten normal scores are below 1.2816.
    assert math.exp(mean) == pytest.approx(54.6e6)
    assert math.exp(mean + 1.2816 * deviation) == pytest.approx(608e6, rel=0.01)


def test_how_a_task_ends_whose_machine_goes() -> None:
    """From priority 9 on, 32 % are evicted, 46 % fail and 22 % are killed; below all are evicted."""
    job = job_of()
    job.priority = 8
    assert outcomes().without_machine(job) == "EVICT"
    job.priority = 9
    ends = [outcomes(u).without_machine(job) for u in (0.31, 0.33, 0.77, 0.79)]
    assert ends == ["EVICT", "FAIL", "FAIL", "KILL"]


def test_tasks_alive_at_the_start_that_end_too_early_are_no_long_ones() -> None:
    # .009 of production end within 7,800 s: whatever is asked for, a long task lasts two hours.
    expected = 1 - PRODUCTION.residual.below(7200.0)
    assert PRODUCTION.lasting(1.0) == expected
    assert PRODUCTION.lasting(7200.0) == expected


class RecordingLog(EventLog):
    """Notes events and ends of runs as short tuples."""

    def __init__(self, life: Lifecycle) -> None:
        super().__init__(life.clock, [0, life.clock.end])
        self.events: list[tuple[Any, ...]] = []

    def job(self, kind: str, job: Job) -> None:
        self.events.append((kind, job.id))

    def task(
        self,
        kind: str,
        task: Task,
        machine: int = -1,
    ) -> None:
        self.events.append((kind, task.index, machine))
        task.state = kind

    def begin_execution(self, task: Task) -> None:
        self.events.append(("begins", task.index))

    def end_execution(self, task: Task, usage_end: int) -> None:
        self.events.append(("usage", task.index, usage_end))


class RecordingLifecycle(Lifecycle):
    """A life cycle on ten machines with prescribed draws, which keeps what it logs."""

    log: RecordingLog

    def __init__(
        self,
        *numbers: float,
        end: int = 10**9,
        profile: Profile = GOOGLE_2019,
    ) -> None:
        machines = draw_machines(profile, 10, 1)
        super().__init__(profile, machines, [0, end], ScriptedRandom())
        self.log = RecordingLog(self)
        self.outcomes = outcomes(*numbers)

    @property
    def planned(self) -> list[tuple[Any, ...]]:
        """What is ahead: when, what, and its arguments after the task."""
        return [(due.time, due.action.__name__, *due.arguments[1:]) for due in self.clock.planned]

    def place(self, task: Task, machine: int) -> None:
        """Let a task run on a machine."""
        task.machine = machine
        self.scheduler.add(task)


def test_a_cancelled_job_loses_who_runs_and_who_waits() -> None:
    # Overrun, machine and return of the first, which runs; the return of the second, which waits.  The third is
    # between two attempts, and finds its job canceled when it comes.
    life = RecordingLifecycle(0.5, 0.5, 0.0, 0.0)
    job = job_of(3, id=7, worst=0)
    running, waiting, between = job.tasks
    life.place(running, 0)
    running.state = "SCHEDULE"
    waiting.state = "ENABLE"
    between.state = "FAIL"
    life.cancel(job)
    assert life.log.events == [
        ("usage", 0, 0),
        ("KILL", 0, 0),
        ("KILL", 1, -1),
    ]
    assert (job.alive, job.is_cancelled) == (1, True)
    life.submit(between)
    assert life.log.events[3:] == [("KILL", 7)]


@pytest.mark.parametrize(
    ("end", "usage_end"),
    [(10**9, 4 * SECOND + 5), (SECOND, SECOND)],
)
def test_the_last_window_runs_over_the_end_of_a_run_but_not_of_the_trace(
    end: int, usage_end: int
) -> None:
    life = RecordingLifecycle(0.1, 4.0, 0.5, 0.0, end=end)
    life.clock.now = 5
    job = job_of(
        1,
        id=7,
        is_cancelled=True,
        worst=0,
    )
    life.place(job.tasks[0], 5)
    life.finish(job.tasks[0], 0, "KILL")
    assert life.log.events[0] == ("usage", 0, usage_end)


def test_what_was_planned_for_an_earlier_attempt_does_nothing() -> None:
    life = RecordingLifecycle()
    task = job_of(1).tasks[0]
    task.machine = 5
    task.attempt = 2
    life.finish(task, 1, "KILL")
    task.machine = -1
    life.finish(task, 2, "KILL")
    assert life.log.events == []


def relations(*numbers: float) -> Relations:
    life = RecordingLifecycle()
    life.clock.now = 5
    cell = workload(10, profile=GOOGLE_2019)
    return Relations(cell, life, ScriptedRandom(*numbers))


def test_a_held_job_follows_another() -> None:
    related = relations(0.39, 0.0)
    job = job_of(id=1)
    other = job_of(id=2)
    related.hold(job, [other])
    assert (job.is_held, job.after, other.followers) == (True, other, [job])
    assert related.lifecycle.clock.planned == []


def test_a_held_job_waits_a_while() -> None:
    related = relations(0.4, 7.4)
    job = job_of(id=3)
    related.hold(job, [job_of(id=2)])
    assert (job.is_held, job.after) == (True, None)
    (due,) = related.lifecycle.clock.planned
    assert due.time == 5 + round(7.4 * SECOND)
    assert due.action == related.lifecycle.release
    assert due.arguments == (job,)


def test_where_there_is_no_job_to_follow_nothing_is_drawn_for_it() -> None:
    related = relations(2.0)
    related.hold(job_of(id=4), [])
    (due,) = related.lifecycle.clock.planned
    assert due.time == 5 + 2 * SECOND


class WaitingLifecycle(RecordingLifecycle):
    """A life cycle at 5 µs that notes who begins to wait when."""

    def __init__(self) -> None:
        super().__init__()
        self.clock.now = 5
        self.waits: list[tuple[int, int, int]] = []

    def wait(self, task: Task, since: int) -> None:
        self.waits.append((task.job.id, task.index, since))


def test_a_job_that_leaves_the_queue_enables_the_tasks_that_are_queued() -> None:
    life = WaitingLifecycle()
    job = job_of(2, id=7, is_held=True)
    job.tasks[0].state = "QUEUE"
    job.tasks[1].state = "KILL"
    life.release(job)
    assert life.log.events == [("ENABLE", 7), ("ENABLE", 0, -1)]
    assert life.waits == [(7, 0, 5)]
    assert not job.is_held


def test_the_end_of_a_job_releases_its_followers_and_kills_its_children() -> None:
    life = WaitingLifecycle()
    follower = job_of(1, id=8, is_held=True)
    follower.tasks[0].state = "QUEUE"
    child = job_of(1, id=9)
    child.tasks[0].state = "FAIL"
    job = job_of(
        1,
        id=7,
        worst=0,
        followers=[follower],
        children=[child],
    )
    life.count_out(job, "KILL")
    assert life.log.events == [
        ("KILL", 7),
        ("ENABLE", 8),
        ("ENABLE", 0, -1),
    ]
    assert life.waits == [(8, 0, 5)]
    assert child.is_cancelled
    assert (job.followers, job.children) == ([], [])


class FixedOutcomes(Outcomes):
    """Every wait and every run ends in the same way."""

    def __init__(
        self,
        wait: Wait | None = None,
        run_end: RunEnd | None = None,
        is_updated: bool = False,
        retry: int = 0,
    ) -> None:
        super().__init__(GOOGLE_2011, ScriptedRandom())
        self.fixed_wait = wait
        self.fixed_run_end = run_end
        self.fixed_is_updated = is_updated
        self.fixed_retry = retry

    def wait(self, job: Job) -> Wait:
        assert self.fixed_wait
        return self.fixed_wait

    def run(self, job: Job, residual: bool) -> RunEnd:
        assert self.fixed_run_end
        return self.fixed_run_end

    def is_updated(self, job: Job) -> bool:
        return self.fixed_is_updated

    def retry(self, tries: int) -> int:
        return self.fixed_retry


@pytest.mark.parametrize(
    ("wait", "expected"),
    [
        (
            Wait("SCHEDULE", 100, is_updated=True),
            [
                (57, "update", 3, "UPDATE_PENDING"),
                (107, "try_to_schedule", 3, 0),
            ],
        ),
        (
            Wait("EVICT", 100),
            [(107, "end_wait", 3, "EVICT")],
        ),
    ],
)
def test_a_wait_ends_as_drawn_and_may_be_updated_halfway(
    wait: Wait,
    expected: list[tuple[Any, ...]],
) -> None:
    life = RecordingLifecycle()
    life.outcomes = FixedOutcomes(wait)
    task = job_of().tasks[0]
    task.attempt = 3
    life.wait(task, 7)
    assert life.planned == expected


def test_an_eviction_is_owed_where_its_task_no_longer_waits() -> None:
    # Whether the task comes back; here its job is canceled.
    life = RecordingLifecycle(0.5)
    job = job_of(
        id=7,
        is_cancelled=True,
        worst=0,
    )
    task = job.tasks[0]
    # Every real EVICT names a machine, also the 123 of tasks that wait: here one of ten where there is room.
    life.scheduler.random = ScriptedRandom(0.35, 0.35, 0.35)
    life.end_wait(task, 0, "EVICT")
    assert life.log.events == [("EVICT", 0, 3), ("EVICT", 7)]
    assert not life.outcomes.owes_eviction
    life.end_wait(task, 0, "KILL")
    assert not life.outcomes.owes_eviction
    # That attempt is over.
    life.end_wait(task, 0, "EVICT")
    assert life.outcomes.owes_eviction
    assert len(life.log.events) == 2


@pytest.mark.parametrize(
    ("residual", "since"),
    [(False, 7), (True, TRACE_START)],
)
def test_a_run_ends_as_drawn_and_may_be_updated_halfway(residual: bool, since: int) -> None:
    life = RecordingLifecycle(end=10**12)
    life.clock.now = 7
    life.outcomes = FixedOutcomes(run_end=RunEnd(9000.0, "FAIL"), is_updated=True)
    job = job_of(id=7)
    task = job.tasks[0]
    task.machine = 5
    life.begin(task, residual)
    life.begin(task, residual)
    # A job is scheduled once, with the first run of any of its tasks.
    run_begins = [("SCHEDULE", 0, 5), ("begins", 0)]
    assert life.log.events == [("SCHEDULE", 7), *run_begins, *run_begins]
    assert job.is_scheduled
    update = (since + 4500 * SECOND, "update", 0, "UPDATE_RUNNING")
    end = (since + 9000 * SECOND, "finish", 0, "FAIL")
    assert life.planned == [update, update, end, end]


class FullLifecycle(RecordingLifecycle):
    """No machine has room, but evicting would make room on the first; notes where tasks begin."""

    def __init__(self) -> None:
        super().__init__()
        self.scheduler.cpu = [10.0] * self.scheduler.count
        self.scheduler.random = ScriptedRandom(*[0.5] * 100)
        self.outcomes = FixedOutcomes(retry=50)
        self.begun: list[int] = []

    def make_room(self, task: Task) -> int:
        return 0

    def begin(self, task: Task, residual: bool = False) -> None:
        self.begun.append(task.machine)


@pytest.mark.parametrize(
    ("priority", "begun", "planned"),
    [
        (GOOGLE_2019.evicting - 1, [], [(50, "try_to_schedule", 0, 3)]),
        (GOOGLE_2019.evicting, [0], []),
    ],
)
def test_only_those_who_may_evict_do(
    priority: int,
    begun: list[int],
    planned: list[tuple[Any, ...]],
) -> None:
    """From the profile's priority on; else the task waits and tries again."""
    life = FullLifecycle()
    task = job_of(priority=priority).tasks[0]
    life.try_to_schedule(task, 0, 2)
    assert life.begun == begun
    assert life.planned == planned


def test_parents_are_alive_and_not_cancelled() -> None:
    over = job_of(id=1)
    over.alive = 0
    cancelled = job_of(id=2, is_cancelled=True)
    alive = job_of(id=3)
    related = relations(0.5)
    related.recent.extend([over, cancelled])
    orphan = job_of(id=4)
    # Only the vertical scaling is drawn: there is no parent to choose.
    related.relate(orphan)
    assert orphan.parent is None
    related.recent.remove(orphan)
    related.recent.append(alive)
    related.random = ScriptedRandom(0.5, 0.34, 0.99)
    child = job_of(id=5)
    related.relate(child)
    assert child.parent is alive
    assert alive.children == [child]
    assert child in related.recent
