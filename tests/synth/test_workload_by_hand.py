"""When jobs come, how large they are and what they use, with the draws given."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from borgtrace.schema.time import HOUR, SECOND, TRACE_START
from borgtrace.synth.model.arrivals import JobArrivals
from borgtrace.synth.model.classes import CLASSES
from borgtrace.synth.model.consumption import EASY, EMPTY, IDLE, Consumption, use_little
from borgtrace.synth.model.jobs import Job
from borgtrace.synth.model.workload import LARGE
from borgtrace.synth.simulate.event_log import CollectionEvent, InstanceEvent
from borgtrace.synth.write.event_rows import collection_row, instance_row
from tests.synth.scripted import (
    BEB,
    FREE,
    GOOGLE_2011,
    GOOGLE_2019,
    OTHER,
    Scripted,
    job_of,
    workload,
)


def arrivals(*numbers: float) -> JobArrivals:
    found = JobArrivals(GOOGLE_2011, 20, 2.0, 1, Scripted())
    found.random = Scripted(*numbers)
    return found


def test_the_season_is_a_day_and_a_week_and_how_busy_the_hour_is() -> None:
    found = arrivals()
    found.hourly = np.array([1.0, 2.0, 3.0])
    # At hour 60 the week is at its top and the day 55 hours after its; before the first and after the last hour theirs.
    day, week = 1 + 0.15 * math.cos(2 * math.pi * 55 / 24), 1.1
    assert found.season(60.0) == pytest.approx(3 * day * week)
    assert found.season(-5.0) == pytest.approx(
        (1 + 0.15 * math.cos(2 * math.pi * 10 / 24)) * (1.1 - 0.2 * 0.8487), rel=0.01
    )
    # Half a week on it is at its bottom.
    assert found.season(147.0) == pytest.approx(
        3 * 0.9 * (1 + 0.15 * math.cos(2 * math.pi * 142 / 24))
    )
    assert found.season(1.9) / found.season(1.9 - 1e-9) == pytest.approx(1, abs=1e-6)


def test_four_gaps_in_ten_are_bursts() -> None:
    found = arrivals(0.39, 2500.7)
    assert found.after(TRACE_START) == TRACE_START + 1 + 2500
    found = arrivals(0.4, 0.5)
    found.season = lambda hour: 2.0  # type: ignore[method-assign]
    assert found.after(TRACE_START) == TRACE_START + 1 + HOUR // 2
    assert found.random.asked == [(pytest.approx(GOOGLE_2011.jobs_per_hour * 20 * 2 * 0.6),)]


def test_sizes_of_jobs() -> None:
    def size(share: float, *numbers: float) -> int:
        return arrivals(OTHER.single + (1 - OTHER.single) * share, *numbers).size(OTHER)

    assert arrivals(OTHER.single - 1e-9).size(OTHER) == 1
    # Frequent sizes first, then a few tasks, then the tail from ten up to ten times the machines.
    assert size(0.19, 0.0) == 2
    assert size(0.21, 7) == 7
    few = arrivals(OTHER.single + (1 - OTHER.single) * 0.44, 10)
    assert (few.size(OTHER), few.random.asked) == (10, [(2, 10)])
    assert size(0.46, 1e-9) in (9, 10)
    assert size(0.46, 1 - 1e-12) == 200
    # A fifth of them are frequent sizes: at .2 itself it is over.
    several = arrivals(0.2, 7)
    assert (several.size(replace(OTHER, single=0.0)), several.random.asked) == (7, [(2, 10)])


def test_different_machines_are_asked_for_where_there_are_twice_as_many() -> None:
    cell = workload(10)
    assert [cell.may_differ(size) for size in (0, 1, 2, 5, 6)] == [False, False, True, True, False]


def test_an_alloc_set_is_somewhat_larger_than_its_job() -> None:
    cell = workload(10, profile=GOOGLE_2019)
    guest = cell.new_job(BEB, 2)
    guest.wave, guest.phase, guest.user = 0.5, 1.5, 77
    host = cell.alloc_set(guest)
    assert host.is_alloc_set
    assert (host.guest, guest.host) == (guest, host)
    assert (host.cpu, host.memory) == (
        pytest.approx(1.3 * guest.cpu),
        pytest.approx(1.4 * guest.memory),
    )
    assert (host.wave, host.phase, host.user, host.is_looping, host.constraints) == (
        0.5,
        1.5,
        77,
        False,
        (),
    )
    assert (guest.constraints, guest.allowed, guest.different) == ((), None, False)
    for mine, inside in zip(host.tasks, guest.tasks, strict=True):
        assert (mine.level, mine.kind) == (
            pytest.approx(min(1.08 * inside.level, 0.5)),
            inside.kind,
        )
        assert mine.memory == pytest.approx(1.15 * inside.memory)


def test_requests_and_use_are_alike_by_their_scores() -> None:
    # Weights .94 and √(1 − .94²) keep a mixture of two standard normal scores standard normal.
    score = workload().consumption.mixed_scores
    assert score(1.0, np.array([0.5])) == pytest.approx(0.94)
    assert score(0.0, np.array([0.8413447])) == pytest.approx(0.341174, abs=1e-5)


def test_what_a_task_of_2019_uses_is_a_share_of_its_request() -> None:
    own, other, chances = [2.0], [1.0], [0.95]
    draws = [own, other]
    rng = SimpleNamespace(
        standard_normal=lambda n: np.array(draws.pop(0)), random=lambda n: np.array(chances)
    )
    asked = Job(
        BEB,
        1,
        0.01,
        0.02,
        103,
        0,
        False,
    )
    columns = Consumption(GOOGLE_2019, Scripted(0.0), rng).draw(asked, np.array([0.5]))  # type: ignore[arg-type]
    (level,), (memory,), (kind,), (short_kind,), (short_cpu,), (short_memory,) = columns
    assert level == pytest.approx(min(0.01 * BEB.cpu_use * math.exp(0.2), 0.02))
    assert memory == pytest.approx(0.02 * min(max(BEB.memory_use * math.exp(0.1), 0.02), 1.05))
    assert (kind, short_cpu, short_memory) == (short_kind, EASY, 1.0)


def test_only_short_tasks_of_2011_use_little() -> None:
    for tier, expected in ((FREE, (7, IDLE, EMPTY)), (BEB, (0, 1.0, 1.0))):
        task = job_of(tier=tier).tasks[0]
        task.short_kind, task.short_cpu, task.short_memory = 7, IDLE, EMPTY
        use_little(task, 0, 300 * SECOND)
        assert (task.kind, task.cpu_share, task.memory_share) == expected


def test_rows_of_jobs() -> None:
    row = collection_row(
        CollectionEvent(
            5,
            "SUBMIT",
            job_of(
                different=True,
                is_batch=True,
                parent=job_of(id=9),
            ),
        )
    )
    assert (row["max_per_machine"], row["scheduler"], row["parent_collection_id"]) == (
        1,
        "BATCH",
        9,
    )
    row = collection_row(CollectionEvent(5, "SUBMIT", job_of(after=job_of(id=8))))
    assert (row["max_per_machine"], row["scheduler"], row["start_after_collection_ids"]) == (
        None,
        "DEFAULT",
        [8],
    )
    assert row["parent_collection_id"] is None


def test_requests_of_large_jobs_are_spread_below_what_the_cell_has() -> None:
    # The limit is e^(mean + deviation): 84.13 % of a normal score lie below it.
    cell, asked = workload(10), []

    def place(
        u: float,
        size: int,
        below: float,
    ) -> float:
        asked.append((size, below))
        return [0.5, 0.0, 1.0][len(asked) - 1]

    cell.requests = SimpleNamespace(place=place)  # type: ignore[assignment]
    limit = math.exp(sum(GOOGLE_2011.request))
    # A place at either end has a score of a millionth, not an infinite one.
    assert [cell.request_score(LARGE, limit) for _ in range(3)] == pytest.approx(
        [0.0, -4.753424, 4.753424]
    )
    assert asked == [(LARGE, pytest.approx(0.8413447))] * 3


def test_places_at_the_ends_of_a_class_stay_inside_it() -> None:
    (first, last), inside = CLASSES.at(np.array([0.0, 1.0]))
    assert (first, last) == (CLASSES.order[0], CLASSES.order[-1])
    assert inside.tolist() == [1e-6, 1 - 1e-6]


def test_an_update_asks_for_no_more_than_the_largest_machine() -> None:
    for cpu, memory, asked in ((0.75, 0.25, (1.0, 0.375)), (0.25, 0.75, (0.375, 1.0))):
        task = job_of(cpu=cpu, memory=memory).tasks[0]
        row = instance_row(
            InstanceEvent(TRACE_START, "UPDATE_PENDING", task, "SUBMIT", scale=1.5),
            workload().machines,
        )
        assert (row["cpu_request"], row["memory_request"]) == asked
