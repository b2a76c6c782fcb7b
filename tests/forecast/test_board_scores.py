"""The metrics of a public board, on labels and forecasts that are worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from borgtrace.forecast.board.baselines import Naive, SeasonalNaive
from borgtrace.forecast.board.scores import score_window, seasonal_errors
from borgtrace.forecast.panel import filled, unpaired
from borgtrace.kernels.arrays import Numbers, Values

NAN = float("nan")
LEVELS = (0.1, 0.5, 0.9)


def values(*rows: list[float]) -> Values:
    return np.array(rows, np.float32)


def test_a_label_counts_by_each_metric() -> None:
    """y = 4 by the quantiles 1, 3 and 6; s = 0.5.

    Losses: 2·3·0.1 = 0.6; 2·1·0.5 = 1; 2·2·0.1 = 0.4; their mean over |y|: (2/3)/4.
    """
    forecasts = np.array([[[1.0, 3.0, 6.0]]])
    sums = score_window(values([4]), forecasts, np.array([0.5]), LEVELS)
    assert sums.losses == pytest.approx([0.6, 1.0, 0.4])
    assert sums.crps == pytest.approx(2 / 12)
    assert sums.mase == pytest.approx(2)
    assert sums.mae == pytest.approx(1)
    assert sums.smape == pytest.approx(2 / 7)
    assert sums.labels == 1


def test_quantiles_are_neither_sorted_nor_clipped() -> None:
    """The quantile .1 above y, and the quantile .9 below 0: 2·1·0.9 and 2·6·0.9."""
    sums = score_window(values([4]), np.array([[[5.0, 4.0, -2.0]]]), np.array([1.0]), LEVELS)
    assert sums.losses == pytest.approx([1.8, 0.0, 10.8])


def test_all_quantiles_at_one_point_are_the_absolute_error() -> None:
    labels = values([4, 0, 7])
    forecasts = np.repeat(np.array([[[3.0], [2.0], [7.0]]]), 3, axis=2)
    sums = score_window(labels, forecasts, np.array([1.0]), LEVELS)
    assert sums.crps == pytest.approx(3 / 11)


def test_a_missing_label_is_not_scored() -> None:
    known = score_window(values([4]), np.array([[[1.0, 3.0, 6.0]]]), np.array([0.5]), LEVELS)
    forecasts = np.array([[[1.0, 3.0, 6.0], [90.0, 90.0, 90.0]]])
    sums = score_window(values([4, NAN]), forecasts, np.array([0.5]), LEVELS)
    assert sums.labels == 1
    for metric in ("crps", "mase", "mae", "smape"):
        assert getattr(sums, metric) == getattr(known, metric)


@pytest.mark.parametrize("scale", [0.0, NAN])
def test_a_series_without_a_seasonal_error_drops_out_of_mase_alone(scale: float) -> None:
    """Errors 1 and 3; only the first has an s."""
    forecasts = np.array([[[3.0] * 3], [[1.0] * 3]])
    sums = score_window(values([4], [4]), forecasts, np.array([0.5, scale]), LEVELS)
    assert sums.mase == 2
    assert sums.n_scaled == 1
    assert sums.mae == 2


def test_nothing_over_nothing_drops_out_of_smape() -> None:
    """0 by 0 does not count; 0 by 1 counts 2."""
    forecasts = np.array([[[0.0] * 3, [1.0] * 3]])
    sums = score_window(values([0, 0]), forecasts, np.array([1.0]), LEVELS)
    assert sums.smape == 2
    assert sums.n_relative == 1
    assert sums.mae == 0.5


def test_windows_are_pooled_by_labels_and_not_averaged() -> None:
    """One window with one label of error 1 and s = 1, one with three of error 3."""
    one = score_window(values([4, NAN, NAN]), 3 * np.ones((1, 3, 3)), np.ones(1), LEVELS)
    three = score_window(values([4, 4, 4]), np.ones((1, 3, 3)), np.ones(1), LEVELS)
    both = one.plus(three)
    assert both.mase == pytest.approx((1 + 3 * 3) / 4)
    assert both.crps == pytest.approx((1 + 9) / 16)
    assert both.labels == 4


def test_the_seasonal_error_is_of_the_history_before_the_window() -> None:
    """|3 − 1| before the first window, |3 − 1| and |9 − 5| before the second; pairs with a gap are left out."""
    row = np.full(293, NAN)
    row[[0, 1, 2]] = 1, 5, 7
    row[[288, 289]] = 3, 9
    # Of bin 290 the day before is known and it is not; of 291 neither.
    assert seasonal_errors(values(row.tolist()), np.array([288, 289, 290, 293])) == pytest.approx(
        np.array([[NAN], [2], [3], [3]]), nan_ok=True
    )


def test_gaps_are_filled_as_the_baselines_fill_them() -> None:
    rows = values([NAN, 2, NAN, 5, NAN], [NAN] * 5, [0, NAN, 1, NAN, NAN])
    assert filled(rows).tolist() == [[2, 2, 2, 5, 5], [0] * 5, [0, 0, 1, 1, 1]]


def test_naive_is_the_last_value_and_a_random_walk() -> None:
    """Steps 1 and 3: σ² = 5; the quantile .9 is 1.2816 deviations above."""
    panel = unpaired(values([1, 2, 5]))
    forecasts: Numbers = Naive().predict_panel(panel, 4, (0.1, 0.5, 0.9))
    assert forecasts.shape == (1, 4, 3)
    assert forecasts[0, :, 1].tolist() == [5] * 4
    above = 1.2815515655446004 * np.sqrt(5 * np.arange(1, 5))
    assert forecasts[0, :, 2] == pytest.approx(5 + above)
    assert forecasts[0, :, 0] == pytest.approx(5 - above)


def test_seasonal_naive_is_the_day_before_and_does_not_widen() -> None:
    """Two days of 0, 1, 2 …: the second is 3 above the first, σ = 3."""
    day = np.arange(288.0)
    panel = unpaired(values([*day, *(day + 3)]))
    forecasts: Numbers = SeasonalNaive().predict_panel(panel, 3, (0.5, 0.9))
    assert forecasts[0, :, 0].tolist() == [3, 4, 5]
    assert forecasts[0, :, 1] == pytest.approx(forecasts[0, :, 0] + 3 * 1.2815515655446004)
