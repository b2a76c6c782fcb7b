"""Intervals, corrections and curves beside planted truth: how often they cover, and how often they find nothing."""

from __future__ import annotations

import numpy as np
import pytest

from borgtrace.experiments.blocks import Covariance, covariance, margins, mean_covariance
from borgtrace.experiments.comparisons import compare_all
from borgtrace.experiments.front import is_on_front
from borgtrace.experiments.peaks.curves import LIMITS, mixture_at
from borgtrace.kernels.arrays import Index, Numbers

FAMILIES = 4
ONE_GROUP = np.zeros(FAMILIES, np.int64)


def blocks(
    rng: np.random.Generator, shape: tuple[int, int], deviations: tuple[float, float, float]
) -> tuple[Numbers, Index, Index]:
    """Return values of blocks with mean 0: effects of machines, of days, and of each block by itself."""
    n_machines, n_days = shape
    of_machine, of_day, of_block = deviations
    values = of_machine * rng.standard_normal((n_machines, 1, FAMILIES))
    values = values + of_day * rng.standard_normal((1, n_days, FAMILIES))
    values = values + of_block * rng.standard_normal((n_machines, n_days, FAMILIES))
    machine, day = np.divmod(np.arange(n_machines * n_days), n_days)
    return values.reshape(-1, FAMILIES), machine, day


def estimated(values: Numbers, machine: Index, day: Index) -> tuple[Numbers, Covariance]:
    means = values.mean(axis=0)
    return means, covariance((values - means) / len(values), machine, day)


KINDS = {
    "machines differ": ((40, 8), (1.0, 0.0, 1.0), 0.93),
    "days differ": ((40, 8), (0.0, 1.0, 1.0), 0.92),
    "both differ": ((40, 8), (1.0, 0.5, 1.0), 0.93),
    "nothing but noise": ((40, 8), (0.0, 0.0, 1.0), 0.93),
    "two days": ((20, 2), (1.0, 0.0, 1.0), 0.92),
}


@pytest.mark.wide
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_cover_the_truth_in_95_of_100_simulations(kind: str) -> None:
    shape, deviations, least = KINDS[kind]
    rng = np.random.default_rng(2)
    covered = []
    for _ in range(500):
        means, found = estimated(*blocks(rng, shape, deviations))
        covered.append(np.abs(means) <= margins(found))
    # Of 2,000 intervals a share of 95 % has an error of half a point. Noise alone is covered more often: the larger
    # one of two clusterings is taken.
    assert least <= np.mean(covered) <= 0.995


@pytest.mark.wide
@pytest.mark.parametrize("kind", KINDS)
def test_among_equal_families_a_difference_is_found_in_one_experiment_of_20(kind: str) -> None:
    shape, deviations, _ = KINDS[kind]
    rng = np.random.default_rng(3)
    n_false = 0
    for number in range(150):
        means, found = estimated(*blocks(rng, shape, deviations))
        pairs = compare_all(means, found, ONE_GROUP, seed=number)
        n_false += bool(((pairs.low > 0) | (pairs.high < 0)).any())
        is_shown = (pairs.low > 0) | (pairs.high < 0)
        # An interval and a p value say the same, but for those within a draw of each other.
        assert ((pairs.p < 0.049) <= is_shown).all()
        assert (is_shown <= (pairs.p < 0.051)).all()
    # 5 % of 150 have a standard error of 1.8 %. Without correction, six pairs would find one in a fifth of them.
    assert n_false / 150 <= 0.05 + 3 * 0.018


def test_a_planted_difference_is_found_and_covered() -> None:
    rng = np.random.default_rng(4)
    planted = np.array([0.5, 0.2, 0.2, 0.2])
    n_found = n_covered = 0
    for number in range(100):
        values, machine, day = blocks(rng, (60, 8), (0.1, 0.05, 0.1))
        means, found = estimated(values + planted, machine, day)
        pairs = compare_all(means, found, ONE_GROUP, seed=number)
        truth = planted[pairs.first] - planted[pairs.second]
        n_covered += bool(((pairs.low <= truth) & (truth <= pairs.high)).all())
        is_first = pairs.first == 0
        n_found += bool((pairs.low[is_first] > 0).all())
    assert n_found == 100
    # All six intervals together, in 95 of 100.
    assert n_covered >= 89


def test_groups_are_corrected_together_but_not_compared() -> None:
    rng = np.random.default_rng(5)
    means, found = estimated(*blocks(rng, (30, 1), (1.0, 0.0, 1.0)))
    alone = compare_all(means[:2], _of(found, 2), np.zeros(2, np.int64))
    groups = np.array([0, 0, 1, 1])
    together = compare_all(means, found, groups)
    assert together.first.tolist() == [0, 2]
    assert together.second.tolist() == [1, 3]
    # Two comparisons, and not one: intervals are wider.
    assert together.high[0] - together.low[0] > alone.high[0] - alone.low[0]


def _of(found: Covariance, k: int) -> Covariance:
    return Covariance(
        found.by_unit[:k, :k], found.by_period[:k, :k], found.by_block[:k, :k], found.freedom
    )


def test_families_that_are_the_same_do_not_differ() -> None:
    rng = np.random.default_rng(6)
    values, machine, day = blocks(rng, (30, 1), (1.0, 0.0, 1.0))
    values[:, 1] = values[:, 0]
    means, found = estimated(values, machine, day)
    pairs = compare_all(means, found, ONE_GROUP)
    assert (pairs.low[0], pairs.difference[0], pairs.high[0]) == (0.0, 0.0, 0.0)
    assert pairs.p[0] == 1.0


def test_one_machine_has_no_interval() -> None:
    means, found = estimated(np.ones((3, FAMILIES)), np.zeros(3, np.int64), np.arange(3))
    assert np.isnan(margins(found)).all()
    assert np.isnan(compare_all(means, found, ONE_GROUP).low).all()


def test_the_mean_of_two_stores_varies_half_as_much_as_each() -> None:
    rng = np.random.default_rng(7)
    _, found = estimated(*blocks(rng, (30, 1), (1.0, 0.0, 1.0)))
    of_both = mean_covariance([found, found])
    assert of_both.errors == pytest.approx(found.errors / np.sqrt(2))


def test_a_mixture_lies_on_the_hull_of_its_settings_and_the_limits() -> None:
    rates = np.array([0.0, 0.02, 0.04, 0.08])
    savings = np.array([0.05, 0.1, 0.3, 0.2])
    # Between no violations (5 %) and 4 % (30 %): the setting of 2 % lies below that line, that of 8 % saves less.
    mixture = mixture_at(rates, savings, 0.01)
    assert (mixture.careful, mixture.bold) == (0, 2)
    assert mixture.share == pytest.approx(0.25)
    assert mixture.savings == pytest.approx(0.05 + 0.25 * 0.25)
    boldest = mixture_at(rates, savings, 0.06)
    assert (boldest.bold, boldest.rate, boldest.savings) == (2, 0.04, 0.3)


def test_a_family_that_saves_nothing_keeps_the_limits() -> None:
    mixture = mixture_at(np.array([0.1]), np.array([-0.2]), 0.01)
    assert (mixture.bold, mixture.savings) == (LIMITS, 0.0)


def test_the_influences_of_a_mixture_are_its_derivative() -> None:
    """A block that counts a little more moves the savings at the target as the influences say."""
    rates = np.array([0.005, 0.02])
    savings = np.array([0.1, 0.25])
    moved_rates = np.array([[0.3, -0.2], [-0.3, 0.2]])
    moved_savings = np.array([[0.5, 0.1], [-0.5, -0.1]])
    step = 1e-6
    mixture = mixture_at(rates, savings, 0.01)
    influences = mixture.of_influences(moved_rates, moved_savings)
    for block in range(2):
        moved = mixture_at(
            rates + step * moved_rates[block], savings + step * moved_savings[block], 0.01
        )
        assert (moved.savings - mixture.savings) / step == pytest.approx(
            influences[block], rel=1e-3
        )


def test_the_front_has_what_nothing_else_beats() -> None:
    rates = np.array([0.0, 0.0, 0.1, 0.2, 0.2])
    savings = np.array([0.1, 0.2, 0.15, 0.3, 0.3])
    assert is_on_front(rates, savings) == [False, True, False, True, True]
