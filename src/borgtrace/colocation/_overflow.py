"""How often the tasks put together exceed their machine: the evaluation of many packings at once.

The sums of all packings are taken tile by tile of realizations: a tile of all tasks stays in the cache while
every packing reads it, so that memory is read once, however many packings are compared.
"""

import numpy as np

from borgtrace.kernels.arrays import Index, Values
from borgtrace.kernels.compiled import compiled

TILE = 256
"""Realizations per tile: 1,000 tasks × 256 × 4 bytes = one megabyte, the size of a common L2 cache."""


@compiled()
def _sum_rows(tile: Values, rows: Index, sums: Values) -> None:
    """Add `rows` of a tile, in their order, four at a pass; float32, whole tiles: constant loops vectorize."""
    for t in range(TILE):
        sums[t] = 0
    k = 0
    while k + 4 <= rows.size:
        a, b, c, d = tile[rows[k]], tile[rows[k + 1]], tile[rows[k + 2]], tile[rows[k + 3]]
        for t in range(TILE):
            # From the left, as one row at a time would be: the same bits with a quarter of the traffic to `sums`.
            sums[t] = (((sums[t] + a[t]) + b[t]) + c[t]) + d[t]
        k += 4
    while k < rows.size:
        a = tile[rows[k]]
        for t in range(TILE):
            sums[t] += a[t]
        k += 1


@compiled()
def _count(sums: Values, limit: np.float32, low: int, high: int) -> np.int32:
    # As wide as the float32 compared: comparison and count stay in the same vector lanes.
    above = np.int32(0)
    if low == 0 and high == TILE:
        for t in range(TILE):
            above += np.int32(sums[t] > limit)
    else:
        for t in range(low, high):
            above += np.int32(sums[t] > limit)
    return above


@compiled()
def count_overflow(values: Values, order: Index, starts: Index, limits: Values, first: Index, counts: Index) -> None:
    """Count, per packing and bin, the realizations in which the bin's tasks exceed its limit.

    Parameters
    ----------
    values
        float32 (n, R): realization r of task i.
    order, starts
        int64 (P, n) and (P, B + 1): tasks of bin b of packing p are ``order[p, starts[p, b]:starts[p, b + 1]]``; B is
        at least every packing's number of bins.
    limits
        float32 (P, B): what each bin may use.
    first
        int64 (P,): a packing is judged on the columns from here on.
    counts
        int64 (P, B): the result, overwritten.
    """
    n, realizations = values.shape
    n_packings, n_bins = limits.shape
    counts[:] = 0
    # One thread: instances are spread over threads by the caller, and this function holds no GIL.
    tile, sums = np.zeros((n, TILE), np.float32), np.zeros(TILE, np.float32)
    for left in range(0, realizations, TILE):
        width = min(TILE, realizations - left)
        for i in range(n):
            # Columns past `width` keep what was there before; `_count` never looks at them.
            tile[i, :width] = values[i, left : left + width]
        for p in range(n_packings):
            low = max(first[p] - left, 0)
            if low >= width:
                continue
            for b in range(n_bins):
                rows = order[p, starts[p, b] : starts[p, b + 1]]
                if rows.size:
                    _sum_rows(tile, rows, sums)
                    counts[p, b] += _count(sums, limits[p, b], low, width)
