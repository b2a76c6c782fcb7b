"""The two baselines that every public board has, as the library statsforecast computes them.

Gaps are filled before: the last value is carried on, the first one is taken before it, and 0 where there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from borgtrace.forecast.panel import Panel, filled
from borgtrace.forecast.panel_forecaster import PanelForecaster
from borgtrace.forecast.series import DAY
from borgtrace.kernels.arrays import Numbers, Values
from borgtrace.kernels.compiled import compiled


class Naive(PanelForecaster):
    """The last value ± z·σ·√h: a random walk whose steps were those of the history."""

    name = "naive"
    about = "the newest value, and the steps of the history as a random walk"

    def predict_panel(self, panel: Panel, horizon: int, quantiles: Sequence[float]) -> Numbers:
        """Repeat the last value; the interval widens."""
        history = filled(panel.values)
        ahead = np.sqrt(np.arange(1, horizon + 1))
        deviation = root_mean_square_step(history, 1)[:, None] * ahead
        mean = np.repeat(history[:, -1:].astype(np.float64), horizon, axis=1)
        return gaussian_quantiles(mean, deviation, quantiles)


class SeasonalNaive(PanelForecaster):
    """The value a day before ± z·σ, σ of the differences between days; of a panel of more than a day."""

    name = "seasonal-naive"
    about = "the value a day before, and the differences between days"

    def predict_panel(self, panel: Panel, horizon: int, quantiles: Sequence[float]) -> Numbers:
        """Repeat the day before."""
        history = filled(panel.values)
        begin = panel.n_bins - DAY
        mean = history[:, begin : begin + horizon].astype(np.float64)
        deviation = np.repeat(root_mean_square_step(history, DAY)[:, None], horizon, axis=1)
        return gaussian_quantiles(mean, deviation, quantiles)


def gaussian_quantiles(mean: Numbers, deviation: Numbers, quantiles: Sequence[float]) -> Numbers:
    """Return quantiles of normal distributions: float64 (series, horizon, quantiles).

    Parameters
    ----------
    mean, deviation
        float64 (series, horizon).
    quantiles
        Probabilities.
    """
    scores = np.array([NormalDist().inv_cdf(quantile) for quantile in quantiles])
    return mean[:, :, None] + deviation[:, :, None] * scores


@compiled()
def root_mean_square_step(history: Values, lag: int) -> Numbers:
    """Return the root of the mean squared difference between bins so far apart: float64 (series,)."""
    roots = np.zeros(history.shape[0])
    for row in range(history.shape[0]):
        total = 0.0
        for column in range(lag, history.shape[1]):
            step = np.float64(history[row, column]) - np.float64(history[row, column - lag])
            total += step * step
        roots[row] = np.sqrt(total / max(1, history.shape[1] - lag))
    return roots


BASELINES: dict[str, type[PanelForecaster]] = {kind.name: kind for kind in (Naive, SeasonalNaive)}
"""By name; outside a board persistence and seasonal say the same with intervals that were tested."""
