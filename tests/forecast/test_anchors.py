"""Forecasts by anchors: on patterns whose continuation is known, and mixtures that are worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from borgtrace.forecast.analogs import LEAST_HISTORY, AnalogPattern, analogs, history_of
from borgtrace.forecast.anchors import Anchors, anchors_ahead, only_analogs, prior
from borgtrace.forecast.board.protocol import HORIZON, QUANTILES
from borgtrace.forecast.panel import AMOUNT, PERCENT, Panel, unpaired
from borgtrace.kernels.arrays import Numbers, Values
from borgtrace.learning.mixture import interpolation, knots, quantiles_of
from borgtrace.testing import check_forecaster

NAN = np.float32("nan")
N_BINS = 700
PERIOD = 37


def square_wave(n_bins: int) -> Values:
    """A machine that is off for 25 bins and full for 12, again and again."""
    return np.where(np.arange(n_bins) % PERIOD < 25, 0, 100).astype(np.float32)


def mixed_panel(n_bins: int = N_BINS) -> Panel:
    """Two VMs in MHz and percent; series with gaps, a late one, a constant one, and one without a value."""
    rng = np.random.default_rng(0)
    wave = square_wave(n_bins) * 24
    noisy = (300 + 50 * rng.standard_normal(n_bins)).astype(np.float32)
    gaps = np.where(rng.random(n_bins) < 0.3, NAN, noisy)
    late = np.where(np.arange(n_bins) < 500, NAN, noisy)
    constant = np.full(n_bins, 7, np.float32)
    values = np.stack([wave, wave / 24, noisy, noisy / 24, gaps, late, constant, constant * NAN])
    partner = np.array([1, 0, 3, 2, -1, -1, -1, -1])
    measure = np.array([AMOUNT, PERCENT] * 2 + [AMOUNT] * 4, np.int8)
    return Panel(values.astype(np.float32), partner, measure)


@pytest.fixture(scope="module")
def trained() -> Anchors:
    """A forecaster that has learned from the first 600 bins."""
    forecaster = Anchors()
    forecaster.fit_panel(mixed_panel().before(600), HORIZON, QUANTILES)
    return forecaster


def forecast(forecaster: Anchors, panel: Panel) -> Numbers:
    return forecaster.predict_panel(panel, HORIZON, QUANTILES)


@pytest.mark.wide
def test_it_keeps_the_contract_of_forecasters() -> None:
    check_forecaster(Anchors)


def test_a_pattern_that_repeats_is_forecast_from_its_repetition() -> None:
    """Even a period that no lag of the forecaster has, and analogs that are nearer than the forecast reaches."""
    known = history_of(square_wave(N_BINS)[None])
    ends, _ = analogs(known, AnalogPattern(32, 1, fade=0.9, kept=4))
    ahead = anchors_ahead(known, [ends], np.arange(1, HORIZON + 1))
    came = square_wave(N_BINS + HORIZON)[N_BINS:]
    assert (ahead[0, :, :11] == came[:, None]).all()
    assert ((N_BINS - ends) % PERIOD == 0).all()


def test_a_pattern_is_continued_although_it_has_been_learned_from_nothing_like_it() -> None:
    forecaster = Anchors()
    constant = unpaired(np.ones((3, N_BINS), np.float32))
    forecaster.fit_panel(constant, HORIZON, QUANTILES)
    middle = forecast(forecaster, unpaired(square_wave(N_BINS)[None]))[0, :, 4]
    assert middle.tolist() == square_wave(N_BINS + HORIZON)[N_BINS:].tolist()


def test_forecasts_are_numbers_that_ascend_within_what_a_series_has_been_through(
    trained: Anchors,
) -> None:
    panel = mixed_panel()
    forecasts = forecast(trained, panel)
    assert np.isfinite(forecasts).all()
    assert (np.diff(forecasts, axis=2) >= 0).all()
    known = np.nan_to_num(panel.values, nan=0)[:7]
    assert (forecasts[:7].max(axis=(1, 2)) <= known.max(axis=1)).all()
    assert (forecasts[6] == 7).all()
    assert (forecasts[7] == 0).all()


def test_a_history_may_be_short_or_empty(trained: Anchors) -> None:
    nothing = forecast(trained, mixed_panel().before(0))
    assert (nothing == 0).all()
    one_bin = forecast(trained, mixed_panel().before(1))
    assert (one_bin[2] == mixed_panel().values[2, 0]).all()
    assert history_of(np.ones((2, 5), np.float32)).shape == (2, LEAST_HISTORY)


def test_what_comes_later_changes_no_forecast(trained: Anchors) -> None:
    panel = mixed_panel()
    before = forecast(trained, panel.before(640))
    panel.values[:, 640:] = -1e6
    again = Anchors()
    again.fit_panel(panel.before(600), HORIZON, QUANTILES)
    assert forecast(again, panel.before(640)).tobytes() == before.tobytes()


def test_forecasts_have_no_unit(trained: Anchors) -> None:
    """Values of 1,024 times the size are forecast so: a power of two, so that nothing is rounded otherwise."""
    panel = mixed_panel().before(640)
    larger = unpaired(panel.values * 1024)
    assert forecast(trained, larger) == pytest.approx(forecast(trained, panel) * 1024)


def test_series_in_percent_teach_nothing_that_their_partners_do_not() -> None:
    panel = mixed_panel().before(600)
    forecaster = Anchors()
    forecaster.fit_panel(panel, HORIZON, QUANTILES)
    panel.values[[1, 3]] = np.random.default_rng(1).random((2, 600), np.float32)
    other = Anchors()
    other.fit_panel(panel, HORIZON, QUANTILES)
    seen = mixed_panel().before(640)
    assert forecast(forecaster, seen).tobytes() == forecast(other, seen).tobytes()


def test_quantiles_of_a_mixture() -> None:
    """0 with 50 %, 2 with 30 %, 10 with 20 %: the median is 0, and 10 begins above 80 %."""
    anchors = np.array([[[10, 0, 2]]], np.float32)
    probability = np.array([[[0.2, 0.5, 0.3]]], np.float32)
    levels = quantiles_of(anchors, probability, (0.1, 0.5, 0.6, 0.8, 0.9))
    assert levels[0, 0].tolist() == [0, 0, 2, 2, 10]


def test_crps_of_a_mixture() -> None:
    """0 or 10 with 50 % each: F is 1/2 between, so that the integral is 10/4 wherever the label is.

    Of 0 with 80 % and 10 with 20 % it is 10·0.2² = 0.4 at 0, and 10·0.8² = 6.4 at 10.
    """
    torch = pytest.importorskip("torch")
    from borgtrace.learning.mixture import crps

    anchors = torch.tensor([[[10.0, 0.0]] * 4])
    targets = torch.tensor([[0.0, 10.0, 4.0, float("nan")]])
    even = torch.full((1, 4, 2), 0.5)
    assert crps(anchors, even, targets).item() == pytest.approx(2.5)
    mostly_zero = torch.tensor([[[0.2, 0.8]] * 4])
    at_zero = torch.tensor([[0.0, float("nan"), float("nan"), float("nan")]])
    assert crps(anchors, mostly_zero, at_zero).item() == pytest.approx(0.4)
    at_ten = torch.tensor([[float("nan"), 10.0, 10.0, float("nan")]])
    assert crps(anchors, mostly_zero, at_ten).item() == pytest.approx(6.4)


def test_the_network_speaks_of_a_few_steps() -> None:
    """At a knot it is the knot's alone; between two knots their parts make one."""
    assert knots(48).tolist() == [1, 2, 3, 5, 9, 16, 28, 48]
    parts = interpolation(np.arange(1, 49), 48)
    assert parts.sum(axis=1) == pytest.approx(1)
    assert parts[27].tolist() == [0, 0, 0, 0, 0, 0, 1, 0]
    assert parts[5, 3] == pytest.approx(np.log(9 / 6) / np.log(9 / 5))


def test_what_the_network_begins_with_is_probabilities() -> None:
    assert only_analogs().sum() == pytest.approx(1)
    assert prior().sum() == pytest.approx(1)
    assert (prior() > 0).all()
