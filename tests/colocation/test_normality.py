"""A² against scipy, its own definition, and known behaviour."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import log_ndtr

from borgtrace.colocation.sums.normality import CRITICAL, LOG_PHI, anderson_darling
from borgtrace.colocation.tasks.moments import lane_sum, mean_and_std


def statistic(values: np.ndarray) -> float:
    """A² of unsorted values through the kernel."""
    ordered = np.sort(values.astype(np.float32))
    scratch = np.empty(len(values))
    mean, std = mean_and_std(ordered, 1, scratch)
    return anderson_darling(ordered, mean, std, LOG_PHI, scratch)


LAWS = {
    "normal": lambda rng, n: rng.normal(13.7, 0.7, n),
    "exponential": lambda rng, n: rng.exponential(1.0, n),
    "uniform": lambda rng, n: rng.random(n),
    "two points": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "cauchy, beyond 30 σ": lambda rng, n: rng.standard_cauchy(n),
    "one spike at 70 σ": lambda rng, n: np.concatenate(
        (np.full(n - 1, 0.1) + rng.random(n - 1), [200.0])
    ),
    "one spike at −70 σ": lambda rng, n: np.concatenate((rng.random(n - 1), [-200.0])),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n", [3, 17, 1000, 10_000])
def test_equals_scipy(law: str, n: int) -> None:
    values = LAWS[law](np.random.default_rng(n), n).astype(np.float32)
    if values.min() == values.max():
        values[0] += 1
    expected = stats.anderson(values.astype(np.float64), method="interpolate").statistic
    assert statistic(values) == pytest.approx(expected, abs=1e-9, rel=1e-11)


def test_three_points_by_hand() -> None:
    # w = −1, 0, 1: terms (2i−1)(ln Φ(w_i) + ln Φ(−w_{4−i})) = 1·2 ln Φ(−1) + 3·2 ln ½ + 5·2 ln Φ(1)
    below = np.log(0.15865525393145707)
    above = np.log(0.8413447460685429)
    middle = np.log(0.5)
    terms = 2 * below + 6 * middle + 10 * above
    three_points = np.array([0.0, 1.0, -1.0])
    assert statistic(three_points) == pytest.approx(-3 - terms / 3, abs=1e-12)


def test_log_phi_cells_are_exact() -> None:
    t = np.linspace(-1, 1, 33)
    for k in range(len(LOG_PHI)):
        w = (k + (t + 1) / 2) / 4 - 9
        for side, sign in enumerate((1, -1)):
            got = np.polynomial.polynomial.polyval(t, LOG_PHI[k, side])
            np.testing.assert_allclose(
                got,
                log_ndtr(sign * w),
                rtol=0,
                atol=1e-13,
            )


def test_five_percent_of_gaussian_samples_exceed_the_newer_critical_value() -> None:
    rng = np.random.default_rng(5)
    got = np.array([statistic(rng.standard_normal(1000)) for _ in range(6000)])
    newer = (got > CRITICAL["D'Agostino 1986"]).mean()
    older = (got > CRITICAL["Stephens 1974"]).mean()
    standard_error = np.sqrt(0.05 * 0.95 / 6000)
    assert newer == pytest.approx(0.05, abs=3 * standard_error)
    assert older < newer


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 1003])
def test_lane_sum(n: int) -> None:
    values = np.random.default_rng(n).random(n)
    assert lane_sum(values) == pytest.approx(values.sum(), rel=1e-14, abs=0)


@pytest.mark.parametrize("ddof", [0, 1])
def test_moments(ddof: int) -> None:
    values = np.random.default_rng(ddof).random(1003).astype(np.float32)
    exact = values.astype(np.float64)
    mean, std = mean_and_std(values, ddof, np.empty(1003))
    assert mean == pytest.approx(exact.mean(), rel=1e-13)
    assert std == pytest.approx(exact.std(ddof=ddof), rel=1e-13)
