"""Mean and standard deviation of an array, of each row of a matrix, and of each task's windows.

Sums are taken in eight fixed lanes: as fast as the hardware allows, yet always in the same order.
"""

import numba
import numpy as np

from borgtrace.kernels.arrays import Index, Numbers, Values
from borgtrace.kernels.compiled import compiled


@compiled()
def lane_sum(values: Numbers) -> float:
    """Sum of float64 values: lane k adds values k, k + 8, …; the lanes are added as a tree, then the rest.

    Examples
    --------
    >>> lane_sum(np.arange(10.0))
    45.0
    """
    # An addition waits for the one before it, and a vector register holds eight.  Without fastmath, which would leave
    # the order to the compiler, the compiler must not split the sum itself.
    a = b = c = d = e = f = g = h = 0.0
    whole = values.size // 8 * 8
    for i in range(0, whole, 8):
        a += values[i]
        b += values[i + 1]
        c += values[i + 2]
        d += values[i + 3]
        e += values[i + 4]
        f += values[i + 5]
        g += values[i + 6]
        h += values[i + 7]
    first_half = (a + b) + (c + d)
    second_half = (e + f) + (g + h)
    total = first_half + second_half
    for i in range(whole, values.size):
        total += values[i]
    return total


@compiled()
def mean_and_std(values: Values, ddof: int, scratch: Numbers) -> tuple[float, float]:
    """Mean and standard deviation in float64, in two passes.

    Parameters
    ----------
    values
        float32 (n,).
    ddof
        0 or 1: the sum of squares is divided by n − ddof.
    scratch
        float64 (n,): overwritten.

    Examples
    --------
    >>> mean_and_std(np.array([1, 3], np.float32), 0, np.empty(2))
    (2.0, 1.0)
    """
    for r in range(values.size):
        # Into float64 first: a float32 sum of 10,000 values would lose digits.
        scratch[r] = values[r]
    mean = lane_sum(scratch) / values.size
    for r in range(values.size):
        # From deviations: Σx² − n·mean² cancels for totals of many tasks, which vary little around their mean.
        deviation = values[r] - mean
        scratch[r] = deviation * deviation
    variance = lane_sum(scratch) / (values.size - ddof)
    return mean, np.sqrt(variance)


@compiled(parallel=True)
def _row_moments(rows: Values, means: Numbers, stds: Numbers) -> None:
    for i in numba.prange(rows.shape[0]):
        # Each row has its own scratch: threads would overwrite a common one.
        scratch = np.empty(rows.shape[1])
        mean, std = mean_and_std(rows[i], 0, scratch)
        means[i] = mean
        stds[i] = std


def row_moments(rows: Values) -> tuple[Numbers, Numbers]:
    """Mean and standard deviation (ddof 0, in float64) of each row of a float32 array (n, R).

    Examples
    --------
    >>> row_moments(np.array([[1, 3], [2, 2]], np.float32))
    (array([2., 2.]), array([1., 0.]))
    """
    means = np.empty(len(rows))
    stds = np.empty(len(rows))
    _row_moments(rows, means, stds)
    return means, stds


@compiled(parallel=True)
def _window_moments(
    values: Values,
    offsets: Index,
    weights: Index,
    means: Numbers,
    stds: Numbers,
) -> None:
    # An empty array stands for no weights: for None, Numba would compile a second kernel.
    is_weighted = weights.size > 0
    for i in numba.prange(means.size):
        first = offsets[i]
        last = offsets[i + 1]
        total = 0.0
        squares = 0.0
        length = 0.0
        for k in range(first, last):
            weight = np.float64(weights[k]) if is_weighted else 1.0
            total += weight * values[k]
            length += weight
        mean = total / length
        # A second pass: Σwx² − mean² would cancel for tasks that hardly vary.
        for k in range(first, last):
            weight = np.float64(weights[k]) if is_weighted else 1.0
            deviation = values[k] - mean
            squares += weight * deviation**2
        means[i] = mean
        stds[i] = np.sqrt(squares / length)


def window_moments(
    values: Values, offsets: Index, weights: Index | None = None
) -> tuple[Numbers, Numbers]:
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
    n_tasks = len(offsets) - 1
    means = np.empty(n_tasks)
    stds = np.empty(n_tasks)
    if weights is None:
        weights = np.empty(0, np.int64)
    _window_moments(values, offsets, weights, means, stds)
    return means, stds
