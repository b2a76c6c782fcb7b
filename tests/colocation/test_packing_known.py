"""Packings whose machines and overflows are known by hand or by trying all assignments."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from borgtrace.colocation.packing.quality import least_machines, quality
from borgtrace.placement.estimators.bounds import Bernstein, Chernoff, Hoeffding
from borgtrace.placement.estimators.convolution import Convolution
from borgtrace.placement.estimators.gpa import Gpa, gaussian_slack
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.estimators.saddlepoint import Saddlepoint
from borgtrace.placement.estimators.sizes import Average, Cantelli, Percentile
from borgtrace.placement.fitting import Fitted
from borgtrace.placement.packers import FIRST_FIT, packers
from borgtrace.placement.packing import (
    Packing,
    fit,
    pack,
    pack_fitted,
    predicted_overflow,
    rebalanced,
)
from tests.colocation.known import packing_of
from tests.colocation.observations import constant


@pytest.mark.parametrize(
    "estimator",
    [
        Average(1),
        Percentile(50),
        Percentile(100),
        Cantelli(4.4),
        Gpa(0.001),
        Convolution(0.001),
        Hoeffding(0.01),
        Bernstein(0.01),
        Chernoff(0.001),
        Saddlepoint(0.001),
    ],
    ids=lambda e: e.label,
)
def test_two_constant_tasks_share_a_machine_up_to_its_capacity(estimator):
    for fitting in ((1.0,), (0.5, 0.5), (0.4999, 0.4999)):
        assert pack(estimator, constant(*fitting)).bins.tolist() == [0] * len(fitting)
    assert pack(estimator, constant(0.6, 0.4)).bins.tolist() == [0, 0]
    assert pack(estimator, constant(0.6, 0.405), rebalancing=False).bins.tolist() == [0, 1]


@pytest.mark.parametrize(
    "estimator",
    [
        Saddlepoint(0.1),
        Saddlepoint(1e-6),
        Chernoff(0.1),
        Chernoff(1e-6),
    ],
    ids=repr,
)
@pytest.mark.parametrize("capacity", [0.5, 1.0, 2.0])
def test_constant_usage_fits_up_to_the_capacity_wherever_it_lies_on_the_grid(estimator, capacity):
    # a third of a machine lies between two of the 2,000 cells, and its histogram varies
    for parts in (1, 2, 3, 7, 33):
        packing = pack(
            estimator,
            constant(*[capacity / parts] * parts),
            capacity=capacity,
        )
        assert packing.bins.tolist() == [0] * parts
    one_too_many = pack(
        estimator,
        constant(*[capacity / 3] * 4),
        capacity=capacity,
        rebalancing=False,
    )
    assert one_too_many.bins.tolist() == [0, 0, 0, 1]


def test_the_saddlepoint_above_the_capacity_is_the_gaussian_tail():
    # two tasks of .45 or .6: the sum has mean 1.05 and deviation √2 · .075
    seen = Observation(
        np.tile(
            np.float32([0.45, 0.6]),
            (2, 100),
        )
    )
    tail = norm.cdf(0.05 / (math.sqrt(2) * 0.075))
    fitted = fit(Saddlepoint(0.9), seen)
    room = fitted.estimator.test.room(
        fitted.items[0],
        fitted.items[1],
        np.ones(1),
        fitted.parameters,
    )
    assert room == pytest.approx(0.9 - tail, abs=1e-3)
    assert pack(Saddlepoint(0.9), seen).n_bins == 1
    assert pack(Saddlepoint(0.6), seen).n_bins == 2


def introduction() -> Observation:
    """The paper's introduction: two stable tasks, and one that is uniform on [0, 1]."""
    stable = np.full((2, 20_000), 0.25, np.float32)
    bursty = np.linspace(0, 1, 20_000, dtype=np.float32)[None]
    return Observation(np.concatenate([stable, bursty]))


def test_three_tasks_of_the_introduction():
    seen = introduction()
    # means .25 + .25 + .5 = 1: one machine by average, overflowing half of the time
    together = pack(Average(1), seen)
    assert together.bins.tolist() == [0, 0, 0]
    assert quality(seen.values, together) == pytest.approx(0.5, abs=1e-3)
    # by maximum the bursty task needs a machine of its own; nothing ever overflows
    apart = pack(Percentile(100), seen, rebalancing=False)
    assert apart.bins.tolist() == [0, 0, 1]
    assert quality(seen.values, apart) == 0.0
    # exact: with one stable task P(U > .75) = .25, with both .5
    assert pack(Convolution(0.251), seen, packer=FIRST_FIT, rebalancing=False).n_bins == 2
    assert pack(Convolution(0.51), seen).n_bins == 1


def test_a_task_that_alone_fails_is_unplaceable():
    seen = introduction()
    tail = 1 - norm.cdf(0.5 / math.sqrt(1 / 12))
    assert tail == pytest.approx(0.0416, abs=1e-4)  # 4 %, although usage never exceeds 1
    refused = pack(Gpa(0.01), seen)
    assert refused.unplaceable.tolist() == [2]
    assert refused.bins.tolist() == [0, 0, -1]
    assert not np.isnan(quality(seen.values, refused))
    assert pack(Gpa(0.05), seen).unplaceable.size == 0
    assert pack(Convolution(0.01), seen).unplaceable.size == 0


@pytest.mark.parametrize("rho", [0.1, 0.01, 0.001])
def test_fit_bin_is_that_of_scipy(rho):
    rng = np.random.default_rng(3)
    for _ in range(200):
        state = rng.random(2)
        item = rng.random(2) * 0.2
        mean = state[0] + item[0]
        deviation = math.sqrt(state[1] + item[1])
        expected = rho - norm.sf((1.3 - mean) / deviation)
        assert gaussian_slack(state, item, np.array([1.3]), np.array([rho])) == pytest.approx(
            expected, abs=1e-14
        )


def test_best_fit_minimises_the_positive_fit_bin():
    # bins of load .5 and .7 (constant tasks); .2 fits both, Best Fit takes the fuller one
    packing = pack(Average(1), constant(0.5, 0.7, 0.2), rebalancing=False)
    assert packing.bins.tolist() == [0, 1, 1]
    assert pack(
        Average(1), constant(0.5, 0.7, 0.2), packer=FIRST_FIT, rebalancing=False
    ).bins.tolist() == [0, 1, 0]


def test_gaussian_tasks_overflow_as_promised():
    """GPA is exact for Gaussian tasks: q comes from the tail of each full machine, all of them near ρ."""
    rng = np.random.default_rng(5)
    n = 2_000
    draws = 4_000
    rho = 0.05
    values = np.maximum(
        rng.normal(0.02, 0.004, (n, draws)),
        0,
    ).astype(np.float32)
    fitted = fit(Gpa(rho), Observation(values))
    packing = pack_fitted(fitted)
    promised = predicted_overflow(packing, fitted)[:-1]  # the last machine is not full
    full = np.flatnonzero(packing.bins < packing.n_bins - 1)
    measured = quality(
        values[full],
        pack(Gpa(rho), Observation(values[full]), rebalancing=False),
    )
    assert measured == pytest.approx(promised.mean(), rel=0.05)
    assert measured <= rho * 1.05


def test_rebalancing_by_hand():
    # bins {.5, .45}, {.9}, {.3}: .5 moves (.8), .9 fails, .45 fails, .9 fails, .45 fails, .9 fails: five
    seen = constant(0.5, 0.45, 0.9, 0.3)
    fitted = fit(Average(1), seen)
    plain = pack_fitted(fitted, packer=FIRST_FIT)
    assert plain.bins.tolist() == [0, 0, 1, 2]
    after = rebalanced(plain, fitted)
    assert after.bins.tolist() == [2, 0, 1, 2]
    assert after.moved == 1
    assert plain.bins.tolist() == [0, 0, 1, 2]  # the original is left alone


@pytest.mark.parametrize(
    ("failures", "moved"),
    [
        (1, 1),
        (2, 2),
        (5, 3),
    ],
)
def test_failures_count_over_the_whole_run(failures, moved):
    # others {.1, .1, .1, …} and {.9, …}: the turns alternate move, fail, move, fail …
    items = np.array(
        [
            [0.1],
            [0.1],
            [0.1],
            [0.9],
            [0.6],
        ]
    )
    bins = np.array([0, 0, 0, 1, 2])
    plain = Packing(
        bins,
        np.ones((3, 1)),
        np.arange(3),
    )
    assert rebalanced(plain, Fitted(Average(1), items, 1.0), max_failures=failures).moved == moved


def test_an_emptied_bin_is_skipped_and_not_in_use():
    # {.2}, {.95}, {.5}: .2 moves; its bin is empty, skipped; only .95 keeps failing
    seen = constant(0.2, 0.95, 0.5)
    plain = packing_of([0, 1, 2], 3)
    after = rebalanced(plain, fit(Average(1), seen))
    assert after.moved == 1
    assert after.bins.tolist() == [2, 1, 2]
    assert after.n_bins == 2
    assert least_machines(seen.mean) == 2


def optimum(sizes: np.ndarray, fits) -> int:
    """Fewest bins by trying all assignments in restricted-growth order."""
    best = len(sizes)

    def place(i: int, bins: list[list[int]]) -> None:
        nonlocal best
        if len(bins) >= best:
            return
        if i == len(sizes):
            best = len(bins)
            return
        for held in bins:
            if fits([*held, i]):
                held.append(i)
                place(i + 1, bins)
                held.pop()
        place(i + 1, [*bins, [i]])

    place(0, [])
    return best


def test_first_fit_against_brute_force():
    rng = np.random.default_rng(8)
    for _ in range(60):
        sizes = rng.uniform(0.1, 0.9, rng.integers(2, 9))
        least = optimum(
            sizes,
            lambda held, s=sizes: s[held].sum() <= 1,
        )
        for packer in ("first", "best"):
            options = {"packer": FIRST_FIT} if packer == "first" else {}
            used = pack(
                Average(1),
                constant(*sizes),
                rebalancing=False,
                **options,
            ).n_bins
            assert least <= used <= 1.7 * least


def test_gpa_against_brute_force(capsys):
    """The Gaussian test is not additive: no bound is known; the worst ratio found is printed."""
    rng = np.random.default_rng(12)
    worst = 1.0
    for _ in range(60):
        n = rng.integers(2, 9)
        mean = rng.uniform(0.05, 0.5, n)
        std = rng.uniform(0.0, 0.15, n)
        pairs = np.column_stack([mean - std, mean + std]).astype(np.float32)
        seen = Observation(np.maximum(pairs, 0))

        def fits(held, seen=seen):
            variance = seen.variance[held].sum()
            return 0.05 - norm.sf((1 - seen.mean[held].sum()) / math.sqrt(variance)) >= 0

        alone = [i for i in range(n) if fits([i])]
        seen = Observation(seen.values[alone])
        if not alone:
            continue
        used = pack(Gpa(0.05), seen, packer=FIRST_FIT, rebalancing=False).n_bins
        least = optimum(seen.mean, lambda held, seen=seen: fits(held, seen))
        assert least <= used
        worst = max(worst, used / least)
    with capsys.disabled():
        print(
            f"\nGPA First Fit, worst ratio to the optimum over 60 random cases of n ≤ 8: {worst:.2f}"
        )
    assert worst <= 2.0


def test_unequal_machines_are_opened_in_order_and_kept_for_later():
    seen = constant(0.6, 0.2, 0.5, 2.0)
    packing = pack(
        Average(1),
        seen,
        inventory=np.array([0.25, 1.0, 0.5]),
        packer=FIRST_FIT,
        rebalancing=False,
    )
    # .6 skips the quarter machine; .2 joins it in bin 0; .5 takes a fresh machine: the third
    assert packing.bins.tolist() == [0, 0, 1, -1]
    assert packing.machines.tolist() == [1, 2]
    assert packing.capacities.tolist() == [1.0, 0.5]


def test_of_equally_good_machines_the_one_opened_first_is_taken():
    for packer in (packers()["best-fit"], packers()["worst-fit"]):
        packing = pack(
            Average(1),
            constant(0.75, 0.75, 0.125),
            inventory=np.ones(3),
            packer=packer,
            rebalancing=False,
        )
        assert packing.bins.tolist() == [0, 1, 0]


def test_tasks_of_one_group_stay_apart():
    seen = constant(*[0.1] * 6)
    groups = np.array([0, 0, 0, 1, -1, 1])
    packing = pack(Average(1), seen, groups=groups)
    for group in (0, 1):
        members = packing.bins[groups == group]
        assert len(set(members.tolist())) == len(members)
    assert packing.n_bins == 3


def test_quality_counts_from_the_first_unseen_column():
    values = np.float32(
        [
            [1, 0, 0.5, 0.5],
            [1, 0, 0.6, 0.5],
        ]
    )
    packing = pack(
        Average(1),
        Observation(values[:, 1:2]),
    )
    assert packing.bins.tolist() == [0, 0]
    assert quality(values, packing) == 0.5  # columns 0 and 2
    assert quality(values, packing, first=2) == 0.5
    assert quality(values, packing, first=3) == 0.0


def test_counting_works_across_tiles():
    values = np.zeros((1, 1000), np.float32)
    values[0, [0, 255, 256, 511, 999]] = 2
    packing = pack(
        Average(1),
        Observation(np.zeros((1, 1), np.float32)),
    )
    expected = {
        0: 5,
        1: 4,
        255: 4,
        256: 3,
        512: 1,
        999: 1,
    }
    for first, hits in expected.items():
        assert quality(values, packing, first=first) == pytest.approx(hits / (1000 - first))
