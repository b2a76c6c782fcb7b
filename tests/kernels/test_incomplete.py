"""The normal, gamma and beta distributions against SciPy's, which is not installed with the package."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

from borgtrace.analyses.shared.power_law import hurwitz_zeta
from borgtrace.kernels.incomplete import (
    beta_alpha,
    beta_probability,
    beta_quantile,
    binomial_tail,
    fisher_tail,
    gamma_probability,
    gamma_quantile,
    student_quantile,
)
from borgtrace.kernels.normal import (
    erfc,
    log_normal_probability,
    normal_probability,
    normal_score,
)

SCORES = np.linspace(-37, 10, 2001)
PROBABILITIES = np.concatenate([np.geomspace(1e-12, 0.5, 200), 1 - np.geomspace(1e-12, 0.5, 200)])
SHAPES = (0.01, 0.3, 1.0, 2.5, 12.0, 400.0)
PAIRS = ((0.05, 0.05), (0.5, 0.5), (0.2, 5.0), (2.0, 3.0), (30.0, 7.0), (200.0, 300.0))


def test_normal_distribution() -> None:
    assert normal_probability(SCORES) == pytest.approx(special.ndtr(SCORES), rel=1e-12)
    assert log_normal_probability(SCORES) == pytest.approx(special.log_ndtr(SCORES), rel=1e-13)
    assert erfc(SCORES) == pytest.approx(special.erfc(SCORES), rel=1e-12)
    tiny = np.concatenate([PROBABILITIES, np.geomspace(1e-300, 1e-12, 50)])
    assert normal_score(tiny) == pytest.approx(special.ndtri(tiny), rel=1e-14)


def test_ends_and_shapes_of_normal_scores() -> None:
    assert normal_score([0.0, 1.0]).tolist() == [-math.inf, math.inf]
    assert np.isnan(normal_score([-0.1, 1.1, math.nan])).all()
    assert normal_score(np.full((2, 3), 0.5)).tolist() == [[0.0] * 3] * 2
    assert normal_score(0.5).shape == ()


@pytest.mark.parametrize("shape", SHAPES)
def test_gamma_distribution(shape: float) -> None:
    values = np.geomspace(1e-6, 8.0, 300) * shape
    assert gamma_probability(shape, values) == pytest.approx(
        special.gammainc(shape, values), rel=1e-10, abs=1e-300
    )
    quantiles = special.gammaincinv(shape, PROBABILITIES)
    assert gamma_quantile(shape, PROBABILITIES) == pytest.approx(quantiles, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize(("alpha", "beta"), PAIRS)
def test_beta_distribution(alpha: float, beta: float) -> None:
    values = np.linspace(0.0, 1.0, 301)
    assert beta_probability(alpha, beta, values) == pytest.approx(
        special.betainc(alpha, beta, values), rel=1e-11, abs=1e-300
    )
    quantiles = special.betaincinv(alpha, beta, PROBABILITIES)
    assert beta_quantile(alpha, beta, PROBABILITIES) == pytest.approx(
        quantiles, rel=1e-11, abs=1e-300
    )


@pytest.mark.parametrize("freedom", [1, 2, 3, 10, 100, 5_000])
@pytest.mark.parametrize("probability", [0.6, 0.9, 0.975, 0.99999])
def test_quantiles_of_student(freedom: int, probability: float) -> None:
    expected = special.stdtrit(freedom, probability)
    assert student_quantile(freedom, probability) == pytest.approx(expected, rel=1e-10)


def test_tails_of_fisher() -> None:
    draws = np.random.default_rng(0)
    freedom = draws.uniform(1, 4_000, 1_000)
    ratios = np.concatenate([[0.0], draws.exponential(2, 999)])
    assert fisher_tail(3, freedom, ratios) == pytest.approx(
        special.fdtrc(3, freedom, ratios), rel=1e-9, abs=1e-300
    )


def test_tails_of_the_binomial_distribution() -> None:
    # P(more than k of 300), summed term by term.
    chance = 0.00135
    terms = [math.comb(300, k) * chance**k * (1 - chance) ** (300 - k) for k in range(301)]
    expected = [math.fsum(terms[k + 1 :]) for k in range(-1, 61)]
    assert binomial_tail(np.arange(-1, 61), 300, chance) == pytest.approx(
        expected, rel=1e-11, abs=1e-300
    )


@pytest.mark.parametrize("probability", [0.05, 0.5])
@pytest.mark.parametrize("beta", [1.0, 5.5, 300.0])
@pytest.mark.parametrize("value", [0.01, 0.25, 0.6])
def test_first_parameter_of_beta(probability: float, beta: float, value: float) -> None:
    alpha = beta_alpha(probability, beta, value)
    assert special.betainc(alpha, beta, value) == pytest.approx(probability, rel=1e-10)


@pytest.mark.parametrize("first", [1, 2, 100])
@pytest.mark.parametrize("s", [1.01, 2.0, 11.0])
def test_zeta_and_its_slope(s: float, first: int) -> None:
    zeta, slope = hurwitz_zeta(s, first)
    assert zeta == pytest.approx(special.zeta(s, first), rel=1e-14)
    step = 1e-5 * (s - 1)
    difference = special.zeta(s + step, first) - special.zeta(s - step, first)
    assert slope == pytest.approx(difference / (2 * step), rel=1e-6)
