"""Train a forecaster and ask it: the one place where forecasters of anybody see usage, and never any that came later.

A forecaster that gives means gets deviations, proportional to how much the task varied in its last hour; the factor is
measured on the last fifth of the training hours, to which it was not fitted.  One that gives quantiles keeps its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from borgtrace.errors import UsageError
from borgtrace.extensions import quiet_output
from borgtrace.forecast.forecaster import Forecaster
from borgtrace.forecast.series import HORIZONS, Examples, Past
from borgtrace.kernels.arrays import Index, Numbers

LEVELS = tuple(number / 20 for number in range(1, 20))
"""Probabilities of the quantiles that are judged: 5 %, 10 %, …, 95 %."""
LOW, HIGH = LEVELS.index(0.05), LEVELS.index(0.95)
_STANDARD = NormalDist()
_CROSSING = 1e-9
"""By so much a quantile may lie below the one before it: rounding."""
_SAME = 1e-3
"""Forecasts of a row, alone and among others, may differ by this share: sums of a network are rounded otherwise."""


@dataclass(frozen=True, eq=False)
class Forecasts:
    """What is forecast of some rows, in each slot to come.

    Attributes
    ----------
    mean, deviation
        float64 (n, horizons).
    own_quantiles
        float64 (n, horizons, levels): of `LEVELS`, where the forecaster gives them.
    """

    mean: Numbers
    deviation: Numbers
    own_quantiles: Numbers | None = None

    def quantile(self, number: int) -> Numbers:
        """Return the quantile of ``LEVELS[number]``, float64 (n, horizons); as if Gaussian where none are given."""
        if self.own_quantiles is not None:
            return self.own_quantiles[:, :, number]
        return self.mean + _STANDARD.inv_cdf(LEVELS[number]) * self.deviation

    def at(self, ahead: Index) -> Forecasts:
        """Return what is forecast of some of the slots to come.

        Parameters
        ----------
        ahead
            Their places: 0 for the next one.
        """
        quantiles = None if self.own_quantiles is None else self.own_quantiles[:, ahead]
        return Forecasts(self.mean[:, ahead], self.deviation[:, ahead], quantiles)


@dataclass(frozen=True, eq=False)
class TrainedForecaster:
    """A forecaster that has learned, and how much it errs.

    Attributes
    ----------
    forecaster
        It has been fitted.
    factor
        float64 (horizons,): deviation of its errors, in units of how much the task varied.
    floor
        Deviation that is added to that of each task.
    """

    forecaster: Forecaster
    factor: Numbers
    floor: float

    def forecast(self, seen: Past) -> Forecasts:
        """Return what is forecast of some rows; what came later is not shown.

        Parameters
        ----------
        seen
            What is known; examples, too.

        Raises
        ------
        UsageError
            The forecaster returns another shape, what is no number, or quantiles that cross.
        """
        predicted = _predicted(self.forecaster, seen, len(self.factor))
        if predicted.ndim == 2:
            return Forecasts(predicted, scale_of(seen, self.floor) * self.factor)
        spread = predicted[:, :, HIGH] - predicted[:, :, LOW]
        deviation = spread / (2 * _STANDARD.inv_cdf(LEVELS[HIGH]))
        return Forecasts(predicted.mean(axis=2), deviation, predicted)


def train(
    forecaster: Forecaster, known: Examples, seed: int = 0, device: str = "cpu"
) -> TrainedForecaster:
    """Train a new forecaster.

    Parameters
    ----------
    forecaster
        It has not been fitted.
    known
        All examples before the cut; it learns from the first four fifths, by time.
    seed
        Of whatever is random.
    device
        Where PyTorch computes.

    Raises
    ------
    UsageError
        What it forecasts of the last fifth is refused.
    """
    by_time = np.argsort(known.slot, kind="stable")
    n_learned = len(by_time) * 4 // 5
    learned = known.take(by_time[:n_learned])
    held_out = known.take(by_time[n_learned:])
    floor = float(learned.usage.std(axis=1).mean())
    # Of a frozen dataclass, too: one that has nothing to learn may be one.
    object.__setattr__(forecaster, "seed", seed)
    set_device(forecaster, device)
    with quiet_output():
        forecaster.fit(learned)
    uncalibrated = TrainedForecaster(forecaster, np.ones(known.target.shape[1]), floor)
    errors = (held_out.target - uncalibrated.forecast(held_out).mean) / scale_of(held_out, floor)
    n_errors = (~np.isnan(errors)).sum(axis=0)
    factor = np.sqrt(np.nansum(errors**2, axis=0) / np.maximum(n_errors, 1))
    return TrainedForecaster(forecaster, factor, floor)


def set_device(forecaster: Forecaster, device: str) -> None:
    """Tell a forecaster where PyTorch computes.

    Parameters
    ----------
    forecaster, device
        Any, and the name of a device.
    """
    object.__setattr__(forecaster, "device", device)


def scale_of(seen: Past, floor: float) -> Numbers:
    """Return how much each task varied in its last hour: float64 (n, 1).

    Parameters
    ----------
    seen
        What is known.
    floor
        Deviation that is added to that of each task.
    """
    variance = seen.usage.var(axis=1) + floor**2
    return np.sqrt(variance + 1e-12)[:, None]


def _predicted(forecaster: Forecaster, seen: Past, horizon: int) -> Numbers:
    """Return what a forecaster says of rows, of which it never sees one together with an earlier one's future."""
    if not len(seen):
        return np.empty((0, horizon))
    by_slot = np.argsort(seen.slot, kind="stable")
    starts = np.flatnonzero(np.diff(seen.slot[by_slot])) + 1
    slots = np.split(by_slot, starts)
    if not forecaster.is_row_by_row:
        return _predicted_by_slot(forecaster, seen, slots, horizon)
    predicted = ask(forecaster, seen.copied(), horizon)
    # What is said of the first slot must not depend on the later ones.
    first = ask(forecaster, seen.past_of(slots[0]), horizon)
    among_others = predicted[slots[0]]
    tolerance = _SAME * float(seen.usage.max())
    if first.ndim != predicted.ndim or not np.allclose(first, among_others, _SAME, tolerance):
        raise UsageError(
            f"forecaster {forecaster.name}",
            "what it forecasts of a row depends on other rows",
            expected="each row by itself, since is_row_by_row is True",
            way_out="leave is_row_by_row out: it then gets one slot after the other",
        )
    return predicted


def _predicted_by_slot(
    forecaster: Forecaster, seen: Past, slots: list[Index], horizon: int
) -> Numbers:
    """Return what a forecaster says of rows, asked of one slot after the other."""
    predicted = ask(forecaster, seen.past_of(slots[0]), horizon)
    all_predicted = np.empty((len(seen), *predicted.shape[1:]))
    all_predicted[slots[0]] = predicted
    for rows in slots[1:]:
        predicted = ask(forecaster, seen.past_of(rows), horizon)
        if predicted.ndim != all_predicted.ndim:
            raise UsageError(
                f"forecaster {forecaster.name}",
                "what predict returns",
                expected="means always, or quantiles always",
                got="both",
            )
        all_predicted[rows] = predicted
    return all_predicted


def ask(forecaster: Forecaster, past: Past, horizon: int = HORIZONS) -> Numbers:
    """Return what a forecaster says of rows: (n, horizon), or with a third axis its quantiles.

    Parameters
    ----------
    forecaster
        It has been fitted.
    past
        A copy, which it may change.
    horizon
        How many slots are forecast.

    Raises
    ------
    UsageError
        It returns another shape, what is no number, or quantiles that cross.
    """
    with quiet_output():
        predicted = forecaster.predict(past, horizon, LEVELS)
    return checked(forecaster, predicted, len(past), horizon)


def checked(
    forecaster: Forecaster, predicted: Any, n_rows: int, horizon: int = HORIZONS
) -> Numbers:
    """Return what `predict` returned, once it is sure that these are forecasts.

    Parameters
    ----------
    forecaster
        Whose they are.
    predicted
        What it returned.
    n_rows, horizon
        Of how many rows and slots.

    Raises
    ------
    UsageError
        They have another shape, hold what is no number, or cross.
    """
    where = f"forecaster {forecaster.name}"
    what = "what predict returns"
    forecasts: NDArray[Any] = np.asarray(predicted)
    means = (n_rows, horizon)
    quantiles = (*means, len(LEVELS))
    if forecasts.dtype.kind not in "fiu" or forecasts.shape not in {means, quantiles}:
        expected = f"numbers of shape {means}, or {quantiles} for quantiles"
        got = f"{forecasts.dtype} of shape {forecasts.shape}"
        raise UsageError(where, what, expected=expected, got=got)
    n_missing = int((~np.isfinite(forecasts)).sum())
    if n_missing:
        got = f"{n_missing:,} of {forecasts.size:,} that are NaN or infinite"
        raise UsageError(where, what, expected="finite numbers", got=got)
    if forecasts.ndim == 3:
        n_crossing = int((np.diff(forecasts, axis=2) < -_CROSSING).sum())
        if n_crossing:
            raise UsageError(
                where,
                what,
                expected="quantiles that ascend",
                got=f"{n_crossing:,} that lie below the one before",
                way_out="np.sort(…, axis=2) puts them in order",
            )
    return forecasts.astype(np.float64, copy=False)
