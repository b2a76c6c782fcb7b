"""Estimators whose tails, quantiles and bounds are known by hand or from another source."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from borgtrace.errors import UsageError
from borgtrace.placement.estimators.bounds import Bernstein, Chernoff, Hoeffding
from borgtrace.placement.estimators.calibrated import CalibratedGpa
from borgtrace.placement.estimators.convolution import Convolution
from borgtrace.placement.estimators.cornish_fisher import CornishFisher, is_monotone
from borgtrace.placement.estimators.covariance import CovarianceGpa
from borgtrace.placement.estimators.features import histograms
from borgtrace.placement.estimators.gpa import Gpa
from borgtrace.placement.estimators.observation import CELLS, Observation
from borgtrace.placement.estimators.saddlepoint import Saddlepoint
from borgtrace.placement.packers import FIRST_FIT
from borgtrace.placement.packing import fit, pack, pack_fitted, predicted_overflow
from tests.colocation.observations import constant


def mixture(n: int, seed: int) -> Observation:
    rng = np.random.default_rng(seed)
    return Observation(
        np.minimum(
            rng.gamma(0.5, 0.08, (n, 400)),
            1,
        ).astype(np.float32)
    )


def overflow_by_fft(histograms: np.ndarray, cells: int = CELLS) -> float:
    """Probability that the sum of independent tasks passes the grid's end, by one product of FFTs."""
    if not len(histograms):
        return 0.0
    length = 1 << int(np.ceil(np.log2(len(histograms) * cells + 1)))
    product = np.ones(length // 2 + 1, np.complex128)
    for row in histograms:
        product *= np.fft.rfft(row[2:], length)
    total = np.fft.irfft(product, length)
    return float(
        np.clip(
            1 - total[: cells + 1].sum(),
            0,
            1,
        )
    )


@pytest.mark.parametrize("n", [3, 12, 20])
def test_exact_convolution_against_a_million_draws(n):
    seen = mixture(n, n)
    rng = np.random.default_rng(1)
    total = np.zeros(1_000_000)
    for row in seen.values:
        total += rng.choice(row, 1_000_000)
    measured = (total > 1).mean()
    error = 4 * math.sqrt(measured / 1e6) + 1e-6
    exact = overflow_by_fft(seen.histograms(1.0))
    assert exact == pytest.approx(measured, abs=error + 0.01 * measured)
    fitted = fit(Convolution(0.999), seen)
    packing = pack_fitted(fitted, packer=FIRST_FIT)
    assert packing.n_bins == 1
    assert predicted_overflow(packing, fitted)[0] == pytest.approx(exact, abs=1e-12)


def test_a_machine_filled_to_its_target_predicts_the_target():
    # rounding may leave F(c) a hair below 1 − ρ: the prediction is ρ, not 1
    idle = Convolution(0.001).items(
        Observation(np.zeros((1, 1), np.float32)),
        1.0,
    )[0]
    state = Convolution(0.001).empty(idle[None])
    state[3:] = 1 - 0.001 - 2e-16
    slack = Convolution.slack(
        state,
        idle,
        np.ones(1),
        Convolution(0.001).parameters(1.0),
    )
    assert slack == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("n", [10, 15, 20])
def test_saddlepoint_is_near_exact_and_chernoff_above(n):
    seen = mixture(n, 100 + n)
    exact = overflow_by_fft(seen.histograms(1.0))
    tails = {}
    for estimator in (Saddlepoint(0.999), Chernoff(0.999)):
        fitted = fit(estimator, seen)
        tails[estimator.name] = predicted_overflow(pack_fitted(fitted, packer=FIRST_FIT), fitted)[0]
    assert tails["saddlepoint"] == pytest.approx(exact, rel=0.1)
    assert tails["chernoff"] >= exact


def test_cornish_fisher_quantile_by_hand():
    # skewness 0 and excess 0: the Gaussian quantile; z(.025) = 1.95996
    slack = CornishFisher.slack(
        np.zeros(5),
        np.array([0.5, 0.04, 0, 0, 9]),
        np.ones(1),
        np.array([1.959964]),
    )
    assert slack == pytest.approx(0.5 - 0.2 * 1.959964)
    # one task, skewness γ = ½: + γ(z² − 1)/6 − γ²(2z³ − 5z)/36
    z = 2.0
    expected = 0.5 - 0.2 * (z + 0.25 - 1.5 / 36)
    room = CornishFisher.slack(
        np.zeros(5),
        np.array([0.5, 0.04, 0.004, 0, 9]),
        np.ones(1),
        np.array([z]),
    )
    assert room == pytest.approx(expected)


@pytest.mark.parametrize(
    ("skewness", "excess", "z", "rises"),
    [
        (0.0, 0.0, 9.0, True),  # the Gaussian quantile itself
        # without skewness the derivative is K/8 t² + 1 − K/8: everywhere above 0 for K in 0 … 8 (Maillard's domain)
        (0.0, 7.9, 9.0, True),
        (0.0, 8.1, 0.5, False),
        (0.0, -1.0, 2.99, True),  # 1.125 − t²/8 is 0 at t = 3
        (0.0, -1.0, 3.01, False),
        # skewness 2: (K/8 − 2/3)(14/9 − K/8) ≥ 1/9, so K in 6.54 … 11.24
        (2.0, 6.5, 9.0, False),
        (2.0, 6.6, 9.0, True),
        (2.0, 11.2, 9.0, True),
        (2.0, 11.3, 9.0, False),
        (-2.0, 11.2, 9.0, True),
    ],
)
def test_where_the_cornish_fisher_quantile_rises(
    skewness,
    excess,
    z,
    rises,
):
    assert is_monotone(skewness, excess, z) == rises


def test_cornish_fisher_refuses_where_its_quantile_falls_unless_the_peaks_fit():
    # one draw of a hundred is a burst: skewness .98 / √(.01 · .99) = 9.85, K/8 − S²/6 = −4.2
    bursts = np.zeros((2, 100), np.float32)
    bursts[0, 0], bursts[1, 1] = 0.9, 0.9
    assert pack(CornishFisher(0.001), Observation(bursts), rebalancing=False).bins.tolist() == [
        0,
        1,
    ]
    assert pack(CornishFisher(0.001), Observation(bursts * np.float32(0.5))).bins.tolist() == [0, 0]
    assert pack(CornishFisher(0.001), Observation(bursts * np.float32(1.2))).bins.tolist() == [
        -1,
        -1,
    ]


def test_cornish_fisher_takes_what_the_peaks_allow_at_every_target():
    # 0 or .5, twice: mean .5, deviation .354, excess −1; the quantile at z = 1.28 is .98, at 2.33 it is 1.24
    coins = Observation(
        np.tile(
            np.float32([0.0, 0.5]),
            (2, 100),
        )
    )
    for target in (0.1, 0.01, 1e-6):
        assert pack(CornishFisher(target), coins, rebalancing=False).bins.tolist() == [0, 0]
    # .55 each: 1.1 in a quarter of the draws
    assert pack(CornishFisher(0.01), Observation(coins.values * np.float32(1.1))).n_bins == 2


def test_gpa_with_covariances_predicts_their_tail():
    # in step: mean .6, deviation .2; in counter-step 0.6 for sure, but never believed below GPA: √.02
    one = np.float32([[0.2, 0.4] * 100])
    for other, deviation in ((one, 0.2), (one[:, ::-1], math.sqrt(0.02))):
        together = np.concatenate([one, other])
        fitted = fit(CovarianceGpa(0.1), Observation(together, series=together))
        packing = pack_fitted(fitted)
        assert packing.bins.tolist() == [0, 0]
        assert predicted_overflow(packing, fitted) == pytest.approx(
            [norm.sf(0.4 / deviation)], rel=1e-5
        )


def test_the_calibrated_gpa_says_which_target_it_used_and_has_to_learn_it():
    bare = CalibratedGpa(0.001)
    assert bare.label == "gpa-calibrated 0.001"
    with pytest.raises(UsageError) as caught:
        pack(bare, constant(0.5))
    assert str(caught.value) == (
        "estimator gpa-calibrated 0.001: has not learned its target: expected prepared() with held-out tasks first; "
        "or use gpa:0.001"
    )
    # overflows twice as often as told: it is told half, found to within .2 % from below
    learned = bare.prepared(lambda tried: [2 * each.parameter for each in tried])
    assert 0.998 * 0.0005 <= learned.used <= 0.0005
    assert learned.label == f"gpa-calibrated 0.001 (told {learned.used:.3g})"
    assert (
        pack(learned, constant(0.5, 0.5)).bins.tolist()
        == pack(Gpa(0.0005), constant(0.5, 0.5)).bins.tolist()
    )


def test_bounds_by_hand():
    seen = Observation(np.float32([[0, 1]] * 2))  # means .5, variances .25, range 1
    log = math.log(10)
    hoeffding = fit(Hoeffding(0.1), seen, 3.0)
    zero = np.zeros(2)
    assert Hoeffding.slack(
        zero, hoeffding.items[0], np.array([3.0]), hoeffding.parameters
    ) == pytest.approx(3 - 0.5 - math.sqrt(0.5 * log))
    bernstein = fit(Bernstein(0.1), seen, 3.0)
    third = log * 0.5 / 3
    assert Bernstein.slack(
        np.zeros(3),
        bernstein.items[0],
        np.array([3.0]),
        bernstein.parameters,
    ) == pytest.approx(3 - 0.5 - third - math.sqrt(third**2 + 2 * log * 0.25))


def test_histogram_keeps_the_mean_and_counts_what_is_beyond():
    out = np.empty((1, 2 + 5))
    histograms(np.float32([[0.25, 0.5, 3.0, 1.125]]), 0.5, out)
    # cells 0, .5, 1, 1.5, 2; .25 → half/half, 1.125 → ¾ at 1 and ¼ at 1.5; 3.0 beyond
    assert out[0, 2:].tolist() == pytest.approx([0.125, 0.375, 0.1875, 0.0625, 0.0])
    assert out[0, :2].tolist() == [0, 3]
