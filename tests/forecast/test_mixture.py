"""The forecaster mixture: its weights by hand, and what it says of series whose future is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from borgtrace.forecast import FORECAST, Panel
from borgtrace.forecast.mixture import (
    CANDIDATES,
    PARTS,
    MixtureForecaster,
    fixed_candidates,
    least_crps,
    moving_candidates,
    similar_moments,
    weighted_quantiles,
)
from borgtrace.forecast.panel import unpaired
from borgtrace.kernels.arrays import Numbers
from borgtrace.testing import check_forecaster
from tests.forecast.test_forecast import cell

pytestmark = pytest.mark.wide  # compiles for half a minute

__all__ = ["cell"]

LEVELS = (0.1, 0.5, 0.9)


def test_weights_are_those_of_the_least_crps() -> None:
    """Of the candidates 0 and 1, and labels that are 0 in 7 of 10 cases, the mixture is right with 0.7 and 0.3.

    d = (0.3, 0.7), G = 1 between them: 0.3·w + 0.7·(1 − w) − w·(1 − w) is least at 0.7.
    """
    distance = np.array([[[0.3, 0.7]]])
    apart = np.array([[[[0.0, 1.0], [1.0, 0.0]]]])
    assert least_crps(distance, apart)[0, 0] == pytest.approx([0.7, 0.3], abs=1e-3)
    # The unit does not matter.
    assert least_crps(50 * distance, 50 * apart)[0, 0] == pytest.approx([0.7, 0.3], abs=1e-3)


def test_a_candidate_that_is_always_right_gets_all_weight() -> None:
    distance = np.array([[[0.0, 1.0, 2.0]]])
    apart = np.zeros((1, 1, 3, 3))
    assert least_crps(distance, apart)[0, 0, 0] > 0.99


def test_quantiles_are_values_up_to_which_so_much_weight_lies() -> None:
    values = np.array([5, 1, 3], np.float32)
    weights = np.array([0.5, 0.2, 0.3])
    levels = np.array([0.1, 0.2, 0.21, 0.5, 0.51, 1.0])
    assert weighted_quantiles(values, weights, levels).tolist() == [1, 1, 3, 3, 5, 5]


def test_no_candidate_sees_the_label_or_what_follows() -> None:
    """Whatever lies at and after the origin, the points are the same."""
    rng = np.random.default_rng(0)
    series = rng.uniform(1, 9, 900).astype(np.float32)
    other = series.copy()
    other[700:] = 100

    def points(of: Numbers) -> Numbers:
        filled = np.empty((CANDIDATES, 16), np.float32)
        near = similar_moments(of, 700)
        fixed_candidates(of, 700, filled)
        moving_candidates(of, 700, 48, near, filled)
        return filled

    assert np.array_equal(points(series), points(other))
    assert points(series).max() < 20


def trained_on(values: Numbers) -> MixtureForecaster:
    forecaster = MixtureForecaster()
    forecaster.fit_panel(unpaired(values.astype(np.float32)), 48, LEVELS)
    return forecaster


def test_what_never_changes_is_forecast_exactly() -> None:
    values = np.repeat([[0.0], [7.0], [2.5]], 1500, axis=1)
    forecasts = trained_on(values).predict_panel(unpaired(values.astype(np.float32)), 48, LEVELS)
    assert forecasts.shape == (3, 48, 3)
    assert np.array_equal(forecasts, np.broadcast_to(values[:, :1, None], forecasts.shape))


def test_a_switch_at_the_same_time_each_day_is_foreseen() -> None:
    """Off, and on from bin 200 to 260 of each day: forecast from bin 190 on, but for ten minutes around the switch."""
    bins = np.arange(10 * 288 + 190 + 48)
    values = np.where((bins % 288 >= 200) & (bins % 288 < 260), 100.0, 0.0)[None].repeat(4, axis=0)
    known = values[:, : 10 * 288 + 190].astype(np.float32)
    forecasts = trained_on(known).predict_panel(unpaired(known), 48, LEVELS)
    error = np.abs(forecasts[:, :, 1] - values[:, -48:])
    far_from_switch = np.abs(np.arange(48) - 10) > 2
    assert error[:, far_from_switch].max() == 0


def test_series_of_a_panel_have_weights_of_their_own_and_others_those_of_all() -> None:
    rng = np.random.default_rng(0)
    steady = 5 + rng.standard_normal((3, 1500)).cumsum(axis=1).clip(-4, 4)
    periodic = 50 + 40 * np.sin(np.arange(1500) * 2 * np.pi / 288) + rng.uniform(0, 1, (3, 1500))
    forecaster = trained_on(np.concatenate([steady, periodic]))
    assert forecaster.weights.shape == (6, PARTS, CANDIDATES)
    assert forecaster.weights.sum(axis=2) == pytest.approx(np.ones((6, PARTS)))
    # The same time of day counts for more where it tells more.
    by_time_of_day = forecaster.weights[:, 2, 5:8].sum(axis=1)
    assert by_time_of_day[3:].min() > by_time_of_day[:3].max()
    assert forecaster.pooled.sum(axis=1) == pytest.approx(np.ones(PARTS))


def test_it_keeps_the_contract() -> None:
    check_forecaster(MixtureForecaster)


def test_a_panel_of_nothing_is_forecast_as_nothing() -> None:
    values = np.full((2, 700), np.nan, np.float32)
    panel = Panel(values, np.array([1, 0]), np.array([0, 1], np.int8))
    forecaster = MixtureForecaster()
    forecaster.fit_panel(panel.before(652), 48, LEVELS)
    assert not forecaster.predict_panel(panel, 48, LEVELS).any()


def test_it_is_saved_and_judged_again(cell: Path, tmp_path: Path) -> None:
    """A file holds the weights of all together: the same forecasts, to the last bit."""
    model = str(tmp_path / "model.npz")
    options = {"folds": 1, "examples": 200}
    trained = FORECAST.run(cell, forecasters=("mixture",), save=model, **options)
    restored = FORECAST.run(cell, model=model, **options)
    assert trained.table.equals(restored.table)
