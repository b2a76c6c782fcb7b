"""Analogs of now: the moments in a series' past that look most like its newest bins."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from borgtrace.forecast.panel import filled
from borgtrace.forecast.series import DAY
from borgtrace.kernels.arrays import Index, Values
from borgtrace.kernels.compiled import compiled

LEAST_HISTORY = 2 * DAY
"""Bins; a shorter history is continued to the left with its first value."""
NEAREST_GAP = 6
"""Bins between now and the newest analog."""
BLOCK = 8
"""Of so many neighbouring moments at most one is an analog."""
CLOSE = 0.01
"""Of a series' range: patterns that differ by less are as good as the same, and the newer one is taken."""


class AnalogPattern(NamedTuple):
    """How moments are compared.

    Attributes
    ----------
    length, stride
        By how many means, each of how many bins.
    fade
        What each mean counts of the next newer one.
    kept
        How many moments are analogs.
    """

    length: int
    stride: int
    fade: float
    kept: int


def history_of(values: Values) -> Values:
    """Return series without gaps, of at least `LEAST_HISTORY` bins: a shorter one begins with its first value.

    Parameters
    ----------
    values
        float32 (series, bins), NaN where nothing was measured; there may be no bins.
    """
    known = filled(values) if values.shape[1] else np.zeros((len(values), 1), np.float32)
    missing = max(LEAST_HISTORY - known.shape[1], 0)
    return np.pad(known, ((0, 0), (missing, 0)), "edge")


def analogs(history: Values, pattern: AnalogPattern) -> tuple[Index, Values]:
    """Return the moments of each series that look most like now.

    Parameters
    ----------
    history
        float32 (series, bins), without gaps, of at least `LEAST_HISTORY` bins.
    pattern
        How moments are compared.

    Returns
    -------
    int64 and float32 (series, kept)
        The bins that followed these moments, in no order, and how far the moments are from now, in the unit of the
        series.  It takes 20 µs a series and pattern for a month.
    """
    n_series, now = history.shape
    length = min(pattern.length, now // (3 * pattern.stride))
    sums = np.cumsum(
        np.pad(history, ((0, 0), (pattern.stride, 0)), "edge"), axis=1, dtype=np.float64
    )
    means = ((sums[:, pattern.stride :] - sums[:, : -pattern.stride]) / pattern.stride).astype(
        np.float32
    )
    weights = pattern.fade ** np.arange(length)
    first = length * pattern.stride
    n_blocks = (now - NEAREST_GAP - first) // BLOCK
    distance = np.empty((n_series, n_blocks), np.float32)
    end = np.empty((n_series, n_blocks), np.int64)
    tolerance = ((CLOSE * np.ptp(history, axis=1)) ** 2).astype(np.float32)
    normed = (weights / weights.sum()).astype(np.float32)
    compare_moments(means, normed, pattern.stride, first, tolerance, distance, end)
    nearest = np.argpartition(distance, min(pattern.kept, n_blocks - 1), axis=1)
    nearest = nearest[:, np.arange(pattern.kept) % n_blocks]
    return np.take_along_axis(end, nearest, 1), np.sqrt(np.take_along_axis(distance, nearest, 1))


@compiled()
def compare_moments(
    means: Values,
    weights: Values,
    stride: int,
    first: int,
    tolerance: Values,
    distance: Values,
    end: Index,
) -> None:
    """Fill in the best moment of each block, the newest block first, and its squared distance from now."""
    n_series, now = means.shape
    n_moments = now - NEAREST_GAP - first
    total = np.empty(n_moments, np.float32)
    for row in range(n_series):
        total[:] = tolerance[row]
        # Moments are inside: this loop is the one that the compiler can vectorize without reordering additions.
        for back in range(len(weights)):
            newest = means[row, now - 1 - back * stride]
            then = means[row, first - 1 - back * stride :]
            for moment in range(n_moments):
                difference = then[moment] - newest
                total[moment] += weights[back] * difference * difference
        for block in range(distance.shape[1]):
            best = np.float32(np.inf)
            for moment in range(
                n_moments - 1 - block * BLOCK, n_moments - 1 - (block + 1) * BLOCK, -1
            ):
                # The oldest moments count as half as far again.
                age = np.float32(n_moments - moment) / np.float32(n_moments)
                value = total[moment] * (np.float32(1) + np.float32(0.5) * age)
                if value < best:
                    best = value
                    end[row, block] = first + moment
            distance[row, block] = best
