"""Ordinary forecasters on a board: they see the last hour of a series and the values of the day before, as of tasks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.forecast.backtest import MIN_TARGETS
from borgtrace.forecast.forecaster import Forecaster
from borgtrace.forecast.panel import Panel, filled
from borgtrace.forecast.panel_forecaster import PanelForecaster
from borgtrace.forecast.series import DAY, PAST, SLOTS, Examples, Past
from borgtrace.forecast.trained import LEVELS, TrainedForecaster, train
from borgtrace.kernels.arrays import Index, Numbers, Values


class ByExamples(PanelForecaster):
    """An ordinary forecaster, which learns from a sample of examples.

    Values are fractions of the largest one of their series before the first window, and gaps are filled.

    Parameters
    ----------
    forecaster
        It has learned nothing.
    examples
        At most so many are learned from.
    seed, device
        As for :func:`~borgtrace.forecast.trained.train`.
    """

    def __init__(self, forecaster: Forecaster, examples: int, seed: int, device: str) -> None:
        self.name = forecaster.name
        self.about = forecaster.about
        self.forecaster = forecaster
        self.examples = examples
        self.seed = seed
        self.device = device

    def fit_panel(self, panel: Panel, horizon: int, quantiles: Sequence[float]) -> None:
        """Draw examples, and learn from them.

        Raises
        ------
        UsageError
            There are too few.
        """
        self.largest = largest_values(panel.values)
        shares = panel.values / self.largest[:, None]
        # At least one: what is shorter than that holds no example, which is said below.
        origins = np.arange(DAY, max(DAY + 1, panel.n_bins - horizon + 1))
        n_cells = panel.n_series * len(origins)
        rng = np.random.default_rng(self.seed)
        cells = rng.choice(n_cells, min(self.examples, n_cells), replace=False)
        row, number = np.divmod(np.sort(cells), len(origins))
        known = examples_at(shares, row, DAY + number, horizon)
        if known.n_targets < MIN_TARGETS:
            raise UsageError(
                f"forecaster {self.name}",
                "too few examples before the first window",
                expected=f"{MIN_TARGETS} targets of each horizon",
                got=f"{known.n_targets:,}",
                way_out="a longer file set, or more --examples",
            )
        self.trained: TrainedForecaster = train(self.forecaster, known, self.seed, self.device)

    def predict_panel(self, panel: Panel, horizon: int, quantiles: Sequence[float]) -> Numbers:
        """Ask it of the newest hour of all series."""
        shares = filled(panel.values / self.largest[:, None])
        rows = np.arange(panel.n_series)
        past = past_at(shares, rows, np.full(panel.n_series, panel.n_bins), horizon)
        forecasts = self.trained.forecast(past)
        levels = [forecasts.quantile(LEVELS.index(quantile)) for quantile in quantiles]
        return np.stack(levels, axis=2) * self.largest[:, None, None]


def largest_values(values: Values) -> Values:
    """Return the largest value of each series, 1 where there is none above 0: float32 (series,)."""
    largest = np.max(np.nan_to_num(values), axis=1)
    return np.where(largest > 0, largest, np.float32(1))


def past_at(history: Values, row: Index, origin: Index, horizon: int) -> Past:
    """Return what is known before some bins.

    Parameters
    ----------
    history
        float32 (series, bins), without gaps.
    row, origin
        int64 (n,): series, and the bin before which it is seen; a day at least lies before that.
    horizon
        How many values a day before are shown.
    """
    hour = origin[:, None] + np.arange(-PAST, 0)
    day_before = origin[:, None] - DAY + np.arange(horizon)
    return Past(
        key=row * SLOTS + origin - 1,
        usage=history[row[:, None], hour].astype(np.float64),
        day_before=history[row[:, None], day_before].astype(np.float64),
    )


def examples_at(values: Values, row: Index, origin: Index, horizon: int) -> Examples:
    """Return examples: what was known before some bins, and what came; series that had not begun have none.

    Parameters
    ----------
    values
        float32 (series, bins), NaN where nothing was measured; of these targets stay NaN.
    row, origin, horizon
        As for :func:`past_at`.
    """
    is_known = ~np.isnan(values)
    # Before its first value a series is filled with it, which would tell the future.
    first_known = np.where(is_known.any(axis=1), is_known.argmax(axis=1), values.shape[1])
    has_begun = first_known[row] < origin
    row, origin = row[has_begun], origin[has_begun]
    past = past_at(filled(values), row, origin, horizon)
    target = values[row[:, None], origin[:, None] + np.arange(horizon)]
    return Examples(
        key=past.key,
        usage=past.usage,
        day_before=past.day_before,
        target=target.astype(np.float64),
    )
