"""Mean and standard deviation of every row of a block of realizations, and of every task's windows."""

from __future__ import annotations

import numba
import numpy as np

from borgtrace.colocation._summation import mean_and_std
from borgtrace.kernels.arrays import Index, Numbers, Values
from borgtrace.kernels.compiled import compiled


@compiled(parallel=True)
def _row_moments(rows: Values, means: Numbers, stds: Numbers) -> None:
    for i in numba.prange(rows.shape[0]):
        # Scratch of its own for each row: threads would write into a common one.
        means[i], stds[i] = mean_and_std(rows[i], 0, np.empty(rows.shape[1]))


def row_moments(rows: Values) -> tuple[Numbers, Numbers]:
    """Mean and standard deviation (ddof 0, in float64) of each row of a float32 array (n, R).

    Examples
    --------
    >>> row_moments(np.array([[1, 3], [2, 2]], np.float32))
    (array([2., 2.]), array([1., 0.]))
    """
    means, stds = np.empty(len(rows)), np.empty(len(rows))
    _row_moments(rows, means, stds)
    return means, stds


@compiled(parallel=True)
def _window_moments(values: Values, offsets: Index, weights: Index, means: Numbers, stds: Numbers) -> None:
    # No weights are an empty array: a kernel compiled for None as well would be a second one.
    is_weighted = weights.size > 0
    for i in numba.prange(means.size):
        first, last = offsets[i], offsets[i + 1]
        total, square, length = 0.0, 0.0, 0.0
        for k in range(first, last):
            weight = np.float64(weights[k]) if is_weighted else 1.0
            total += weight * values[k]
            length += weight
        mean = total / length
        # A second pass: Σwx² − mean² would cancel for tasks that hardly vary.
        for k in range(first, last):
            weight = np.float64(weights[k]) if is_weighted else 1.0
            square += weight * (values[k] - mean) ** 2
        means[i], stds[i] = mean, np.sqrt(square / length)


def window_moments(values: Values, offsets: Index, weights: Index | None = None) -> tuple[Numbers, Numbers]:
    """Mean and standard deviation (ddof 0, in float64, two passes) of each run of a flat array.

    Parameters
    ----------
    values, offsets
        Windows of n tasks (CSR).
    weights
        int64 (W,): weight of each window; all alike where None.

    Examples
    --------
    >>> window_moments(np.array([0, 3, 5], np.float32), np.array([0, 2, 3]), np.array([1, 2, 9]))
    (array([2., 5.]), array([1.41421356, 0.        ]))
    """
    means, stds = np.empty(len(offsets) - 1), np.empty(len(offsets) - 1)
    _window_moments(values, offsets, np.empty(0, np.int64) if weights is None else weights, means, stds)
    return means, stds
