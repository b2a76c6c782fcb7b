"""The protocol of a board: the grid of its series, its windows, and what a forecaster gets of them.

A forecaster learns from the bins before the first window, once.  In window after window it gets all bins before the
window, and forecasts the next 48; no array that it gets has ever held a later bin.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from borgtrace.errors import SourceError, UsageError
from borgtrace.extensions import quiet_output
from borgtrace.forecast.board.file_set import VmReadings
from borgtrace.forecast.board.scores import BoardSums, score_window, seasonal_errors
from borgtrace.forecast.panel import AMOUNT, PERCENT, Panel
from borgtrace.forecast.panel_forecaster import PanelForecaster
from borgtrace.forecast.series import DAY
from borgtrace.kernels.arrays import Index, Numbers, Values

HORIZON = 48
"""Bins that are forecast: four hours."""
QUANTILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
BIN = 300
"""Seconds."""
_JUDGED = 0.1
"""Share of the series that the windows cover."""
_MOST_WINDOWS = 20
_MOST_BINS = 366 * DAY
"""More are no file set but a wrong time."""

WindowDone = Callable[[int, int], None]
"""Told how many windows are done, and how many there are."""


@dataclass(frozen=True, eq=False)
class BoardData:
    """The series of a board and its windows.

    Attributes
    ----------
    panel
        All bins: rows 2i and 2i + 1 are MHz and percent of VM i.
    origins
        First bins of the windows, ascending; a forecaster learns from what lies before the first one.
    """

    panel: Panel
    origins: Index

    @property
    def n_vms(self) -> int:
        """Number of VMs."""
        return self.panel.n_series // 2

    def labels(self, window: int) -> Values:
        """Return what came in a window: float32 (series, HORIZON)."""
        origin = self.origins[window]
        return self.panel.values[:, origin : origin + HORIZON]


def board_data(readings: VmReadings, where: str) -> BoardData:
    """Put readings on the grid of a board, and choose its windows.

    Parameters
    ----------
    readings
        By VM and time.
    where
        What they were read from, for messages.

    Raises
    ------
    SourceError
        They span too little for a window, or more than a year.
    """
    bins = readings.seconds // BIN
    first = int(bins.min())
    n_bins = int(bins.max()) - first + 1
    if n_bins > _MOST_BINS:
        raise SourceError(
            where,
            f"readings span {n_bins // DAY:,} days",
            expected="a year at most",
            way_out="look for a wrong time, such as 0",
        )
    n_windows = number_of_windows(n_bins)
    # Seasonal errors, the unit of MASE, take a day and a bin before the first window.
    least = DAY + 1 + n_windows * HORIZON
    if n_bins < least:
        raise SourceError(
            where,
            "too short for a window",
            expected=f"{least} bins of five minutes",
            got=str(n_bins),
        )
    panel = Panel(
        values=values_on_grid(readings, bins - first, n_bins),
        partner=np.arange(2 * readings.n_vms) ^ 1,
        measure=np.tile(np.array([AMOUNT, PERCENT], np.int8), readings.n_vms),
        begin=first * BIN,
    )
    origins = n_bins - HORIZON * np.arange(n_windows, 0, -1)
    return BoardData(panel, origins)


def number_of_windows(n_bins: int) -> int:
    """Return how many windows cover the last tenth of series of so many bins.

    Examples
    --------
    >>> number_of_windows(8640), number_of_windows(400)
    (18, 1)
    """
    return min(_MOST_WINDOWS, max(1, math.ceil(_JUDGED * n_bins / HORIZON)))


def values_on_grid(readings: VmReadings, bins: Index, n_bins: int) -> Values:
    """Return the first reading of each bin: float32 (series, bins), NaN where there is none.

    Parameters
    ----------
    readings
        By VM and time.
    bins
        int64 (n,): bin of each.
    n_bins
        How many bins there are.
    """
    cell = readings.vm * n_bins + bins
    is_first = np.append(True, cell[1:] != cell[:-1])
    values = np.full((readings.n_vms, 2, n_bins), np.nan, np.float32)
    vm, column = readings.vm[is_first], bins[is_first]
    values[vm, AMOUNT, column] = readings.mhz[is_first]
    values[vm, PERCENT, column] = readings.percent[is_first]
    # What is infinite was not measured, either.
    values[~np.isfinite(values)] = np.nan
    return values.reshape(2 * readings.n_vms, n_bins)


class Judged(NamedTuple):
    """What a forecaster scored, and the CPU seconds that it took to learn and to forecast."""

    sums: BoardSums
    fit_seconds: float
    forecast_seconds: float


def judge(
    forecaster: PanelForecaster, data: BoardData, done: WindowDone = lambda *_: None
) -> Judged:
    """Let a forecaster learn and forecast all windows, and score it.

    Parameters
    ----------
    forecaster
        It has learned nothing.
    data
        Of the board.
    done
        Told after each window.

    Raises
    ------
    UsageError
        It returns another shape, or what is no number.
    """
    seasonal = seasonal_errors(data.panel.values, data.origins)
    begin = time.process_time()
    with quiet_output():
        forecaster.fit_panel(data.panel.before(data.origins[0]), HORIZON, QUANTILES)
    fit_seconds = time.process_time() - begin
    forecast_seconds = 0.0
    sums: BoardSums | None = None
    for window, origin in enumerate(data.origins):
        # What adapts goes on from window to window; nothing else carries anything over.
        asked = forecaster if forecaster.adapts else copy.deepcopy(forecaster)
        history = data.panel.before(origin)
        begin = time.process_time()
        with quiet_output():
            forecasts = asked.predict_panel(history, HORIZON, QUANTILES)
        forecast_seconds += time.process_time() - begin
        forecasts = checked(forecaster.name, forecasts, data.panel.n_series)
        of_window = score_window(data.labels(window), forecasts, seasonal[window], QUANTILES)
        sums = of_window if sums is None else sums.plus(of_window)
        done(window + 1, len(data.origins))
    assert sums is not None, "there is always a window"
    return Judged(sums, fit_seconds, forecast_seconds)


def checked(name: str, forecasts: Any, n_series: int) -> Numbers:
    """Return what `predict_panel` returned, once it is sure that these are forecasts.

    Parameters
    ----------
    name
        Of the forecaster.
    forecasts
        What it returned.
    n_series
        How many series it was asked for.

    Raises
    ------
    UsageError
        They have another shape, or hold what is no number.
    """
    where = f"forecaster {name}"
    what = "what predict_panel returns"
    array = np.asarray(forecasts)
    shape = (n_series, HORIZON, len(QUANTILES))
    if array.dtype.kind not in "fiu" or array.shape != shape:
        got = f"{array.dtype} of shape {array.shape}"
        raise UsageError(where, what, expected=f"numbers of shape {shape}", got=got)
    n_missing = int((~np.isfinite(array)).sum())
    if n_missing:
        got = f"{n_missing:,} of {array.size:,} that are NaN or infinite"
        raise UsageError(where, what, expected="finite numbers", got=got)
    return array
