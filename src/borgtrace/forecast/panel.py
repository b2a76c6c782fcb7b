"""A panel: many series on one grid of five minutes, which some forecasters learn from and forecast together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from borgtrace.forecast.series import DAY
from borgtrace.kernels.arrays import Index, Numbers, Values
from borgtrace.kernels.compiled import compiled

AMOUNT, PERCENT = 0, 1
"""What a series measures: an amount such as MHz, or percent of what its owner was given."""


@dataclass(frozen=True, eq=False)
class Panel:
    """Series by bin of 300 s, up to a moment; nothing of it came later.

    Attributes
    ----------
    values
        float32 (series, bins): the newest bin last; NaN where nothing was measured.
    partner
        int64 (series,): the row that measures the same VM in the other way; −1 where there is none.
    measure
        int8 (series,): `AMOUNT` or `PERCENT`.
    begin
        Unix seconds, UTC, of the first bin; 0 where no clock is known.
    first_origin
        The first bin at which a forecast may be learned, from the bins before it.

    Examples
    --------
    >>> values = np.array([[1, 2, 4], [10, 20, 40]], np.float32)
    >>> panel = Panel(values, np.array([1, 0]), np.array([AMOUNT, PERCENT], np.int8))
    >>> panel.before(2).values.tolist(), panel.n_series, panel.n_bins
    ([[1.0, 2.0], [10.0, 20.0]], 2, 3)
    """

    values: Values
    partner: Index
    measure: NDArray[np.int8]
    begin: int = 0
    first_origin: int = 0

    @property
    def n_series(self) -> int:
        """Number of series."""
        return self.values.shape[0]

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return self.values.shape[1]

    def before(self, end: int) -> Panel:
        """Return a copy of the bins before one; what came later cannot be reached from it.

        Parameters
        ----------
        end
            The first bin that is left out.
        """
        return Panel(
            # Not a view: its base would hold the future.
            values=self.values[:, :end].copy(),
            partner=self.partner.copy(),
            measure=self.measure.copy(),
            begin=self.begin,
            first_origin=self.first_origin,
        )


def unpaired(values: Values, first_origin: int = 0) -> Panel:
    """Return a panel of series that have no clock and no partners.

    Parameters
    ----------
    values
        float32 (series, bins).
    first_origin
        The first bin at which a forecast may be learned.
    """
    n_series = len(values)
    return Panel(
        values=values,
        partner=np.full(n_series, -1),
        measure=np.full(n_series, AMOUNT, np.int8),
        first_origin=first_origin,
    )


@compiled()
def filled(values: Values) -> Values:
    """Return series without gaps: the last value is carried on, the first taken before it, 0 where there is none."""
    history = np.zeros_like(values)
    for row in range(values.shape[0]):
        last = np.float32(0)
        for column in range(values.shape[1]):
            if not np.isnan(values[row, column]):
                last = values[row, column]
                break
        for column in range(values.shape[1]):
            if not np.isnan(values[row, column]):
                last = values[row, column]
            history[row, column] = last
    return history


def weights_of_series(values: Values, horizon: int) -> Values:
    """Return what an error counts: the inverse of how much a series changes in half a horizon, and in a day."""
    soon, in_a_day = mean_change(values, horizon // 2), mean_change(values, DAY)
    unit = np.maximum(in_a_day, soon / 3)
    weight = np.divide(1, unit, out=np.zeros_like(unit), where=(soon > 0) & (in_a_day > 0))
    return (weight / max((weight * soon).mean(), 1e-9)).astype(np.float32)


def mean_change(values: Values, lag: int) -> Numbers:
    """Return the mean difference between known bins so far apart, 0 where there are none: (series,)."""
    change = np.abs(values[:, lag:] - values[:, :-lag])
    n_known = (~np.isnan(change)).sum(axis=1)
    return np.nansum(change, axis=1, dtype=np.float64) / np.maximum(n_known, 1)
