"""How waits and runs end, with the draws given."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from borgtrace.schema.time import SECOND, TRACE_START
from borgtrace.synth.model.jobs import Job, Task
from borgtrace.synth.model.outcomes import FIRST_EVICTED, LOOPING, Outcomes, Wait
from borgtrace.synth.simulate.clock import Clock
from borgtrace.synth.simulate.lifecycle import Lifecycle
from borgtrace.synth.simulate.relations import Relations
from tests.synth.scripted import (
    FREE,
    GOOGLE_2011,
    GOOGLE_2019,
    PRODUCTION,
    Scripted,
    job_of,
    workload,
)


def outcomes(*numbers: float) -> Outcomes:
    return Outcomes(GOOGLE_2011, Scripted(*numbers))


def run(
    job: Job,
    u: float,
    *numbers: float,
    residual: bool = False,
) -> tuple[float, str]:
    found = outcomes(*numbers)
    found.lengths[job.tier.name] = SimpleNamespace(draw=lambda: u)  # type: ignore[assignment]
    return found.run(job, residual)


def test_how_runs_end() -> None:
    # A crash loop fails after half a minute to five and a half; an alloc set is killed.
    assert run(job_of(is_looping=True), 0.5, 0.0) == (180.0, "FAIL")
    assert run(job_of(is_alloc_set=True), 0.5, 0.0) == (FREE.residual.at(0.525), "KILL")
    assert run(job_of(), 0.5, 1.7e-4) == (FREE.duration.at(0.5), "LOST")
    seconds, kind = run(
        job_of(is_looping=True),
        0.5,
        0.5,
        0.0,
        residual=True,
    )
    assert (seconds, kind) == (FREE.residual.at(0.5), next(iter(FREE.residual_outcomes)))


def test_how_waits_end() -> None:
    delay = round(FREE.delay.at(0.5) * SECOND)
    assert outcomes(0.5, 0.5).wait(job_of()) == outcomes(0.0, 0.5).wait(job_of(is_alloc_set=True))
    wait = outcomes(0.5, 0.5).wait(job_of())
    assert (wait.ending, wait.delay, wait.is_updated) == ("SCHEDULE", delay, False)
    assert outcomes(1 - 1e-6, 0.5).wait(job_of()).is_updated
    killed = outcomes(0.0366, 0.5, 1.0).wait(job_of())
    assert (killed.ending, killed.delay) == ("KILL", round(math.exp(10.1) * SECOND))
    assert outcomes(0.0368, 0.5).wait(job_of()).ending == "EVICT"
    assert outcomes(0.0371, 0.5).wait(job_of()).ending == "SCHEDULE"
    owed = outcomes(*[0.5] * 2 * FIRST_EVICTED, 0.5, 0.5)
    endings = [owed.wait(job_of()).ending for _ in range(FIRST_EVICTED + 1)]
    assert [number for number, ending in enumerate(endings, 1) if ending == "EVICT"] == [
        FIRST_EVICTED
    ]


def test_chances_of_a_task() -> None:
    assert [outcomes(0.5).retry(tries) for tries in (0, 1, 9, 20)] == [
        n * 75 * SECOND for n in (1, 2, 10, 10)
    ]
    scaled = job_of(scaling="FULLY_AUTOMATED")
    assert [outcomes(0.099).is_updated(scaled), outcomes(0.1).is_updated(scaled)] == [True, False]
    assert [outcomes(2e-4).is_updated(job_of()), outcomes(4e-4).is_updated(job_of())] == [
        True,
        False,
    ]
    assert outcomes(0.5).scale() == 1.0
    assert [outcomes(0.19, 3.6).overrun(), outcomes(0.2).overrun()] == [4 * SECOND, 0]
    assert [outcomes(0.19).names_machine("KILL"), outcomes(0.2).names_machine("KILL")] == [
        False,
        True,
    ]
    assert outcomes().names_machine("FINISH")
    looping = job_of(is_looping=True)
    assert [
        outcomes(0.98).comes_back(looping, "FAIL"),
        outcomes(0.99).comes_back(looping, "FAIL"),
    ] == [True, False]
    # At the chance itself, 98.5 %, it does not come back.
    assert not outcomes(LOOPING).comes_back(looping, "FAIL")
    assert not outcomes(0.0).comes_back(job_of(is_looping=True, is_cancelled=True), "FAIL")
    assert outcomes(0.4).pause("KILL") == 1


def test_pauses_after_a_finish_have_the_measured_median_and_90th_percentile() -> None:
    draws = Scripted(5e6)
    assert Outcomes(GOOGLE_2011, draws).pause("FINISH") == 5_000_000
    ((mean, deviation),) = draws.asked
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
    # .009 of production end within 7,800 s: whatever is asked for, who is to be long lasts two hours.
    assert (
        PRODUCTION.lasting(1.0)
        == PRODUCTION.lasting(7200.0)
        == 1 - PRODUCTION.residual.below(7200.0)
    )


class Log:
    """Notes events and ends of runs."""

    def __init__(self) -> None:
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


def lifecycle(
    *numbers: float,
    end: int = 10**9,
    profile: Any = GOOGLE_2019,
) -> tuple[Lifecycle, Log]:
    life, log = Lifecycle.__new__(Lifecycle), Log()
    life.clock, life.log, life.profile = Clock(end), log, profile  # type: ignore[assignment]
    life.outcomes = Outcomes(GOOGLE_2011, Scripted(*numbers))
    life.scheduler = SimpleNamespace(remove=lambda task: None)  # type: ignore[assignment]
    return life, log


def test_a_cancelled_job_loses_who_runs_and_who_waits() -> None:
    # Overrun, machine and return of the first, which runs; the return of the second, which waits.  The third is
    # between two attempts, and finds its job canceled when it comes.
    life, log = lifecycle(0.5, 0.5, 0.0, 0.0)
    job = job_of(3, id=7)
    job.worst = 0
    job.tasks[0].machine, job.tasks[0].state, job.tasks[1].state, job.tasks[2].state = (
        0,
        "SCHEDULE",
        "ENABLE",
        "FAIL",
    )
    life.cancel(job)
    assert log.events == [("usage", 0, 0), ("KILL", 0, 0), ("KILL", 1, -1)]
    assert (job.alive, job.is_cancelled) == (1, True)
    life.submit(job.tasks[2])
    assert log.events[3:] == [("KILL", 7)]


def test_the_last_window_runs_over_the_end_of_a_run_but_not_of_the_trace() -> None:
    for end, expected in ((10**9, 4 * SECOND + 5), (SECOND, SECOND)):
        life, log = lifecycle(0.1, 4.0, 0.5, 0.0, end=end)
        life.clock.now = 5
        job = job_of(1, id=7, is_cancelled=True)
        job.worst, job.tasks[0].machine = 0, 5
        life.finish(job.tasks[0], 0, "KILL")
        assert log.events[0] == ("usage", 0, expected)


def test_what_was_planned_for_an_earlier_attempt_does_nothing() -> None:
    life, log = lifecycle()
    job = job_of(1)
    job.tasks[0].machine, job.tasks[0].attempt = 5, 2
    life.finish(job.tasks[0], 1, "KILL")
    job.tasks[0].machine = -1
    life.finish(job.tasks[0], 2, "KILL")
    assert log.events == []


def test_a_held_job_follows_another_or_waits_a_while() -> None:
    at: list[tuple[Any, ...]] = []
    clock = SimpleNamespace(now=5, at=lambda *asked: at.append(asked))
    life = SimpleNamespace(clock=clock, release="release")
    relations = Relations(workload(10, profile=GOOGLE_2019), life, Scripted(0.39, 0.0))  # type: ignore[arg-type]
    job, other = job_of(id=1), job_of(id=2)
    relations.hold(job, [other])
    assert (job.is_held, job.after, other.followers, at) == (True, other, [job], [])
    relations.random = Scripted(0.4, 7.4)
    later = job_of(id=3)
    relations.hold(later, [other])
    assert (later.is_held, later.after, at) == (
        True,
        None,
        [(5 + round(7.4 * SECOND), "release", later)],
    )
    # Where there is none to follow nothing is drawn for it.
    relations.random = Scripted(2.0)
    relations.hold(job_of(id=4), [])
    assert at[-1][0] == 5 + 2 * SECOND


def waiting(*numbers: float) -> tuple[Lifecycle, Log, list[tuple[Any, ...]]]:
    """A life cycle at 5 µs, what it logs, and who begins to wait when."""
    life, log = lifecycle(*numbers)
    life.clock.now, waits = 5, list[tuple[Any, ...]]()
    life.wait = lambda task, now: waits.append((task.job.id, task.index, now))  # type: ignore[method-assign]
    return life, log, waits


def test_a_job_that_leaves_the_queue_enables_the_tasks_that_are_queued() -> None:
    life, log, waits = waiting()
    job = job_of(2, id=7, is_held=True)
    job.tasks[0].state, job.tasks[1].state = "QUEUE", "KILL"
    life.release(job)
    assert log.events == [("ENABLE", 7), ("ENABLE", 0, -1)]
    assert (waits, job.is_held) == ([(7, 0, 5)], False)


def test_the_end_of_a_job_releases_its_followers_and_kills_its_children() -> None:
    life, log, waits = waiting()
    follower, child = job_of(1, id=8, is_held=True), job_of(1, id=9)
    follower.tasks[0].state, child.tasks[0].state = "QUEUE", "FAIL"
    job = job_of(
        1,
        id=7,
        worst=0,
        followers=[follower],
        children=[child],
    )
    life.count_out(job, "KILL")
    assert log.events == [("KILL", 7), ("ENABLE", 8), ("ENABLE", 0, -1)]
    assert (waits, child.is_cancelled, job.followers, job.children) == ([(8, 0, 5)], True, [], [])


def planned(life: Lifecycle) -> list[tuple[Any, ...]]:
    """Return what is ahead: when, what, and its arguments after the task."""
    return [
        (time, action.__name__, *arguments[1:]) for time, _, action, arguments in life.clock.planned
    ]


def test_a_wait_ends_as_drawn_and_may_be_updated_halfway() -> None:
    for drawn, expected in (
        (
            Wait("SCHEDULE", 100, True),
            [(57, "update", 3, "UPDATE_PENDING"), (107, "try_to_schedule", 3, 0)],
        ),
        (Wait("EVICT", 100), [(107, "end_wait", 3, "EVICT")]),
    ):
        life, _ = lifecycle()
        life.outcomes = SimpleNamespace(wait=lambda job, drawn=drawn: drawn)  # type: ignore[assignment]
        task = job_of().tasks[0]
        task.attempt = 3
        life.wait(task, 7)
        assert planned(life) == expected


def test_an_eviction_is_owed_where_its_task_no_longer_waits() -> None:
    # Whether the task comes back; here its job is canceled.
    life, log = lifecycle(0.5)
    (task,) = (job := job_of(id=7, is_cancelled=True)).tasks
    job.worst = 0
    life.end_wait(task, 0, "EVICT")
    assert log.events == [("EVICT", 0, -1), ("EVICT", 7)]
    assert not life.outcomes.owes_eviction
    life.end_wait(task, 0, "KILL")
    assert not life.outcomes.owes_eviction
    # That attempt is over.
    life.end_wait(task, 0, "EVICT")
    assert (life.outcomes.owes_eviction, len(log.events)) == (True, 2)


def test_a_run_ends_as_drawn_and_may_be_updated_halfway() -> None:
    for residual, since in ((False, 7), (True, TRACE_START)):
        life, log = lifecycle(end=10**12)
        life.clock.now = 7
        life.outcomes = SimpleNamespace(  # type: ignore[assignment]
            run=lambda job, residual: (9000.0, "FAIL"), is_updated=lambda job: True
        )
        (task,) = (job := job_of(id=7)).tasks
        task.machine = 5
        life.begin(task, residual)
        life.begin(task, residual)
        # A job is scheduled once, with the first run of any of its tasks.
        assert log.events == [("SCHEDULE", 7), *[("SCHEDULE", 0, 5), ("begins", 0)] * 2]
        assert job.is_scheduled
        ends, updates = since + 9000 * SECOND, since + 4500 * SECOND
        assert (
            planned(life)
            == [(updates, "update", 0, "UPDATE_RUNNING")] * 2 + [(ends, "finish", 0, "FAIL")] * 2
        )


def test_only_those_who_may_evict_do() -> None:
    """From the profile's priority on; else the task waits and tries again."""
    for priority, expected in ((GOOGLE_2019.evicting - 1, []), (GOOGLE_2019.evicting, [0])):
        life, _ = lifecycle()
        life.scheduler = SimpleNamespace(choose=lambda task: -1, add=lambda task: None)  # type: ignore[assignment]
        life.outcomes = SimpleNamespace(retry=lambda tries: 50)  # type: ignore[assignment]
        life.make_room = lambda task: 0  # type: ignore[method-assign]
        begun: list[int] = []
        life.begin = lambda task, begun=begun: begun.append(task.machine)  # type: ignore[misc,assignment]
        task = job_of().tasks[0]
        task.job.priority = priority
        life.try_to_schedule(task, 0, 2)
        assert begun == expected
        assert planned(life) == ([] if begun else [(50, "try_to_schedule", 0, 3)])


def test_parents_are_alive_and_not_cancelled() -> None:
    relations = Relations(workload(10, profile=GOOGLE_2019), SimpleNamespace(), Scripted(0.5))  # type: ignore[arg-type]
    over, cancelled, alive = job_of(id=1), job_of(id=2, is_cancelled=True), job_of(id=3)
    over.alive = 0
    relations.recent.extend([over, cancelled])
    orphan, child = job_of(id=4), job_of(id=5)
    # Only the vertical scaling is drawn: there is no parent to choose.
    relations.relate(orphan)
    assert orphan.parent is None
    relations.recent.remove(orphan)
    relations.recent.append(alive)
    relations.random = Scripted(0.5, 0.34, 0.99)
    relations.relate(child)
    assert child.parent is alive
    assert alive.children == [child]
    assert child in relations.recent
