"""Places in the order of use: the published classes hold over tasks, although a few jobs own most of them."""

from __future__ import annotations

import random

import numpy as np
import pytest

from borgtrace.synth.model.classes import CLASSES
from borgtrace.synth.model.consumption import OVERUSE, Consumption, use_little
from borgtrace.synth.model.draws import BalancedStrata, Stratified
from borgtrace.synth.model.hashing import generator
from borgtrace.synth.model.jobs import Job
from borgtrace.synth.model.machines import draw_machines
from borgtrace.synth.model.profiles import PROFILES
from borgtrace.synth.model.workload import WorkloadModel

GOOGLE_2011, GOOGLE_2019 = PROFILES.values()
FREE, OTHER, PRODUCTION = GOOGLE_2011.tiers
WINDOW = 300_000_000


def consumption(seed: int) -> Consumption:
    return Consumption(GOOGLE_2011, random.Random(seed), generator(seed, "tasks"))


def workload(seed: int, machines: int = 300) -> WorkloadModel:
    return WorkloadModel(
        GOOGLE_2011,
        draw_machines(GOOGLE_2011, machines, seed),
        24.0,
        seed,
    )


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_classes_of_the_tasks_alive_at_the_start_have_their_published_shares(seed: int) -> None:
    cell = workload(seed)
    jobs = cell.alive_jobs()
    mass = np.zeros(len(CLASSES.rows))
    for job in jobs:
        for task in job.tasks:
            mass[task.kind] += job.tier.lasting(24 * 3600.0)
    assert 100 * mass / mass.sum() == pytest.approx([c.share for c in CLASSES.rows], abs=0.3)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_large_new_job_has_tasks_of_many_classes_a_small_one_of_few(seed: int) -> None:
    use = consumption(seed)
    large = Job(OTHER, 4000, 0.0178, 0.01, 2, 0, False)
    small = Job(OTHER, 8, 0.0178, 0.01, 2, 0, False)
    kinds = [len(set(use.draw(job, use.place_new(job)).kind)) for job in (large, small)]
    assert kinds[0] >= 10
    assert kinds[1] <= 3


def test_places_of_the_tasks_alive_are_spread_evenly_by_weight() -> None:
    asked = [
        Job(FREE, 3, 0.01, 0.01, 0, 0, False),
        Job(FREE, 1, 0.01, 0.01, 0, 0, False),
    ]
    places = consumption(0).place_alive(asked, [1.0, 3.0])
    # Six units of weight: three tasks of one and one of three, whichever comes first; middles of their shares.
    together = sorted(np.concatenate(places).tolist())
    assert together in (
        pytest.approx([1 / 12, 3 / 12, 5 / 12, 9 / 12]),
        pytest.approx([3 / 12, 7 / 12, 9 / 12, 11 / 12]),
        pytest.approx([1 / 12, 5 / 12, 9 / 12, 11 / 12]),
        pytest.approx([1 / 12, 3 / 12, 7 / 12, 11 / 12]),
    )


def test_no_task_uses_more_than_twice_its_request() -> None:
    for job in workload(1).alive_jobs():
        assert max(task.level for task in job.tasks) <= OVERUSE * job.cpu


def test_class_and_level_have_nothing_to_do_with_each_other_in_2019() -> None:
    use, beb = (
        Consumption(GOOGLE_2019, random.Random(1), generator(1, "tasks")),
        GOOGLE_2019.tiers[1],
    )
    asked = [Job(beb, 1, 0.01, 0.01, 103, 0, False)] * 4000
    drawn = [
        use.draw(a, p) for a, p in zip(asked, use.place_alive(asked, [1.0] * 4000), strict=True)
    ]
    kinds, levels = (np.concatenate([d[i] for d in drawn]) for i in (2, 0))
    shares = 100 * np.bincount(kinds, minlength=len(CLASSES.rows)) / 4000
    assert shares == pytest.approx([c.share for c in CLASSES.rows], abs=0.5)
    assert abs(np.corrcoef(kinds, np.log(levels))[0, 1]) < 0.05


@pytest.mark.parametrize(
    ("start", "end", "is_little"),
    [(0, 23 * WINDOW, True), (0, 23 * WINDOW + 1, False), (WINDOW - 1, 24 * WINDOW, False)],
)
def test_a_run_is_short_if_it_has_fewer_windows_than_a_long_task(
    start: int,
    end: int,
    is_little: bool,
) -> None:
    job = workload(1).new_job(FREE, 1)
    use_little(job.tasks[0], start, end)
    assert (job.tasks[0].cpu_share < 1.0) == is_little


def test_each_block_of_even_draws_holds_every_part() -> None:
    even = Stratified(random.Random(3), block=8)
    for _ in range(3):
        assert sorted(int(8 * even.draw()) for _ in range(8)) == list(range(8))


def test_balance_keeps_below_the_limit() -> None:
    balance = BalancedStrata(4)
    assert [balance.place(0.0, 1.0, below=0.5) for _ in range(4)] == [0.0, 0.25, 0.0, 0.25]
    assert balance.place(0.0, 1.0) == 0.5


def test_tasks_that_last_are_counted_by_their_curves() -> None:
    # LEFT_PRODUCTION: .009 end within 7,800 s, .13 within 48 h; of those 43.9 % finish.
    assert PRODUCTION.lasting(172_800.0) == pytest.approx(0.87 + 0.439 * (0.13 - 0.0082), abs=0.001)
