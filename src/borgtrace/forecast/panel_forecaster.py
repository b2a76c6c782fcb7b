"""The base class of forecasters that see whole panels: all series at once, as far back as they go."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from borgtrace.forecast.forecaster import Forecaster
from borgtrace.forecast.panel import Panel, unpaired
from borgtrace.forecast.series import DAY, HORIZONS, PAST, Examples, Past
from borgtrace.forecast.trained import LEVELS
from borgtrace.kernels.arrays import Numbers, Values


class PanelForecaster(Forecaster):
    """Forecasts quantiles of all series of a panel; a subclass has `name`, `about` and :meth:`predict_panel`.

    A public board asks it for whole panels.  It is a :class:`Forecaster`, too: in a back-test each example becomes a
    series of its own, of which the last hour and the values a day before the next one are known.

    Attributes
    ----------
    adapts
        Whether it learns from windows that are past when it forecasts a later one.  It is then asked window after
        window, and may keep what it learns; otherwise each window is asked of a copy of what :meth:`fit_panel` left.

    Examples
    --------
    >>> class LastValue(PanelForecaster):
    ...     name = "last-value"
    ...     about = "the newest value, 0 where there is none"
    ...
    ...     def predict_panel(self, panel, horizon, quantiles):
    ...         newest = np.nan_to_num(panel.values[:, -1])
    ...         return np.broadcast_to(newest[:, None, None], (panel.n_series, horizon, len(quantiles)))
    """

    adapts: bool = False

    def fit_panel(self, panel: Panel, horizon: int, quantiles: Sequence[float]) -> None:
        """Learn from what came before the first window.

        Parameters
        ----------
        panel
            A copy, which it may change.
        horizon
            How many bins it will be asked to forecast.
        quantiles
            Probabilities, ascending, that it will be asked for.
        """

    @abstractmethod
    def predict_panel(self, panel: Panel, horizon: int, quantiles: Sequence[float]) -> Numbers:
        """Forecast the bins that follow a panel.

        Parameters
        ----------
        panel
            All that is known, from the first bin on; a copy, which it may change.
        horizon
            How many bins.
        quantiles
            Probabilities, ascending.

        Returns
        -------
        float (n_series, horizon, len(quantiles))
            Finite, also of series without a value.
        """

    def fit(self, train: Examples) -> None:
        """Learn from examples, each as a series that ends with its target."""
        panel = unpaired(
            np.concatenate([_a_day(train), train.target.astype(np.float32)], axis=1), DAY
        )
        self.fit_panel(panel, HORIZONS, LEVELS)

    def predict(self, past: Past, horizon: int, quantiles: Sequence[float]) -> Numbers:
        """Forecast each row as a series."""
        return self.predict_panel(unpaired(_a_day(past), DAY), horizon, quantiles)


def _a_day(past: Past) -> Values:
    """Return a day of each row: its first hour is a day before the next one, its last the newest; float32 (n, DAY)."""
    day = np.full((len(past), DAY), np.nan, np.float32)
    day[:, :HORIZONS] = past.day_before[:, :HORIZONS]
    day[:, DAY - PAST :] = past.usage
    return day
