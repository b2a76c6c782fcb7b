"""How well forecasts met what came: sums over back-tests, and the rows of the table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from borgtrace.forecast.series import Examples
from borgtrace.forecast.trained import HIGH, LEVELS, LOW, Forecasts
from borgtrace.kernels.arrays import Flags, Numbers
from borgtrace.question import Row
from borgtrace.schema.time import HOUR, WINDOW

REPORTED = (1, 3, 6, 12)
"""Slots ahead that have a row."""
LOW_80, HIGH_80 = LEVELS.index(0.1), LEVELS.index(0.9)


class ForecastScores(NamedTuple):
    """Sums over forecasts by reported horizon: float64 (4,).

    Attributes
    ----------
    n
        Forecasts.
    absolute, squared
        Errors.
    still
        Squared errors of a forecast that nothing changes.
    pinball
        Losses of the quantiles of `LEVELS`, summed over them.
    inside, width
        How often what came was in the interval of 90 %, and its width.
    inside_80
        How often what came was between the quantiles of 10 % and 90 %.
    """

    n: Numbers
    absolute: Numbers
    squared: Numbers
    still: Numbers
    pinball: Numbers
    inside: Numbers
    width: Numbers
    inside_80: Numbers

    def plus(self, other: ForecastScores) -> ForecastScores:
        """Return the sums of both."""
        return ForecastScores(*(own + more for own, more in zip(self, other, strict=True)))

    def rows(self) -> list[Row]:
        """Return a row for each reported horizon with a forecast."""
        rows = []
        for number, slots_ahead in enumerate(REPORTED):
            sums = ForecastScores(*(values[number] for values in self))
            if sums.n == 0:
                continue
            row: Row = {
                "horizon": slots_ahead * WINDOW / HOUR,
                "forecasts": int(sums.n),
                "mean_error": sums.absolute / sums.n,
                "rmse": np.sqrt(sums.squared / sums.n),
                "skill": 1 - np.sqrt(sums.squared / sums.still) if sums.still > 0 else None,
                "crps": 2 * sums.pinball / (len(LEVELS) * sums.n),
                "coverage": sums.inside / sums.n,
                "width": sums.width / sums.n,
                "coverage_80": sums.inside_80 / sums.n,
            }
            rows.append(row)
        return rows


def score(forecasts: Forecasts, later: Examples) -> ForecastScores:
    """Judge forecasts of the reported horizons by what came; targets that are not known do not count.

    Parameters
    ----------
    forecasts
        Of the examples.
    later
        With what came.
    """
    ahead = np.array(REPORTED) - 1
    target = later.target[:, ahead]
    forecasts = forecasts.at(ahead)
    error = np.abs(target - forecasts.mean)
    change = target - later.usage[:, -1:]
    is_known = ~np.isnan(error)

    def total(values: Numbers | Flags) -> Numbers:
        return np.where(is_known, values, 0.0).sum(axis=0)

    pinball = np.zeros_like(error)
    for number, level in enumerate(LEVELS):
        pinball += pinball_loss(target, forecasts.quantile(number), level)
    low, high = forecasts.quantile(LOW), forecasts.quantile(HIGH)
    low_80, high_80 = forecasts.quantile(LOW_80), forecasts.quantile(HIGH_80)
    return ForecastScores(
        n=total(is_known),
        absolute=total(error),
        squared=total(error**2),
        still=total(change**2),
        pinball=total(pinball),
        inside=total((low <= target) & (target <= high)),
        width=total(high - low),
        inside_80=total((low_80 <= target) & (target <= high_80)),
    )


def pinball_loss(target: Numbers, quantile: Numbers, level: float) -> Numbers:
    """Return the loss of a quantile, which the true one of this probability makes least.

    Parameters
    ----------
    target, quantile
        What came, and what was forecast, of one shape.
    level
        Probability of the quantile.

    Examples
    --------
    >>> pinball_loss(np.array([1.0, 0.0]), np.array([0.5, 0.5]), 0.9).round(3)
    array([0.45, 0.05])
    """
    above = target - quantile
    return np.maximum(level * above, (level - 1) * above)
