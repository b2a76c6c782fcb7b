"""Traces gathered from the store's columns into blocks: the one way in which values leave the store."""

from collections.abc import Sequence

import numpy as np

from borgtrace.datasets.buffers import reused_array
from borgtrace.datasets.features import DERIVED, base_and_lag
from borgtrace.datasets.selection import GRID_SECONDS, Gaps
from borgtrace.datasets.series import gather, gather_elapsed, gather_grid
from borgtrace.datasets.trace_index import TraceIndex
from borgtrace.kernels.arrays import Index, Values
from borgtrace.schema.time import DAY
from borgtrace.store import Store

POINTS = 2_000_000
"""Points that are worked on at a time: bounds memory, whatever the number or length of traces."""


class Gatherer:
    """Copies traces out of memory-mapped columns.

    Parameters
    ----------
    store
        Where from; a column that has no array yet gets it now.
    features
        The series, in order.
    gaps
        Whether traces are put on a grid.
    """

    def __init__(
        self,
        store: Store,
        features: Sequence[str],
        gaps: Gaps,
    ) -> None:
        self.made_of = store, features, gaps
        self.features = [base_and_lag(name) for name in features]
        self.columns = {
            name: store.array(DERIVED.get(name, (name,))[0]) for name, _ in self.features
        }
        # Seconds since midnight, where the cell is, at time 0 of the trace's clock (and a day later).
        midnight = store.manifest.dialect.wall_clock(DAY, store.manifest.cell)
        self.day_shift = midnight.hour * 3600 + midnight.minute * 60 + midnight.second
        is_grid = gaps == "grid"
        # Start and length of all windows, seconds.
        self.times = (store.array("start_time"), store.array("duration")) if is_grid else None

    def __reduce__(self) -> tuple[object, ...]:
        # Pickled, a memory map would be all that the file holds.
        return Gatherer, self.made_of

    def gather(self, traces: TraceIndex, index: Index) -> tuple[Index, list[Values]]:
        """Copy the traces at `index` into this thread's reused memory.

        Returns
        -------
        offsets, series
            CSR offsets, shape (n + 1,); a float32 array of shape (points,) per feature, missing is NaN.
            Both are overwritten by the next call from the same thread.
        """
        offsets = reused_array("offsets", len(index) + 1, np.int64)
        offsets[0] = 0
        np.cumsum(traces.length[index], out=offsets[1:])
        first = traces.first_row[index]
        gathered = []
        for k, (name, lag) in enumerate(self.features):
            array = self.columns[name]
            series = reused_array(f"series {k}", int(offsets[-1]), np.float32)
            if self.times is None:
                (gather_elapsed if name == "elapsed" else gather)(array, first, offsets, series)
            elif DERIVED.get(name, ("",))[0] == "start_time":
                # On a grid time goes on in even steps, also where nothing was measured.
                origin = 0 if name == "elapsed" else traces.slot[index]
                slots = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - origin, np.diff(offsets))
                series[:] = slots * GRID_SECONDS
            else:
                windows = traces.n_windows[index]
                slot = traces.slot[index]
                gather_grid(
                    array,
                    *self.times,
                    first,
                    windows,
                    GRID_SECONDS,
                    slot,
                    offsets,
                    series,
                )
            if name == "hour_of_day":
                series[:] = (series + self.day_shift) % 86_400 / 3600
            if lag:
                _delay(series, offsets, lag)
            gathered.append(series)
        return offsets, gathered


def _delay(series: Values, offsets: Index, lag: int) -> None:
    """Move each trace `lag` points on within its own points; the first ones are missing."""
    series[lag:] = series[:-lag].copy()
    length = np.diff(offsets)
    points = np.arange(offsets[-1]) - np.repeat(offsets[:-1], length)
    series[points < lag] = np.nan
