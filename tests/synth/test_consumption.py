"""Places in the order of use: the published classes hold over tasks, although a few jobs own most of them."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest

from borgtrace.synth.model.classes import CLASSES
from borgtrace.synth.model.consumption import OVERUSE, Consumption, settle_use
from borgtrace.synth.model.draws import BalancedStrata, Stratified
from borgtrace.synth.model.hashing import generator
from borgtrace.synth.model.profile import Profile, Tier
from tests.synth.scripted import (
    BEB,
    FREE,
    GOOGLE_2011,
    GOOGLE_2019,
    OTHER,
    PRODUCTION,
    job_of,
    workload,
)

WINDOW = 300_000_000
UNLIKE = replace(FREE, overuse=math.inf, failing_use_little=False, steady=0.0)
"""As a cell that is made like a store has it."""
PUBLISHED_SHARES = [row.share for row in CLASSES.rows]


def consumption(seed: int, profile: Profile = GOOGLE_2011) -> Consumption:
    return Consumption(profile, random.Random(seed), generator(seed, "tasks"))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_classes_of_the_tasks_alive_at_the_start_have_their_published_shares(seed: int) -> None:
    cell = workload(300, seed)
    mass = np.zeros(len(CLASSES.rows))
    for job in cell.alive_jobs():
        for task in job.tasks:
            mass[task.kind] += job.tier.lasting(24 * 3600.0)
    percentages = 100 * mass / mass.sum()
    assert percentages == pytest.approx(PUBLISHED_SHARES, abs=0.3)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_large_new_job_has_tasks_of_many_classes_a_small_one_of_few(seed: int) -> None:
    drawn = consumption(seed)

    def n_classes(size: int) -> int:
        job = job_of(size, 0.0178, 0.01, tier=OTHER)
        use = drawn.draw(job, drawn.place_new(job))
        return len(set(use.kind))

    assert n_classes(4000) >= 10
    assert n_classes(8) <= 3


def test_places_of_the_tasks_alive_are_spread_evenly_by_weight() -> None:
    jobs = [job_of(3, 0.01, 0.01), job_of(1, 0.01, 0.01)]
    places = consumption(0).place_alive(jobs, [1.0, 3.0])
    # Six units of weight: three tasks of one and one of three, whichever comes first; middles of their shares.
    twelfths = 12 * np.sort(np.concatenate(places))
    assert twelfths.round(9).tolist() in (
        [1, 3, 5, 9],
        [3, 7, 9, 11],
        [1, 5, 9, 11],
        [1, 3, 7, 11],
    )


def test_no_task_uses_more_than_twice_its_request() -> None:
    for job in workload(300, 1).alive_jobs():
        largest = max(task.level for task in job.tasks)
        assert largest <= OVERUSE * job.cpu


def test_class_and_level_have_nothing_to_do_with_each_other_in_2019() -> None:
    drawn = consumption(1, GOOGLE_2019)
    jobs = [job_of(1, 0.01, 0.01, tier=BEB)] * 4000
    kinds: list[int] = []
    levels: list[float] = []
    for job, places in zip(jobs, drawn.place_alive(jobs, [1.0] * 4000), strict=True):
        use = drawn.draw(job, places)
        kinds += use.kind
        levels += use.level
    percentages = np.bincount(kinds, minlength=len(CLASSES.rows)) / 40
    assert percentages == pytest.approx(PUBLISHED_SHARES, abs=0.5)
    correlation = np.corrcoef(kinds, np.log(levels))[0, 1]
    assert abs(correlation) < 0.05


@pytest.mark.parametrize(
    ("start", "end", "is_short"),
    [
        (0, 23 * WINDOW, True),
        (0, 23 * WINDOW + 1, False),
        (WINDOW - 1, 24 * WINDOW, False),
    ],
)
def test_a_run_is_short_if_it_has_fewer_windows_than_a_long_task(
    start: int,
    end: int,
    is_short: bool,
) -> None:
    (task,) = job_of(tier=FREE).tasks
    task.short_cpu = 0.25
    settle_use(task, start, end, fails=False, was_running=False)
    assert (task.cpu_share == 0.25) == is_short


DAY = 288 * WINDOW


@pytest.mark.parametrize(
    ("tier", "end", "fails", "was_running", "expected"),
    [
        # What it uses of its CPU, how likely it is steady, and its largest CPU ÷ requested.
        (FREE, 10 * WINDOW, False, False, (0.25, 1.0, OVERUSE)),
        (FREE, 10 * WINDOW, False, True, (1.0, 0.0, math.inf)),
        (FREE, 100 * WINDOW, False, False, (1.0, 0.0, math.inf)),
        (FREE, 100 * WINDOW, True, False, (0.25, 1.0, OVERUSE)),
        (FREE, DAY, False, False, (1.0, FREE.steady, math.inf)),
        (FREE, DAY, True, True, (0.25, 1.0, OVERUSE)),
        # Production uses as much where it is going to fail.
        (PRODUCTION, 100 * WINDOW, True, False, (1.0, 1.0, OVERUSE)),
        (PRODUCTION, DAY, False, True, (1.0, PRODUCTION.steady, math.inf)),
        # A cell like a store has the usage of the store.
        (UNLIKE, 100 * WINDOW, True, False, (1.0, 0.0, math.inf)),
        (UNLIKE, DAY, False, False, (1.0, 0.0, math.inf)),
        # In 2019 the tier determines the use.
        (BEB, 10 * WINDOW, True, False, (1.0, 0.0, math.inf)),
    ],
)
def test_what_a_task_uses_depends_on_how_long_it_runs_and_how_it_ends(
    tier: Tier,
    end: int,
    fails: bool,
    was_running: bool,
    expected: tuple[float, float, float],
) -> None:
    (task,) = job_of(tier=tier).tasks
    task.short_cpu = 0.25
    settle_use(task, 0, end, fails=fails, was_running=was_running)
    assert (task.cpu_share, task.steadiness, task.overuse) == expected


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_short_tasks_peak_as_the_published_histograms_say(seed: int) -> None:
    drawn = consumption(seed)
    job = job_of(5000, 0.02, 0.01, tier=OTHER)
    use = drawn.draw(job, drawn.place_new(job))
    cpu = np.array(use.level) * np.array(use.short_cpu) / job.cpu
    memory = np.array(use.memory) * np.array(use.short_memory) / job.memory
    # 58.7 % of the tasks that stay within their requests peak below 5 % of the one for CPU, 46.6 % for memory; of all
    # tasks 4 % are meant to exceed the one and 3.36 % the other.
    peak_of_cpu, peak_of_memory = 2.0, 1.03
    assert (cpu * peak_of_cpu < 0.05).mean() == pytest.approx(0.96 * 0.587, abs=0.02)
    assert (memory * peak_of_memory < 0.05).mean() == pytest.approx(0.9664 * 0.466, abs=0.02)
    assert (memory > 1.0).mean() == pytest.approx(0.0336, abs=0.008)


def test_a_long_task_stays_within_its_memory_request_or_is_above_it_by_a_quarter_at_most() -> None:
    drawn = consumption(1)
    job = job_of(5000, 0.02, 0.01, tier=PRODUCTION)
    use = drawn.draw(job, drawn.place_new(job))
    share_of_request = np.array(use.memory) / job.memory
    is_over = share_of_request > 1.0
    assert is_over.mean() == pytest.approx(0.0336, abs=0.008)
    assert share_of_request[~is_over].max() <= 0.98
    assert 1.02 <= share_of_request[is_over].min() <= share_of_request.max() <= 1.25


def test_each_block_of_even_draws_holds_every_part() -> None:
    even = Stratified(random.Random(3), block=8)
    for _ in range(3):
        parts = [int(8 * even.draw()) for _ in range(8)]
        assert sorted(parts) == list(range(8))


def test_balance_keeps_below_the_limit() -> None:
    balance = BalancedStrata(4)
    places = [balance.place(0.0, 1.0, below=0.5) for _ in range(4)]
    assert places == [0.0, 0.25, 0.0, 0.25]
    assert balance.place(0.0, 1.0) == 0.5


def test_tasks_that_last_are_counted_by_their_curves() -> None:
    # Of production .009 end within 7,800 s, .13 within 48 h; of those 6 % finish.
    expected = 0.87 + 0.06 * (0.13 - 0.0082)
    assert PRODUCTION.lasting(172_800.0) == pytest.approx(expected, abs=0.001)


def test_a_job_whose_tasks_must_be_apart_may_use_twice_as_many_machines_as_it_has_tasks() -> None:
    n_jobs = 0
    for seed in range(2):
        cell = workload(60, seed)
        for job in [*cell.alive_jobs(), *(cell.arriving() for _ in range(1_500))]:
            if job.different and job.allowed is not None:
                n_jobs += 1
                assert job.allowed.sum() >= 2 * job.size
    assert n_jobs > 10
