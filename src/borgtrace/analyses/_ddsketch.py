"""DDSketch: a sketch of a distribution that parts of a trace fill alone and that merges by adding counts.

Values fall into buckets whose edges grow by γ = (1 + α)/(1 − α), so that the middle of the bucket
that holds a quantile is at most a share α away from it (Masson, Rim, Lee: DDSketch, VLDB 2019).
Zero and infinity have buckets of their own. The number of buckets does not depend on the number of
values.
"""

import math

import numpy as np
from numpy.typing import NDArray

# With α = 0.01 all of float64 lies within ± 37,300 buckets, so that these two are free.
ZERO_BUCKET, INFINITE_BUCKET = -100_000, 100_000
"""Buckets of 0 (exact) and of infinity."""


def growth(alpha: float) -> float:
    """Return γ, the ratio of neighboring bucket edges for a relative error `alpha`.

    Examples
    --------
    >>> growth(0.5)
    3.0
    """
    return (1.0 + alpha) / (1.0 - alpha)


def middle(bucket: int, alpha: float) -> float:
    """Return the value that stands for a bucket, at most a share `alpha` from all it may hold.

    Parameters
    ----------
    bucket
        Number of the bucket.
    alpha
        Relative error of the sketch, 0 < α < 1.

    Examples
    --------
    >>> middle(1, 0.5), middle(ZERO_BUCKET, 0.5)
    (1.5, 0.0)
    """
    if bucket == ZERO_BUCKET:
        return 0.0
    if bucket == INFINITE_BUCKET:
        return math.inf
    ratio = growth(alpha)
    return float(2.0 * ratio**bucket / (ratio + 1.0))


def rank(quantile: float, total: int) -> int:
    """Return which of `total` sorted values is the quantile: the smallest k with k ≥ q · total, from 1.

    Parameters
    ----------
    quantile
        Share of the values, 0 to 1.
    total
        Number of values, at least 1.

    Examples
    --------
    >>> rank(0.5, 4), rank(0.9, 3), rank(0.0, 3)
    (2, 3, 1)
    """
    # The product may lie a hair above a whole number: 0.07 · 100 is 7.000000000000001.
    return max(1, math.ceil(quantile * total - 1e-9))


def locate(found: NDArray[np.int64], counts: NDArray[np.int64], quantile: float) -> tuple[int, int]:
    """Return the bucket that holds a quantile, and which of its sorted values it is, from 1.

    Parameters
    ----------
    found, counts
        Buckets in any order, each once, and how many values each holds.

    Examples
    --------
    >>> locate(np.array([3, 7]), np.array([2, 2]), 0.75)
    (7, 1)
    """
    order = np.argsort(found)
    upto = np.cumsum(counts[order])
    wanted = rank(quantile, int(upto[-1]))
    place = int(np.searchsorted(upto, wanted))
    before = int(upto[place - 1]) if place else 0
    return int(found[order[place]]), wanted - before
