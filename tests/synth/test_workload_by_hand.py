"""When jobs come, how large they are and what they use, with the draws given."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest

from borgtrace.schema.time import HOUR, TRACE_START
from borgtrace.synth.model.arrivals import JobArrivals
from borgtrace.synth.model.classes import CLASSES
from borgtrace.synth.model.consumption import Consumption
from borgtrace.synth.model.draws import BalancedStrata
from borgtrace.synth.model.job_sizes import JobSizes, tail_at
from borgtrace.synth.model.profile import Profile
from borgtrace.synth.model.workload import LARGE
from borgtrace.synth.simulate.event_log import CollectionEvent, InstanceEvent
from borgtrace.synth.write.event_rows import collection_row, instance_row
from tests.rows import chosen_columns
from tests.synth.scripted import (
    BEB,
    GOOGLE_2011,
    GOOGLE_2019,
    ScriptedGenerator,
    ScriptedRandom,
    job_of,
    workload,
)


def arrivals(*numbers: float) -> JobArrivals:
    drawn = JobArrivals(GOOGLE_2011, 20, 2.0, 1, ScriptedRandom())
    drawn.random = ScriptedRandom(*numbers)
    return drawn


def test_the_season_is_a_day_and_a_week_and_how_busy_the_hour_is() -> None:
    drawn = arrivals()
    drawn.hourly = np.array([1.0, 2.0, 3.0])
    # At hour 60 the week is at its top, and the day 55 hours after its; the last hour's factor goes on.
    day = 1 + 0.15 * math.cos(2 * math.pi * 55 / 24)
    assert drawn.season(60.0) == pytest.approx(3 * day * 1.1)
    # The first hour's factor holds before it.
    day = 1 + 0.15 * math.cos(2 * math.pi * 10 / 24)
    week = 1.1 - 0.2 * 0.8487
    assert drawn.season(-5.0) == pytest.approx(day * week, rel=0.01)
    # Half a week on it is at its bottom.
    day = 1 + 0.15 * math.cos(2 * math.pi * 142 / 24)
    assert drawn.season(147.0) == pytest.approx(3 * 0.9 * day)
    # Within an hour the season is smooth.
    assert drawn.season(1.9) == pytest.approx(drawn.season(1.9 - 1e-9), rel=1e-6)


def test_four_gaps_in_ten_are_bursts() -> None:
    burst = arrivals(0.39, 2500.7)
    assert burst.after(TRACE_START) == TRACE_START + 1 + 2500
    drawn = arrivals(0.4, 0.5)
    # So busy that the season at the start is 2.
    drawn.hourly = np.array([1.0])
    drawn.hourly = 2.0 / np.array([drawn.season(0.0)])
    assert drawn.after(TRACE_START) == TRACE_START + 1 + HOUR // 2
    rate = GOOGLE_2011.jobs_per_hour * 20 * 2 * 0.6
    assert drawn.random.calls == [(pytest.approx(rate),)]


def sizes(*numbers: float, profile: Profile = GOOGLE_2019) -> JobSizes:
    """The sizes in a cell of 20 machines; 2019 says nothing of the mean size of its jobs."""
    return JobSizes(profile, 20, 1, ScriptedRandom(*numbers))


def test_sizes_of_jobs() -> None:
    def size(share: float, *numbers: float) -> int:
        several = BEB.single + (1 - BEB.single) * share
        return sizes(several, *numbers).draw(BEB)

    assert sizes(BEB.single - 1e-9).draw(BEB) == 1
    # Frequent sizes first, then a few tasks, then the tail from ten up to ten times the machines.
    assert size(0.19, 0.0) == 2
    assert size(0.21, 7) == 7
    assert size(0.46, 1e-9) in (9, 10)
    assert size(0.46, 1 - 1e-12) == 200


def test_a_few_tasks_are_two_to_ten() -> None:
    few = sizes(BEB.single + (1 - BEB.single) * 0.44, 10)
    assert few.draw(BEB) == 10
    assert few.random.calls == [(2, 10)]  # type: ignore[attr-defined]
    # A fifth of the jobs with several tasks have frequent sizes: at .2 itself these are over.
    several = sizes(0.2, 7)
    assert several.draw(replace(BEB, single=0.0)) == 7
    assert several.random.calls == [(2, 10)]  # type: ignore[attr-defined]


def test_the_tail_of_sizes_has_two_exponents_and_an_end() -> None:
    # (10 / 1,000)^.585 of the tail, 6.76 %, lies above a thousand; there an exponent of 1 up to 9,000 has its
    # median where half of 1 − 1/9 is left: 1 / (1 − 4/9) thousand.
    above = 0.01**0.585
    assert tail_at(0.0, 9000.0, 1.5) == pytest.approx(10.0)
    assert tail_at(1.0 - above, 9000.0, 1.5) == pytest.approx(1000.0)
    assert tail_at(1.0 - above / 2, 9000.0, 1.0) == pytest.approx(1800.0)
    assert tail_at(1.0, 9000.0, 1.5) == pytest.approx(9000.0)
    # A small cell has no job above the knee: half of what (10 / 100)^.585 leaves.
    left = 1.0 - 0.5 * (1.0 - 0.1**0.585)
    assert tail_at(0.5, 100.0, 1.5) == pytest.approx(10.0 * left ** (-1 / 0.585))


@pytest.mark.parametrize("machines", [1000, 12_500])
def test_a_job_of_2011_has_as_many_tasks_in_a_cell_of_any_size(machines: int) -> None:
    """Over the month, a job has 37.83 tasks; a fifth of the draws are enough, since they are even."""
    drawn = JobSizes(GOOGLE_2011, machines, 1, random.Random(1))
    assert drawn.mean(drawn.exponent) == pytest.approx(37.83, rel=0.001)
    assert drawn.largest == min(10 * machines, 90_050)
    mean = 0.0
    for tier in GOOGLE_2011.tiers:
        mean += tier.jobs * np.mean([drawn.draw(tier) for _ in range(10_000)])
    assert mean == pytest.approx(37.83, rel=0.05)


def test_different_machines_are_asked_for_where_there_are_twice_as_many() -> None:
    cell = workload(10)
    assert [size for size in (0, 1, 2, 5, 6) if cell.may_differ(size)] == [2, 5]


def test_an_alloc_set_is_somewhat_larger_than_its_job() -> None:
    cell = workload(10, profile=GOOGLE_2019)
    guest = cell.new_job(BEB, 2)
    guest.wave = 0.5
    guest.phase = 1.5
    guest.user = 77
    host = cell.alloc_set(guest)
    assert host.is_alloc_set
    assert host.guest is guest
    assert guest.host is host
    assert host.cpu == pytest.approx(1.3 * guest.cpu)
    assert host.memory == pytest.approx(1.4 * guest.memory)
    assert (host.wave, host.phase, host.user) == (0.5, 1.5, 77)
    assert (host.is_looping, host.constraints) == (False, ())
    assert (guest.constraints, guest.allowed, guest.different) == ((), None, False)
    for task, inside in zip(host.tasks, guest.tasks, strict=True):
        assert task.level == pytest.approx(min(1.08 * inside.level, 0.5))
        assert task.memory == pytest.approx(1.15 * inside.memory)
        assert task.kind == inside.kind


def test_requests_and_use_are_alike_by_their_scores() -> None:
    # Weights .94 and √(1 − .94²) keep a mixture of two standard normal scores standard normal.
    score = workload().consumption.mixed_scores
    assert score(1.0, np.array([0.5])) == pytest.approx(0.94)
    assert score(0.0, np.array([0.8413447])) == pytest.approx(0.341174, abs=1e-5)


def test_what_a_task_of_2019_uses_is_a_share_of_its_request() -> None:
    task_random = ScriptedGenerator(
        # Of CPU and of memory; then whether memory exceeds its request, and what a short task uses of both.
        standard_normal=[[2.0], [1.0]],
        random=[[0.95], [1.0], [1.0]],
    )
    consumption = Consumption(GOOGLE_2019, ScriptedRandom(0.0), task_random)  # type: ignore[arg-type]
    job = job_of(1, 0.01, 0.02, tier=BEB)
    use = consumption.draw(job, np.array([0.5]))
    level = 0.01 * BEB.cpu_use * math.exp(0.2)
    assert use.level == [pytest.approx(min(level, 0.02))]
    ratio = BEB.memory_use * math.exp(0.1)
    assert use.memory == [pytest.approx(0.02 * min(max(ratio, 0.02), 0.98))]
    assert use.short_kind == use.kind
    # The largest shares of the request, a quarter above it.
    assert use.short_cpu == [pytest.approx(1.25 * 0.01 / use.level[0])]
    assert use.short_memory == [pytest.approx(1.25 * 0.02 / use.memory[0])]


def test_rows_of_jobs() -> None:
    job = job_of(
        different=True,
        is_batch=True,
        parent=job_of(id=9),
    )
    row = collection_row(CollectionEvent(5, "SUBMIT", job))
    expected = {
        "max_per_machine": 1,
        "scheduler": "BATCH",
        "parent_collection_id": 9,
    }
    assert chosen_columns(row, expected) == expected
    follower = job_of(after=job_of(id=8))
    row = collection_row(CollectionEvent(5, "SUBMIT", follower))
    assert row["max_per_machine"] is None
    assert row["scheduler"] == "DEFAULT"
    assert row["start_after_collection_ids"] == [8]
    assert row["parent_collection_id"] is None


class RecordingStrata(BalancedStrata):
    """Returns prescribed places, and keeps what was to be placed below which limit."""

    def __init__(self, *places: float) -> None:
        super().__init__()
        self.places = list(places)
        self.placed: list[tuple[float, float]] = []

    def place(
        self,
        u: float,
        mass: float,
        below: float = 1.0,
    ) -> float:
        self.placed.append((mass, below))
        return self.places.pop(0)


def test_requests_of_large_jobs_are_spread_below_what_the_cell_has() -> None:
    cell = workload(10)
    strata = RecordingStrata(0.5, 0.0, 1.0)
    cell.requests = strata
    limit = math.exp(sum(GOOGLE_2011.request))
    scores = [cell.request_score(LARGE, limit) for _ in range(3)]
    # A place at either end has a score of a millionth, not an infinite one.
    assert scores == pytest.approx([0.0, -4.753424, 4.753424])
    # The limit is e^(mean + deviation): 84.13 % of a normal score lie below it.
    assert strata.placed == [(LARGE, pytest.approx(0.8413447))] * 3


def test_places_at_the_ends_of_a_class_stay_inside_it() -> None:
    places = CLASSES.at(np.array([0.0, 1.0]))
    assert places.kinds.tolist() == [CLASSES.order[0], CLASSES.order[-1]]
    assert places.inside.tolist() == [1e-6, 1 - 1e-6]


@pytest.mark.parametrize(
    ("cpu", "memory", "cpu_request", "memory_request"),
    [
        (0.75, 0.25, 1.0, 0.375),
        (0.25, 0.75, 0.375, 1.0),
    ],
)
def test_an_update_asks_for_no_more_than_the_largest_machine(
    cpu: float,
    memory: float,
    cpu_request: float,
    memory_request: float,
) -> None:
    task = job_of(cpu=cpu, memory=memory).tasks[0]
    event = InstanceEvent(TRACE_START, "UPDATE_PENDING", task, "SUBMIT", scale=1.5)
    row = instance_row(event, workload().machines)
    assert row["cpu_request"] == cpu_request
    assert row["memory_request"] == memory_request
