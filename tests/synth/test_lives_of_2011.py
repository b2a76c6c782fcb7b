"""How jobs of 2011 live: plans by hand, and the events of a small cell."""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

import pytest

from borgtrace.schema.time import BEFORE_TRACE, HOUR, SECOND, TRACE_START
from borgtrace.synth.model.draws import QuantileCurve
from borgtrace.synth.model.jobs import Job
from borgtrace.synth.model.lives import (
    LONGEST_FINISH,
    MONTH,
    SHORTEST_FINISH,
    JobPlan,
    looping_plan,
    service_plan,
)
from borgtrace.synth.model.machines import draw_machines
from borgtrace.synth.model.outcomes import Outcomes
from borgtrace.synth.options import part_bounds
from borgtrace.synth.simulate.event_log import CollectionEvent, InstanceEvent
from borgtrace.synth.simulate.simulation import Simulation
from tests.synth.scripted import FREE, GOOGLE_2011, PRODUCTION, Fixed, ScriptedRandom, job_of

ALWAYS = (1.0,) * 6


def run(plan: JobPlan, u: float, *numbers: float) -> tuple[float, str]:
    outcomes = Outcomes(GOOGLE_2011, ScriptedRandom(*numbers))
    outcomes.lengths["free"] = Fixed(u)
    return outcomes.run(job_of(plan=plan), residual=False)


def test_no_task_finishes_within_eight_seconds_nor_after_nine_days() -> None:
    # From 4 to 16,000,000 s, straight in the logarithm: the middle is 8,000 s.
    curve = QuantileCurve((0.0, 1.0), (4.0, 16e6))
    plan = JobPlan(curve, {"FINISH": ALWAYS})
    assert run(plan, 0.0, 0.5, 0.5) == (2 * 8.4 - 4.0, "FINISH")
    assert run(plan, 0.5, 0.5, 0.5) == (pytest.approx(8000.0), "FINISH")
    assert run(plan, 1.0, 0.5, 0.5) == (8.969 * 86400, "FINISH")
    assert run(JobPlan(curve, {"KILL": ALWAYS}), 0.0, 0.5, 0.5) == (4.0, "KILL")


def test_runs_of_a_job_are_alike() -> None:
    curve = QuantileCurve((0.0, 1.0), (1.0, math.e**10))
    # A tenth around .03: below 0 it is mirrored.
    plan = JobPlan(curve, {}, middle=0.03, width=0.1)
    assert plan.seconds(1.0) == pytest.approx(math.e**0.8)
    assert plan.seconds(0.0) == pytest.approx(math.e**0.2)


def test_six_services_of_ten_outlive_a_month() -> None:
    # 2,331 of 3,986 jobs span the trace.
    assert service_plan(PRODUCTION.residual, {}, 1 - 0.58).lifetime == pytest.approx(MONTH)
    assert service_plan(PRODUCTION.residual, {}, 0.0).lifetime == 0.0


@pytest.mark.parametrize("kind", ["FAIL", "EVICT", "KILL", "FINISH"])
def test_the_tasks_of_services_always_come_back_unless_the_job_is_killed(kind: str) -> None:
    plan = service_plan(PRODUCTION.residual, {}, 0.5)
    assert Outcomes(GOOGLE_2011, ScriptedRandom(0.9999)).comes_back(job_of(plan=plan), kind)
    killed = job_of(plan=plan, is_cancelled=True)
    assert not Outcomes(GOOGLE_2011, ScriptedRandom(0.0)).comes_back(killed, kind)


def test_what_loops_fails_until_the_job_is_killed() -> None:
    plan = looping_plan(3600.0)
    assert run(plan, 0.5, 0.5, 0.5) == (pytest.approx(120.0), "FAIL")
    looping = Outcomes(GOOGLE_2011, ScriptedRandom(0.9999))
    assert looping.comes_back(job_of(plan=plan), "FAIL")
    assert plan.lifetime == 3600.0


class Life(NamedTuple):
    """What happened in a cell of 60 machines over 48 hours."""

    jobs: list[CollectionEvent]
    tasks: list[InstanceEvent]


@pytest.fixture(scope="module")
def life() -> Life:
    bounds = part_bounds(48.0, None)
    machines = draw_machines(GOOGLE_2011, 60, 2)
    simulation = Simulation(GOOGLE_2011, machines, 48.0, 2, bounds)
    cell = Life([], [])
    for segment in simulation.segments():
        cell.jobs.extend(segment.collections)
        cell.tasks.extend(segment.instances)
    return cell


def running(life: Life, tier: str, time: int) -> int:
    """Return how many tasks of a tier run at a time."""
    total = 0
    has_run: set[int] = set()
    for event in life.tasks:
        if event.time > time or event.task.job.tier.name != tier:
            continue
        serial = event.task.serial
        if event.type == "SCHEDULE":
            has_run.add(serial)
            total += 1
        elif serial in has_run and event.type in ("EVICT", "FAIL", "FINISH", "KILL", "LOST"):
            has_run.discard(serial)
            total -= 1
    return total


def test_production_does_not_drain(life: Life) -> None:
    """Before, a cell lost more than half of it in a month: 4.49 tasks per machine became 2.05."""
    start = running(life, "production", TRACE_START)
    assert start == round(56_053 / 12_477 * 60)
    for hour in (24, 47):
        now = running(life, "production", TRACE_START + hour * HOUR)
        assert now == pytest.approx(start, rel=0.1)


def test_all_rows_name_the_machines_that_real_ones_name(life: Life) -> None:
    named = ("SCHEDULE", "EVICT", "FAIL", "FINISH")
    assert all(event.machine >= 0 for event in life.tasks if event.type in named)
    assert any(event.type == "EVICT" and event.before == "SUBMIT" for event in life.tasks)


def test_tasks_that_want_a_machine_each_have_it_at_the_start(life: Life) -> None:
    machines: dict[int, list[int]] = {}
    for event in life.tasks:
        if event.time == BEFORE_TRACE and event.type == "SCHEDULE" and event.task.job.different:
            machines.setdefault(event.task.job.id, []).append(event.machine)
    assert sum(map(len, machines.values())) > 50
    assert all(len(set(used)) == len(used) for used in machines.values())


def test_jobs_are_short_and_many_are_killed(life: Life) -> None:
    """Of all jobs 50.6 % last less than 3 minutes and 96.9 % less than 2 hours; 40.5 % are killed."""
    begin: dict[int, int] = {}
    seconds: dict[int, float] = {}
    ends: Counter[str] = Counter()
    for event in life.jobs:
        if event.type == "SCHEDULE" and event.time > TRACE_START:
            begin[event.job.id] = event.time
        elif event.job.id in begin and event.type not in ("SUBMIT", "SCHEDULE"):
            seconds[event.job.id] = (event.time - begin[event.job.id]) / SECOND
            ends[event.type] += 1
    # Some 250 jobs: shares of them scatter by .03, and before they were .18, .64 and .41.
    assert len(begin) > 200
    assert sum(s < 180 for s in seconds.values()) / len(begin) == pytest.approx(0.506, abs=0.12)
    assert sum(s < 7200 for s in seconds.values()) / len(begin) > 0.85
    assert ends["KILL"] / ends.total() == pytest.approx(0.405, abs=0.1)


def test_finished_runs_last_at_least_eight_seconds(life: Life) -> None:
    begin: dict[int, int] = {}
    runs = []
    for event in life.tasks:
        if event.type == "SCHEDULE":
            begin[event.task.serial] = event.time
        elif event.type == "FINISH" and begin[event.task.serial] > TRACE_START:
            runs.append((event.time - begin[event.task.serial]) / SECOND)
    assert len(runs) > 1000
    assert min(runs) >= SHORTEST_FINISH - 1e-6
    assert max(runs) <= LONGEST_FINISH


def test_resubmissions_concentrate_in_two_episodes(life: Life) -> None:
    """Episodes are a 29th of the trace each: days 1 and 9 of a month."""
    failures = Counter(
        int(29 * (event.time - TRACE_START) / (48 * HOUR))
        for event in life.tasks
        if event.type == "FAIL"
    )
    busiest = {part for part, _ in failures.most_common(2)}
    assert busiest == {1, 9}


def test_a_service_that_is_over_is_followed_by_another(life: Life) -> None:
    services = [event for event in life.jobs if _is_service(event.job)]
    over = {event.job.id: event for event in services if event.type == "KILL"}
    followers = [event for event in services if event.type == "SUBMIT" and event.time > TRACE_START]
    assert over
    assert len(followers) >= len(over) - 2
    for event in followers:
        assert event.job.tier is PRODUCTION
    assert FREE.lives is not None


def _is_service(job: Job) -> bool:
    return job.plan is not None and job.plan.is_service
