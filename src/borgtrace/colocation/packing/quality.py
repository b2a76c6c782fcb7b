"""How good a packing is: m machines against the lower bound, and q, how often machines overflow (§5.1).

Sums are taken tile by tile of realizations: a tile of all tasks stays in the cache while every packing reads it, so
memory is read once, however many packings are compared.
"""

import math
from collections.abc import Sequence

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Index, Numbers, Values
from borgtrace.kernels.compiled import compiled
from borgtrace.placement import Packing

TILE = 256
"""Realizations per tile: 1,000 tasks × 256 × 4 bytes = one megabyte, the size of a common L2 cache."""


@compiled()
def _sum_rows(tile: Values, rows: Index, sums: Values) -> None:
    """Add some rows of a tile, in their order, four at a pass.

    In float32 and over whole tiles, because loops of constant length vectorize.
    """
    for t in range(TILE):
        sums[t] = 0
    k = 0
    while k + 4 <= rows.size:
        a = tile[rows[k]]
        b = tile[rows[k + 1]]
        c = tile[rows[k + 2]]
        d = tile[rows[k + 3]]
        for t in range(TILE):
            # From the left, as one row at a time: the same bits with a quarter of the traffic to `sums`.
            sums[t] = (((sums[t] + a[t]) + b[t]) + c[t]) + d[t]
        k += 4
    while k < rows.size:
        a = tile[rows[k]]
        for t in range(TILE):
            sums[t] += a[t]
        k += 1


@compiled()
def _count(
    sums: Values,
    limit: np.float32,
    low: int,
    high: int,
) -> np.int32:
    # 32 bits, as wide as the sums: comparison and count stay in the same vector lanes.
    above = np.int32(0)
    if low == 0 and high == TILE:
        for t in range(TILE):
            above += np.int32(sums[t] > limit)
    else:
        for t in range(low, high):
            above += np.int32(sums[t] > limit)
    return above


@compiled()
def count_overflow(
    values: Values,
    order: Index,
    starts: Index,
    limits: Values,
    first: Index,
    counts: Index,
) -> None:
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
    tile = np.zeros((n, TILE), np.float32)
    sums = np.zeros(TILE, np.float32)
    for left in range(0, realizations, TILE):
        width = min(TILE, realizations - left)
        for i in range(n):
            # Columns past `width` keep old values; `_count` never looks at them.
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


EVALUATION_RTOL = 1 + 2**-20
"""Factor on capacities when overflows are counted: sums of some tens of float32 values round that far."""


def least_machines(means: Numbers, capacity: float = 1.0, placed: Packing | None = None) -> int:
    """⌈Σ x̄ᵢ ÷ c⌉ from mean usages; at least 1.

    Parameters
    ----------
    means
        float64 (n,): mean usage of each task.
    capacity
        Of a machine.
    placed
        Leave out the tasks that this packing could not place: they are on none of the machines that the bound is
        compared with.

    Examples
    --------
    >>> alone = Packing(np.array([0, -1]), np.ones((1, 1)), np.zeros(1, np.int64))
    >>> least_machines(np.array([0.75, 1.5])), least_machines(np.array([0.75, 1.5]), placed=alone)
    (3, 1)
    """
    if placed is not None:
        means = means[placed.bins >= 0]
    return max(1, math.ceil(float(means.sum()) / capacity))


def overflow_counts(
    values: Values,
    packings: Sequence[Packing],
    first: Sequence[int] | None = None,
    resource: int = 0,
) -> Index:
    """Count the pairs of bin and realization in which the bin's tasks exceed its capacity.

    This is :func:`machine_overflows`, added up over the bins of each packing.

    Parameters
    ----------
    values, packings, first, resource
        As there.

    Returns
    -------
    int64 (P,)
    """
    return np.asarray(machine_overflows(values, packings, first, resource).sum(axis=1))


def machine_overflows(
    values: Values,
    packings: Sequence[Packing],
    first: Sequence[int] | None = None,
    resource: int = 0,
) -> Index:
    """Count the realizations in which the tasks of each bin exceed its capacity.

    One pass over the usage serves all packings.

    Parameters
    ----------
    values
        float32 (n, R): instantaneous usage, one row per task.
    packings
        P packings of these n tasks.
    first
        Per packing, the first column that counts (those before were for the estimator); default 0.
    resource
        Which of the machines' capacities: 0 is the CPU.

    Returns
    -------
    int64 (P, B): 0 for bins that a packing does not have or does not use

    Raises
    ------
    UsageError
        A packing has no column left to be judged on.
    """
    n_packings = len(packings)
    n_tasks, n_realizations = values.shape
    n_bins = max((len(packing.capacities) for packing in packings), default=0)
    # Bins that a packing does not have are never exceeded.  float32, like the sums they are compared with.
    limits = np.full((n_packings, n_bins), np.inf, np.float32)
    order = np.empty((n_packings, n_tasks), np.int64)
    starts = np.empty((n_packings, n_bins + 1), np.int64)
    for p, packing in enumerate(packings):
        limits[p, : len(packing.capacities)] = packing.rows[:, resource] * EVALUATION_RTOL
        # Stable, so that a bin's float32 sum does not depend on how its tasks came together.
        order[p] = np.argsort(packing.bins, kind="stable")
        sorted_bins = packing.bins[order[p]]
        starts[p] = np.searchsorted(sorted_bins, np.arange(n_bins + 1))

    first_columns = np.zeros(n_packings, np.int64)
    if first is not None:
        first_columns = np.asarray(first, np.int64)
    # With none left, q would be 0 ÷ 0.
    if first_columns.size and first_columns.max() >= n_realizations:
        raise UsageError(
            "evaluation",
            "no realizations left for evaluation",
            expected=f"a first column below {n_realizations}",
            got=str(first_columns.max()),
        )
    counts = np.empty((n_packings, n_bins), np.int64)
    count_overflow(np.ascontiguousarray(values), order, starts, limits, first_columns, counts)
    return counts


def quality(
    values: Values,
    packing: Packing,
    first: int = 0,
    resource: int = 0,
) -> float:
    """Return q, the share of pairs (machine, realization) in which the machine overflows; 0 without machines.

    Parameters
    ----------
    values
        float32 (n, R): usage, one row per task.
    packing
        Where the tasks are.
    first, resource
        As for :func:`overflow_counts`.

    Examples
    --------
    >>> from borgtrace.placement import Packing
    >>> together = Packing(np.array([0, 0]), np.ones((1, 1)), np.zeros(1, np.int64))
    >>> quality(np.float32([[0.5, 0.75], [0.5, 0.5]]), together)
    0.5
    """
    return qualities(values, [packing], first, resource)[0]


def qualities(
    values: Values,
    packings: Sequence[Packing],
    first: int = 0,
    resource: int = 0,
) -> list[float]:
    """Return :func:`quality` of each packing of the same tasks, in one pass over their usage.

    Parameters
    ----------
    values
        float32 (n, R): usage, one row per task.
    packings
        Where the tasks are.
    first, resource
        As for :func:`overflow_counts`.
    """
    counts = overflow_counts(values, packings, [first] * len(packings), resource)
    n_realizations = values.shape[1] - first
    shares = []
    for packing, n_overflows in zip(packings, counts.tolist(), strict=True):
        n_trials = packing.n_bins * n_realizations
        shares.append(n_overflows / n_trials if n_trials else 0.0)
    return shares
