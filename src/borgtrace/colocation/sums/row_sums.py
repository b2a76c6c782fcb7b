"""Sums of selected rows: many random samples of tasks, each added up realization by realization."""

from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np

from borgtrace.colocation.sums.normality import LOG_PHI, anderson_darling
from borgtrace.colocation.tasks.moments import mean_and_std
from borgtrace.kernels.arrays import Index, Numbers, Values
from borgtrace.kernels.compiled import compiled

TILE = 2_500
"""Realizations added up at a time: their sums, 10 kB, stay in the first-level cache while eight rows stream by."""
SHARED = 2**18
"""Values of all rows that one core keeps near: 1 MB, half of a common second-level cache."""
LEAST_TILE = 256
"""With fewer realizations at a time, finding the rows takes longer than adding them up."""
TOGETHER = 125
"""Samples that one thread adds up together, tile by tile, where a tile of all rows stays near."""
BLOCK = 500
"""Samples whose sums are sorted together, 20 MB at 10,000 realizations; with fewer, threads mostly wait."""


@compiled(makes_arrays=False)
def _add_rows(
    rows: Values,
    members: Index,
    first: int,
    total: Values,
) -> None:
    """Set `total` to the sum of ``rows[members, first:first + total.size]``, eight rows at a time, as a tree.

    float32 throughout: the tree halves the error of a running sum and the traffic to `total`.
    """
    last = first + total.size
    k = 0
    total[:] = 0
    while k + 8 <= members.size:
        a = rows[members[k], first:last]
        b = rows[members[k + 1], first:last]
        c = rows[members[k + 2], first:last]
        d = rows[members[k + 3], first:last]
        e = rows[members[k + 4], first:last]
        f = rows[members[k + 5], first:last]
        g = rows[members[k + 6], first:last]
        h = rows[members[k + 7], first:last]
        for r in range(total.size):
            first_half = (a[r] + b[r]) + (c[r] + d[r])
            second_half = (e[r] + f[r]) + (g[r] + h[r])
            total[r] += first_half + second_half
        k += 8
    # Pairs: the sizes of Table 1 leave 2, 4 or 6 rows over.
    while k + 2 <= members.size:
        a = rows[members[k], first:last]
        b = rows[members[k + 1], first:last]
        for r in range(total.size):
            total[r] += a[r] + b[r]
        k += 2
    if k < members.size:
        a = rows[members[k], first:last]
        for r in range(total.size):
            total[r] += a[r]


@compiled(makes_arrays=False)
def add_sample(rows: Values, members: Index, total: Values) -> None:
    """Set `total` to the sum of some rows, tile by tile.

    Parameters
    ----------
    rows
        float32 (n, R).
    members
        int64 (N,): the rows to add up.
    total
        float32 (R,): overwritten.

    Examples
    --------
    >>> total = np.empty(2, np.float32)
    >>> add_sample(np.array([[1, 2], [3, 4], [5, 6]], np.float32), np.array([0, 2]), total)
    >>> total
    array([6., 8.], dtype=float32)
    """
    first = 0
    while first < total.size:
        last = min(first + TILE, total.size)
        _add_rows(rows, members, first, total[first:last])
        first = last


@compiled(parallel=True)
def add_samples(rows: Values, samples: Index, totals: Values) -> None:
    """Set row s of `totals` to the sum of the rows ``samples[s]`` of `rows`.

    Parameters
    ----------
    rows
        float32 (n, R).
    samples
        int64 (S, N): the rows of each sample.
    totals
        float32 (S, R): overwritten.
    """
    # Rows of a small pool are read from the cache, by all samples in turn; large ones come from memory all the same,
    # and in longer pieces faster.
    tile = SHARED // max(rows.shape[0], 1)
    if tile < LEAST_TILE:
        tile = TILE
    n_parts = (samples.shape[0] + TOGETHER - 1) // TOGETHER
    # Each thread takes whole samples, so no two write the same row.
    for part in numba.prange(n_parts):
        begin = part * TOGETHER
        end = min(begin + TOGETHER, samples.shape[0])
        _add_part(rows, samples[begin:end], tile, totals[begin:end])


@compiled(makes_arrays=False)
def _add_part(rows: Values, samples: Index, tile: int, totals: Values) -> None:
    """Add up some samples together, `tile` realizations at a time."""
    n_realizations = totals.shape[1]
    first = 0
    while first < n_realizations:
        last = min(first + tile, n_realizations)
        for s in range(samples.shape[0]):
            _add_rows(rows, samples[s], first, totals[s, first:last])
        first = last


@compiled()
def _quantile(ordered: Values, level: np.float64) -> np.float64:
    """Linear interpolation between order statistics, as ``numpy.quantile`` by default."""
    position = level * (ordered.size - 1)
    # At level 1 there is no value above.
    below = min(int(position), ordered.size - 2)
    low = np.float64(ordered[below])
    high = np.float64(ordered[below + 1])
    fraction = position - below
    return np.float64(low + fraction * (high - low))


@compiled(parallel=True)
def _judge_sums(
    totals: Values,
    levels: Numbers,
    cells: Numbers,
    normality: Numbers,
    quantiles: Numbers,
) -> None:
    """Judge sorted sums, one a row; see :func:`sample_statistics`."""
    for s in numba.prange(totals.shape[0]):
        total = totals[s]
        for q in range(levels.size):
            quantiles[s, q] = _quantile(total, levels[q])
        # Sorted and with equal ends, so all values are equal: no deviation to divide by.
        if total[0] == total[-1]:
            normality[s] = np.inf
        else:
            scratch = np.empty(total.size)
            mean, std = mean_and_std(total, 1, scratch)
            normality[s] = anderson_darling(total, mean, std, cells, scratch)


def sample_statistics(rows: Values, samples: Index, levels: Numbers) -> tuple[Numbers, Numbers]:
    """Add up, sort and judge every sample of tasks, keeping the sums of :data:`BLOCK` samples at a time.

    Parameters
    ----------
    rows
        float32 (n, R): realizations of n tasks, R ≥ 2.
    samples
        int64 (S, N): the rows of each sample.
    levels
        float64 (Q,): quantile levels in [0, 1].

    Returns
    -------
    normality
        float64 (S,): Anderson–Darling A² of each sum over its R realizations; infinite where all R
        sums are equal (a point is not a normal density).
    quantiles
        float64 (S, Q): quantiles of each sum, linear interpolation.
    """
    normality = np.empty(len(samples))
    quantiles = np.empty((len(samples), len(levels)))
    threads = numba.get_num_threads()
    with ThreadPoolExecutor(threads) as workers:
        for first in range(0, len(samples), BLOCK):
            block = slice(first, first + BLOCK)
            members = samples[block]
            totals = np.empty((len(members), rows.shape[1]), np.float32)
            add_samples(rows, members, totals)
            # NumPy sorts with vector instructions and without the GIL: a third of the time of a compiled radix sort.
            parts = np.array_split(totals, threads)
            # list() waits for the threads and raises their errors.
            list(workers.map(np.ndarray.sort, parts))
            _judge_sums(totals, levels, LOG_PHI, normality[block], quantiles[block])
    return normality, quantiles
