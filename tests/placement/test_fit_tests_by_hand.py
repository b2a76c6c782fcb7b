"""Fit tests on two rows of numbers each, by hand; columns behind those of a row would change what reads them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from borgtrace.errors import UsageError
from borgtrace.placement.estimators.bounds import Bernstein, Chernoff, Hoeffding
from borgtrace.placement.estimators.convolution import Convolution
from borgtrace.placement.estimators.cornish_fisher import CornishFisher
from borgtrace.placement.estimators.covariance import CovarianceGpa
from borgtrace.placement.estimators.estimator import Estimator
from borgtrace.placement.estimators.features import angles
from borgtrace.placement.estimators.gpa import Gpa
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.estimators.sizes import Average
from borgtrace.placement.types import slack_kernel

Numbers = Sequence[float]
# Of σ, the tail of a Gaussian beyond: Q(2.5), Q(2.8) and Q(2).
Q25 = 0.00620967
Q28 = 0.00255513
Q2 = 0.0227501


def room(
    kind: type[Estimator],
    state: Numbers,
    item: Numbers,
    capacity: float,
    *parameters: float,
) -> float:
    slack = kind.slack(
        np.array(state, np.float64),
        np.array(item, np.float64),
        np.array([capacity, 99.0]),
        np.array([*parameters, 99.0]),
    )
    return float(slack)


def joined(
    kind: type[Estimator],
    state: Numbers,
    item: Numbers,
) -> list[float]:
    row = np.array(state, np.float64)
    kind.add(row, np.array(item, np.float64))
    return [float(value) for value in row]


def test_sizes_add_up_to_the_capacity() -> None:
    assert (
        room(
            Average,
            (0.25, 9),
            (0.125, 9),
            1.0,
        )
        == 0.625
    )
    assert joined(Average, (0.25, 1.0), (0.125, 2.0)) == [0.375, 3.0]


def test_the_gaussian_tail() -> None:
    # Mean .5 and deviation .2: the capacity is 2.5 deviations above.
    left = room(
        Gpa,
        (0.3, 0.03, 9),
        (0.2, 0.01, 9),
        1.0,
        0.05,
    )
    assert left == pytest.approx(0.05 - Q25, rel=1e-5)
    # Without variance a sum fits up to the capacity.
    assert (
        room(
            Gpa,
            (0.5, 0, 9),
            (0.5, 0, 9),
            1.0,
            0.05,
        )
        == 0.05
    )
    assert (
        room(
            Gpa,
            (0.5, 0, 9),
            (0.75, 0, 9),
            1.0,
            0.05,
        )
        == -0.95
    )


def test_hoeffding() -> None:
    expected = 2 - 0.3 - math.sqrt(0.5 * 1.5 * 0.8)
    assert room(
        Hoeffding,
        (0.1, 0.3, 9),
        (0.2, 0.5, 9),
        2.0,
        1.5,
    ) == pytest.approx(expected)


@pytest.mark.parametrize("peaks", [(0.3, 0.5), (0.5, 0.3)])
def test_bernstein_takes_the_higher_peak(peaks: tuple[float, float]) -> None:
    # LM/3 = 1.5 · .5 / 3 = .25.
    margin = 0.25 + math.sqrt(0.25**2 + 2 * 1.5 * 0.03)
    state = (0.1, 0.02, peaks[0], 9)
    item = (0.2, 0.01, peaks[1], 9)
    assert room(
        Bernstein,
        state,
        item,
        2.0,
        1.5,
    ) == pytest.approx(2 - 0.3 - margin)
    assert joined(Bernstein, state[:3], item[:3]) == pytest.approx([0.3, 0.03, 0.5])


def chernoff(
    state: Numbers,
    item: Numbers,
    capacity: float,
) -> float:
    """At a target of .1, where θ is 2 and 4."""
    slack = Chernoff.slack(
        np.array(state, np.float64),
        np.array(item, np.float64),
        np.array([capacity]),
        np.array([0.1, 2.0, 4.0]),
    )
    return float(slack)


def test_chernoff_takes_the_lowest_exponent() -> None:
    # Rows are the mean, K(2), K(4) and the peak.  2 · 1 less .5 and 4 · 1 less 1.1 are 1.5 and 2.9.
    second_is_lower = chernoff((9, 0.3, 0.5, 0.2), (9, 0.2, 0.6, 0.9), 1.0)
    assert second_is_lower == pytest.approx(0.1 - math.exp(-2.9))
    first_is_lower = chernoff((9, 0.3, 1.5, 0.2), (9, 0.2, 1.6, 0.9), 1.0)
    assert first_is_lower == pytest.approx(0.1 - math.exp(-1.5))
    # No exponent is below 0: the bound is 1.
    none_is_negative = chernoff((9, 1.5, 3.0, 0.2), (9, 1.5, 3.0, 0.9), 1.0)
    assert none_is_negative == pytest.approx(0.1 - 1)


def test_peaks_that_fit_together_pass_chernoff() -> None:
    state = (9, 0.3, 0.5)
    item = (9, 0.2, 0.6)
    # exp(−.9) is above the target at a capacity of .5; peaks of .25 and .25 reach it, .25 and .5 exceed it.
    assert (
        chernoff(
            (*state, 0.25),
            (*item, 0.25),
            0.5,
        )
        == 0.1
    )
    assert chernoff(
        (*state, 0.25),
        (*item, 0.5),
        0.5,
    ) == pytest.approx(0.1 - math.exp(-0.9))
    # Where the bound is within the target it stays, although the peaks fit.
    assert chernoff(
        (*state, 0.25),
        (*item, 0.25),
        1.0,
    ) == pytest.approx(0.1 - math.exp(-2.9))


def covariance_room(state: Numbers, item: Numbers) -> float:
    """On a machine of capacity 1, at a target of .1."""
    slack = CovarianceGpa.slack(
        np.array(state),
        np.array(item),
        np.array([1.0]),
        np.array([0.1]),
    )
    return float(slack)


def test_covariances_add_to_the_variance() -> None:
    state = [0.2, 0.01, 0.004, 0.1, -0.1, 0.2]
    item = [0.1, 0.02, 0.0, 0.05, 0.05, 0.1]
    # Σ of products .02 over three moments, twice.
    covariance = 0.004 + 2 * 0.02 / 3

    def tail(variance: float) -> float:
        return 0.5 * math.erfc(0.7 / math.sqrt(2 * variance))

    assert covariance_room(state, item) == pytest.approx(0.1 - tail(0.03 + covariance))
    expected = [0.3, 0.03, covariance, 0.15, -0.05, 0.3]
    assert joined(CovarianceGpa, state, item) == pytest.approx(expected)
    # Tasks that seem to take turns are not believed.
    opposite = [
        *item[:3],
        -0.05,
        -0.05,
        -0.1,
    ]
    assert covariance_room(state, opposite) == pytest.approx(0.1 - tail(0.03))


def test_without_series_nothing_is_shared() -> None:
    state = [0.2, 0.01, 0.004]
    item = [0.1, 0.02, 0.0]
    assert joined(CovarianceGpa, state, item) == pytest.approx([0.3, 0.03, 0.004])
    constant = [0.5, 0.0, 0.0]
    assert covariance_room(constant, [0.5, 0.0, 0.0]) == pytest.approx(0.1)
    assert covariance_room(constant, [0.75, 0.0, 0.0]) == pytest.approx(-0.9)


# Cumulants of a sum of mean .3, deviation .2, skewness .5 and excess 1, in two parts.
STATE = (0.2, 0.01, 0.001, 0.0010)
ITEM = (0.1, 0.03, 0.003, 0.0006)


def cornish_fisher(
    capacity: float,
    peaks: Numbers,
    z: float = 2.0,
) -> float:
    return room(
        CornishFisher,
        (*STATE, peaks[0], 9),
        (*ITEM, peaks[1], 9),
        capacity,
        z,
    )


def test_the_cornish_fisher_quantile_of_a_sum() -> None:
    # 2 + (4 − 1)/12 + (8 − 6)/24 − (16 − 10)/144.
    quantile = 2 + 0.25 + 1 / 12 - 1 / 24
    assert cornish_fisher(1.0, (0.4, 0.5)) == pytest.approx(0.7 - 0.2 * quantile)
    # Where it is above the capacity, peaks that exceed it by less are believed.
    assert cornish_fisher(0.7, (0.4, 0.5)) == pytest.approx(0.4 - 0.2 * quantile)
    assert cornish_fisher(0.7, (0.4, 0.31)) == pytest.approx(-0.01)
    # Within the capacity the quantile decides, although the peaks leave more room.
    assert cornish_fisher(1.0, (0.1, 0.1)) == pytest.approx(0.7 - 0.2 * quantile)


def test_where_cornish_fisher_is_no_quantile_peaks_decide() -> None:
    # A third cumulant of .016 is a skewness of 2, with an excess of 0.
    state = (0.2, 0.01, 0.006, 0.0, 0.4, 9)
    item = (0.1, 0.03, 0.01, 0.0, 0.5, 9)
    assert room(
        CornishFisher,
        state,
        item,
        1.0,
        2.0,
    ) == pytest.approx(0.1)
    constant_state = (0.2, 0, 0, 0, 9, 9)
    constant_item = (0.1, 0, 0, 0, 9, 9)
    assert room(
        CornishFisher,
        constant_state,
        constant_item,
        1.0,
        2.0,
    ) == pytest.approx(0.7)


# A grid of eight steps to the capacity: an item of 1 to 7 steps, and a machine that holds 0, 2 or 5.
CELLS = [0.0, 0.4, 0.1, 0.2, 0.1, 0.0, 0.0, 0.2, 0.0]
BELOW = [0.5, 0.5, 0.8, 0.8, 0.8, 1.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("capacity", "expected"),
    [
        # .4 F(7) + .1 F(6) + .2 F(5) + .1 F(4) + .2 F(1) = .88; a larger machine ends with the grid.
        (1.0, 0.2 - 0.12),
        (2.0, 0.2 - 0.12),
        (0.75, 0.2 - 0.28),
        # Five steps, up to rounding.
        (0.6249999, 0.2 - 0.39),
        (0.375, 0.2 - 0.53),
        # F(2 − 1) is .5, less than 1 − ρ: it would overflow even with the least usage; and that is above one step.
        (0.25, -0.8),
        (0.1, -0.8),
    ],
)
def test_the_sum_of_two_distributions(capacity: float, expected: float) -> None:
    slack = Convolution.slack(
        np.array([1.0, 0.0, 0.0, *BELOW]),
        np.array([2.0, 1.0, 7.0, *CELLS]),
        np.array([capacity]),
        np.array([0.2, 0.125]),
    )
    assert slack == pytest.approx(expected)


def test_a_distribution_that_joins() -> None:
    expected = [0.0, 0.2, 0.25, 0.47, 0.55, 0.61, 0.72, 0.84, 0.88]
    state = joined(
        Convolution,
        [1.0, 0.0, 0.0, *BELOW],
        [2.0, 1.0, 7.0, *CELLS],
    )
    assert state == pytest.approx([3, 0, 0, *expected])


@pytest.mark.parametrize(
    "shape",
    [
        (3,),
        (3, 0),
        (3, 1, 1),
    ],
)
def test_an_observation_has_values_of_tasks(shape: tuple[int, ...]) -> None:
    expected = f"observation: no observed values: expected shape (tasks, observations), got {shape}"
    with pytest.raises(UsageError) as caught:
        Observation(np.zeros(shape, np.float32))
    assert str(caught.value) == expected


def test_percentiles_are_linear_between_values() -> None:
    seen = Observation(np.float32([[3, 0, 2, 1], [4, 4, 4, 4]]))
    for level, value in ((0, 0), (50, 1.5), (90, 2.7), (100, 3)):
        assert seen.percentile(level).tolist() == pytest.approx([value, 4])
    assert Observation(np.float32([[0.5]])).percentile(90).tolist() == [0.5]


def test_angles_of_generating_functions() -> None:
    # 0, and 25 steps by a third of an octave or so from .5 to 512, over the capacity.
    theta = angles(2.0)
    assert len(theta) == 26
    assert theta[0] == 0.0
    assert theta[1] == pytest.approx(0.25)
    assert theta[-1] == pytest.approx(256.0)
    assert theta[2:] / theta[1:-1] == pytest.approx(1024 ** (1 / 24))


def test_a_fit_test_of_ones_own_may_divide_by_zero() -> None:
    slack = slack_kernel(
        lambda state, item, capacity, parameters: capacity[0] / state[0] - item[0], cached=False
    )
    rows = (np.array([value]) for value in (0.0, 1.0, 1.0, 0.0))
    assert slack(*rows) == math.inf
