"""Traces gathered from the store's columns into blocks: the one way in which values leave the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from borgtrace.datasets.features import Feature
from borgtrace.datasets.selection import GRID_SECONDS, Gaps
from borgtrace.datasets.traces import Traces
from borgtrace.kernels.series import gather, gather_elapsed, gather_grid

if TYPE_CHECKING:
    from borgtrace.store import Store

Index = NDArray[np.int64]
Values = NDArray[np.float32]

POINTS = 2_000_000
"""Points that are worked on at a time: bounds memory, whatever the number or length of traces."""


@dataclass(frozen=True, slots=True, eq=False)
class Gatherer:
    """Copies traces out of memory-mapped columns.

    Attributes
    ----------
    features
        The series, in order.
    arrays
        Column of each feature, shape (rows of the store,).
    start, duration
        Start and length of all windows, seconds; only used on a grid.
    """

    features: tuple[Feature, ...]
    arrays: tuple[NDArray[Any], ...]
    gaps: Gaps
    start: NDArray[Any] | None = None
    duration: NDArray[Any] | None = None

    @classmethod
    def of(cls, store: Store, features: Sequence[Feature], gaps: Gaps) -> Gatherer:
        """Open the columns; one that has no array yet gets it now."""
        arrays = tuple(np.asarray(store.array(feature.column)) for feature in features)
        times = (np.asarray(store.array(name)) for name in ("start_time", "duration"))
        return cls(tuple(features), arrays, gaps, *(times if gaps == "grid" else ()))

    def gather(self, traces: Traces) -> tuple[Index, Values]:
        """Return CSR offsets, shape (n + 1,), and values, shape (points, features); missing is NaN."""
        offsets = np.zeros(len(traces) + 1, np.int64)
        np.cumsum(traces.length, out=offsets[1:])
        values = np.empty((int(offsets[-1]), len(self.features)), np.float32)
        for k, (feature, array) in enumerate(zip(self.features, self.arrays, strict=True)):
            if self.gaps == "grid":
                self._grid(feature, array, traces, offsets, values, k)
            elif feature.is_elapsed:
                gather_elapsed(array, traces.first_row, offsets, values, k)
            else:
                gather(array, traces.first_row, offsets, values, k)
        return offsets, values

    def _grid(
        self, feature: Feature, array: NDArray[Any], traces: Traces, offsets: Index, values: Values, k: int
    ) -> None:
        if feature.is_elapsed:
            slots = np.arange(offsets[-1]) - np.repeat(offsets[:-1], traces.length)
            values[:, k] = slots * GRID_SECONDS
            return
        gather_grid(
            array, self.start, self.duration, traces.first_row, traces.n_windows, GRID_SECONDS, traces.slot,
            offsets, values, k,
        )  # fmt: skip


def spans(length: Index, points: int = POINTS) -> Iterator[tuple[int, int]]:
    """Cut a row of traces into runs of at most `points` points, at least one trace each.

    Examples
    --------
    >>> list(spans(np.array([3, 3, 9, 1]), points=6))
    [(0, 2), (2, 3), (3, 4)]
    """
    ends = np.cumsum(length)
    first = 0
    while first < len(ends):
        before = int(ends[first - 1]) if first else 0
        last = max(int(np.searchsorted(ends, before + points, side="right")), first + 1)
        yield first, last
        first = last
