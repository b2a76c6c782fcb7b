"""Additions in eight fixed lanes: as fast as the hardware allows, in an order that is ours."""

from __future__ import annotations

import numpy as np

from borgtrace.kernels.arrays import Numbers, Values
from borgtrace.kernels.compiled import compiled


@compiled()
def lane_sum(values: Numbers) -> float:
    """Sum of float64 values: lane k adds values k, k + 8, …; the lanes are added as a tree, then the rest.

    Examples
    --------
    >>> lane_sum(np.arange(10.0))
    45.0
    """
    # Eight, because an addition waits for the one before it, and a vector register holds eight.  Without fastmath,
    # which would leave the order to the compiler, the compiler may not split the sum itself.
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
    total = ((a + b) + (c + d)) + ((e + f) + (g + h))
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
        scratch[r] = (values[r] - mean) * (values[r] - mean)
    return mean, np.sqrt(lane_sum(scratch) / (values.size - ddof))
