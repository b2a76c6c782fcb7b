"""The metrics of GIFT-Eval, pooled over all labels of all series and windows; missing labels do not count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from borgtrace.forecast.series import DAY
from borgtrace.kernels.arrays import Index, Numbers, Values
from borgtrace.kernels.compiled import compiled

MEDIAN = 0.5


class BoardSums(NamedTuple):
    """Sums over the labels of one window, or of several.

    Attributes
    ----------
    labels
        How many labels are known.
    absolute
        Σ|y − q.5|.
    scaled, n_scaled
        Σ|y − q.5| / s, and how many labels have an s above 0.
    relative, n_relative
        Σ 2·|y − q.5| / (|y| + |q.5|), and for how many that is not 0/0.
    losses
        float64 (quantiles,): Σ 2·|(y − ŷ)·(1[ŷ ≥ y] − q)|.
    total
        Σ|y|.
    """

    labels: int
    absolute: float
    scaled: float
    n_scaled: int
    relative: float
    n_relative: int
    losses: Numbers
    total: float

    def plus(self, other: BoardSums) -> BoardSums:
        """Return the sums of both."""
        return BoardSums(
            labels=self.labels + other.labels,
            absolute=self.absolute + other.absolute,
            scaled=self.scaled + other.scaled,
            n_scaled=self.n_scaled + other.n_scaled,
            relative=self.relative + other.relative,
            n_relative=self.n_relative + other.n_relative,
            losses=self.losses + other.losses,
            total=self.total + other.total,
        )

    @property
    def mase(self) -> float:
        """Mean absolute error in units of the seasonal one; NaN where no label has any."""
        return _ratio(self.scaled, self.n_scaled)

    @property
    def crps(self) -> float:
        """Mean over the quantiles of the weighted sum of their losses."""
        return _ratio(float(self.losses.mean()), self.total)

    @property
    def mae(self) -> float:
        """Mean absolute error."""
        return _ratio(self.absolute, self.labels)

    @property
    def smape(self) -> float:
        """Symmetric mean absolute percentage error, from 0 to 2."""
        return _ratio(self.relative, self.n_relative)


def _ratio(total: float, count: float) -> float:
    return float(total / count) if count else float("nan")


def score_window(
    labels: Values, forecasts: Numbers, seasonal_error: Numbers, quantiles: Sequence[float]
) -> BoardSums:
    """Return the sums of one window.

    Parameters
    ----------
    labels
        float32 (series, horizon): what came; NaN where that is not known.
    forecasts
        (series, horizon, quantiles), neither sorted nor clipped.
    seasonal_error
        float64 (series,): s of each series; NaN where it is not defined.
    quantiles
        Probabilities, .5 among them.

    Examples
    --------
    >>> sums = score_window(np.array([[3, np.nan]], np.float32), np.full((1, 2, 1), 2.0), np.array([2.0]), [0.5])
    >>> sums.mase, sums.mae, sums.smape, round(sums.crps, 4)
    (0.5, 1.0, 0.4, 0.3333)
    """
    y = labels.astype(np.float64)
    median = forecasts[:, :, list(quantiles).index(MEDIAN)].astype(np.float64)
    is_known = ~np.isnan(y)
    error = np.abs(y - median)
    has_scale = is_known & (seasonal_error > 0)[:, None]
    scale = np.broadcast_to(seasonal_error[:, None], y.shape)
    size = np.abs(y) + np.abs(median)
    has_size = is_known & (size > 0)
    losses = []
    for number, quantile in enumerate(quantiles):
        forecast = forecasts[:, :, number].astype(np.float64)
        loss = 2 * np.abs((y - forecast) * ((forecast >= y) - quantile))
        losses.append(loss[is_known].sum())
    return BoardSums(
        labels=int(is_known.sum()),
        absolute=float(error[is_known].sum()),
        scaled=float((error[has_scale] / scale[has_scale]).sum()),
        n_scaled=int(has_scale.sum()),
        relative=float((2 * error[has_size] / size[has_size]).sum()),
        n_relative=int(has_size.sum()),
        losses=np.array(losses),
        total=float(np.abs(y[is_known]).sum()),
    )


def seasonal_errors(values: Values, origins: Index) -> Numbers:
    """Return s of each series before each window: mean |y(t) − y(t − 288)|, pairs with a gap left out.

    Parameters
    ----------
    values
        float32 (series, bins).
    origins
        int64 (windows,): first bins of the windows, ascending.

    Returns
    -------
    float64 (windows, series)
        NaN where no pair is whole.
    """
    return _errors_before(values, origins, DAY)


@compiled()
def _errors_before(values: Values, origins: Index, lag: int) -> Numbers:
    errors = np.full((len(origins), values.shape[0]), np.nan)
    for row in range(values.shape[0]):
        total = 0.0
        n_pairs = 0
        column = lag
        for window in range(len(origins)):
            while column < origins[window]:
                step = np.float64(values[row, column]) - np.float64(values[row, column - lag])
                if not np.isnan(step):
                    total += abs(step)
                    n_pairs += 1
                column += 1
            if n_pairs:
                errors[window, row] = total / n_pairs
    return errors
