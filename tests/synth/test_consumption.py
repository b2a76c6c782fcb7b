"""Places in the order of use: the published classes hold over tasks, although a few jobs own most of them."""

from __future__ import annotations

import random

import numpy as np
import pytest

from borgtrace.synth.model.classes import CLASSES
from borgtrace.synth.model.consumption import OVERUSE, Consumption, use_little
from borgtrace.synth.model.draws import BalancedStrata, Stratified
from borgtrace.synth.model.hashing import generator
from borgtrace.synth.model.profile import Profile
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
    ("start", "end", "is_little"),
    [
        (0, 23 * WINDOW, True),
        (0, 23 * WINDOW + 1, False),
        (WINDOW - 1, 24 * WINDOW, False),
    ],
)
def test_a_run_is_short_if_it_has_fewer_windows_than_a_long_task(
    start: int,
    end: int,
    is_little: bool,
) -> None:
    job = workload(300, 1).new_job(FREE, 1)
    (task,) = job.tasks
    use_little(task, start, end)
    assert (task.cpu_share < 1.0) == is_little


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
