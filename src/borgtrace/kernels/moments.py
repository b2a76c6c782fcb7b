"""Mean and standard deviation of every row of a block of realizations."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.lanes import mean_and_std

Floats = NDArray[np.float64]


@compiled(parallel=True)
def _row_moments(rows: NDArray[np.float32], means: Floats, stds: Floats) -> None:
    for i in numba.prange(rows.shape[0]):
        means[i], stds[i] = mean_and_std(rows[i], 0, np.empty(rows.shape[1]))


def row_moments(rows: NDArray[np.float32]) -> tuple[Floats, Floats]:
    """Mean and standard deviation (ddof 0, in float64) of each row of a float32 array (n, R).

    Examples
    --------
    >>> row_moments(np.array([[1, 3], [2, 2]], np.float32))
    (array([2., 2.]), array([1., 0.]))
    """
    means, stds = np.empty(len(rows)), np.empty(len(rows))
    _row_moments(rows, means, stds)
    return means, stds
