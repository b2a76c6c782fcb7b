"""Histograms of every task's windows: the shape of its usage."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.compiled import compiled

Index = NDArray[np.int64]
Floats = NDArray[np.float32]


@compiled(parallel=True)
def _fill(values: Floats, offsets: Index, weights: Index, shares: Floats) -> None:
    cells = shares.shape[1]
    for i in numba.prange(shares.shape[0]):
        counts, total = np.zeros(cells, np.int64), 0
        for k in range(offsets[i], offsets[i + 1]):
            weight = weights[k] if weights.size else 1
            counts[min(int(np.float64(values[k]) * cells), cells - 1)] += weight
            total += weight
        for cell in range(cells):
            shares[i, cell] = counts[cell] / total


def window_shapes(values: Floats, offsets: Index, cells: int, weights: Index | None = None) -> Floats:
    """Share of each task's windows in equal cells of [0, 1); the last cell also takes what lies above.

    Parameters
    ----------
    values, offsets
        Windows of n tasks (CSR), values ≥ 0.
    cells
        Number of cells.
    weights
        int64 (W,): weight of each window; all alike where None.

    Returns
    -------
    float32 array of shape (n, cells)

    Examples
    --------
    >>> window_shapes(np.array([0, 0.25, 0.5, 2], np.float32), np.array([0, 4]), 4)
    array([[0.25, 0.25, 0.25, 0.25]], dtype=float32)
    """
    shares = np.empty((len(offsets) - 1, cells), np.float32)
    _fill(values, offsets, np.empty(0, np.int64) if weights is None else weights, shares)
    return shares
