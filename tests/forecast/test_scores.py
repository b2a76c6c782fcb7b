"""Scores of quantiles, by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import borgtrace
from borgtrace.forecast import FORECAST, FORECASTERS, Past, examples
from borgtrace.forecast.adapters import from_function
from borgtrace.forecast.scores import pinball_loss, score
from borgtrace.forecast.series import HORIZONS
from borgtrace.forecast.trained import LEVELS, Forecasts, TrainedForecaster, train
from borgtrace.kernels.arrays import Numbers
from tests.forecast.test_by_hand import example, joined
from tests.forecast.test_forecast import cell, noisy

__all__ = ["cell"]


def uniform(n_rows: int) -> Forecasts:
    """Every value from 0 to 1 is as likely as another: the quantile of a probability is the probability."""
    quantiles = np.tile(np.array(LEVELS), (n_rows, HORIZONS, 1))
    return Forecasts(quantiles.mean(axis=2), np.ones((n_rows, HORIZONS)), quantiles)


def test_losses_of_a_quantile() -> None:
    # Of 90 %: what comes .2 above costs .9 · .2, what comes .2 below .1 · .2.
    losses = pinball_loss(np.array([0.7, 0.3]), np.array([0.5, 0.5]), 0.9)
    assert losses.tolist() == pytest.approx([0.18, 0.02])


def test_the_score_of_a_uniform_forecast() -> None:
    (row, *_) = score(uniform(1), example(20, 0.5, 0.0)).rows()
    # Nothing comes: the loss at τ is (1 − τ) · τ, Σ τ(1 − τ) over 1/20 … 19/20 is 1330/400, twice its mean .35.
    assert row["crps"] == pytest.approx(0.35)
    assert row["mean_error"] == pytest.approx(0.5)
    # 0 is below both intervals; that of 90 % is .05 to .95.
    assert row["coverage"] == row["coverage_80"] == 0.0
    assert row["width"] == pytest.approx(0.9)


def test_what_came_is_counted_within_each_interval() -> None:
    came = [0.04, 0.05, 0.07, 0.1, 0.5, 0.9, 0.92, 0.95, 0.96, float("nan")]
    later = joined(*(example(slot, 0.5, value) for slot, value in enumerate(came, 20)))
    (row, *_) = score(uniform(10), later).rows()
    # Bounds belong to the interval; what is not known does not count.
    assert row["forecasts"] == 9
    assert row["coverage"] == pytest.approx(7 / 9)
    assert row["coverage_80"] == pytest.approx(3 / 9)


def test_of_a_forecast_that_is_sure_the_score_is_its_error() -> None:
    sure = Forecasts(np.full((2, HORIZONS), 0.5), np.zeros((2, HORIZONS)))
    (row, *_) = score(sure, joined(example(20, 0.5, 0.8), example(21, 0.5, 0.4))).rows()
    assert row["crps"] == pytest.approx(0.2)
    assert row["mean_error"] == pytest.approx(0.2)


def test_gaussian_quantiles_score_as_the_formula_says() -> None:
    """CRPS of N(0, 1) at 0 is (√2 − 1)/√π = .2337; nineteen quantiles, without the tails, say 4 % more."""
    gaussian = Forecasts(np.zeros((1, HORIZONS)), np.ones((1, HORIZONS)))
    (row, *_) = score(gaussian, example(20, 0.5, 0.0)).rows()
    assert row["crps"] == pytest.approx(1.04 * (np.sqrt(2) - 1) / np.sqrt(np.pi), rel=0.002)


def test_mean_and_deviation_of_quantiles() -> None:
    def quantiles(past: Past, horizon: int, levels: Sequence[float]) -> Numbers:
        return np.tile(np.array(levels) ** 2, (len(past), horizon, 1))

    trained = TrainedForecaster(from_function("squares", quantiles), np.ones(HORIZONS), 0.0)
    forecasts = trained.forecast(example(20, 0.5, 0.5))
    # The mean of (i/20)² for i from 1 to 19 is 2470/7600 = .325; .95² − .05² is .9, over 2 · 1.6449.
    assert forecasts.mean == pytest.approx(np.full((1, HORIZONS), 0.325))
    assert forecasts.deviation == pytest.approx(np.full((1, HORIZONS), 0.9 / (2 * 1.6448536)))


def test_quantiles_of_ones_own_are_judged_beside_means(cell: Path) -> None:
    """Quantiles that are all the newest value: the score is the error of persistence, and nothing is covered."""

    def sure(past: Past, horizon: int, levels: Sequence[float]) -> Numbers:
        newest = past.usage[:, -1:].repeat(horizon, axis=1)
        return np.repeat(newest[:, :, None], len(levels), axis=2)

    forecasters = ("persistence", from_function("sure", sure))
    rows = borgtrace.open(cell).ask(FORECAST, forecasters=forecasters).table.to_pylist()
    persistence, own = (
        [row for row in rows if row["forecaster"] == name] for name in ("persistence", "sure")
    )
    assert [row["crps"] for row in own] == pytest.approx([row["mean_error"] for row in persistence])
    assert {row["coverage_80"] for row in own} == {0.0}
    assert all(row["crps"] < row["mean_error"] for row in persistence)


def test_intervals_of_ours_cover_what_they_say() -> None:
    found = noisy(2)
    known = examples(found, 0, 450, 10**6, 0)
    later = examples(found, 449, 600, 10**6, 0)
    rows = score(train(FORECASTERS["autoregression"](), known).forecast(later), later).rows()
    for row in rows:
        assert row["coverage_80"] == pytest.approx(0.8, abs=0.04)
        assert row["coverage"] == pytest.approx(0.9, abs=0.03)
