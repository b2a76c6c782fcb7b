"""Gather traces from the store's columns into blocks; no other code copies values out of the store."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from borgtrace.datasets.buffers import reused_array
from borgtrace.datasets.features import DERIVED, base_and_lag
from borgtrace.datasets.selection import GRID_SECONDS, Gaps
from borgtrace.datasets.series import gather, gather_elapsed, gather_grid
from borgtrace.datasets.trace_rows import TraceSpans
from borgtrace.kernels.arrays import Index, Values
from borgtrace.schema.time import DAY
from borgtrace.storage import RemotePath
from borgtrace.store import Store

POINTS = 2_000_000
"""Points that are worked on at a time: bounds memory, whatever the number or length of traces."""


class GatheredSeries(NamedTuple):
    """Some traces: CSR offsets, shape (n + 1,), and for each feature its values, float32 (points,), missing is NaN."""

    offsets: Index
    series: list[Values]


class Gatherer:
    """Copies traces out of memory-mapped columns.

    Of a store in a bucket, each process fetches the rows that it gathers, and one that gathers none fetches none.

    Parameters
    ----------
    store
        Where from; a column that has no array yet gets it now, but for a store in a bucket, when it is gathered.
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
        self._arguments = (store, features, gaps)
        self.store = store
        self.features = [base_and_lag(name) for name in features]
        if not isinstance(store.path, RemotePath):
            for name, _ in self.features:
                store.array(source_of(name))
        # Seconds since midnight, where the cell is, at time 0 of the trace's clock (and a day later).
        midnight = store.manifest.dialect.wall_clock(DAY, store.manifest.cell)
        self.day_shift = midnight.hour * 3600 + midnight.minute * 60 + midnight.second
        self.is_on_grid = gaps == "grid"

    def __reduce__(self) -> tuple[object, ...]:
        # Pickling a memory map would copy all that the file holds.
        return Gatherer, self._arguments

    def gather(self, traces: TraceSpans) -> GatheredSeries:
        """Copy traces into this thread's reused memory, which its next call overwrites."""
        offsets = reused_array("offsets", len(traces) + 1, np.int64)
        offsets[0] = 0
        np.cumsum(traces.length, out=offsets[1:])
        first_row = traces.first_row
        end_row = first_row + traces.n_windows
        gathered = []
        for k, (name, lag) in enumerate(self.features):
            series = reused_array(f"series {k}", int(offsets[-1]), np.float32)
            column = self.store.array(source_of(name), (first_row, end_row))
            if self.is_on_grid:
                times = self._times(first_row, end_row)
                self._gather_on_grid(name, column, times, traces, offsets, series)
            else:
                copy = gather_elapsed if name == "elapsed" else gather
                copy(column, first_row, offsets, series)
            if name == "hour_of_day":
                series[:] = (series + self.day_shift) % 86_400 / 3600
            if lag:
                delay(series, offsets, lag)
            gathered.append(series)
        return GatheredSeries(offsets, gathered)

    def _times(self, first_row: Index, end_row: Index) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return start and length of windows, seconds, of which only those between some rows are sure to be here."""
        starts = self.store.array("start_time", (first_row, end_row))
        return starts, self.store.array("duration", (first_row, end_row))

    def _gather_on_grid(
        self,
        name: str,
        column: NDArray[Any],
        times: tuple[NDArray[Any], NDArray[Any]],
        traces: TraceSpans,
        offsets: Index,
        series: Values,
    ) -> None:
        if name in DERIVED and DERIVED[name].column == "start_time":
            # On a grid time goes on in even steps, also where nothing was measured.
            origin = 0 if name == "elapsed" else traces.slot
            lengths = np.diff(offsets)
            slots = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - origin, lengths)
            series[:] = slots * GRID_SECONDS
            return
        start_time, duration = times
        gather_grid(
            column,
            start_time,
            duration,
            traces.first_row,
            traces.n_windows,
            GRID_SECONDS,
            traces.slot,
            offsets,
            series,
        )


def source_of(name: str) -> str:
    """Return the column of usage that a series is made of."""
    return DERIVED[name].column if name in DERIVED else name


def delay(series: Values, offsets: Index, lag: int) -> None:
    """Move each trace `lag` points on within its own points; the first ones are missing."""
    series[lag:] = series[:-lag].copy()
    lengths = np.diff(offsets)
    positions = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    series[positions < lag] = np.nan
