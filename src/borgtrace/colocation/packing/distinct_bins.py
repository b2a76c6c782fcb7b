"""The bins of several packings of the same tasks, each different one once, and how often their tasks exceed them.

Packings have bins in common: with and without rebalancing, told one target or the next.  A third of the additions of
the paper's grid are of bins that another packing has, too, and an eighth are of bins that not even the peaks of their
tasks fill (a cell of 679 tasks, 336 packings).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from borgtrace.kernels.arrays import Flags, Index, Values
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.hashing import hashed
from borgtrace.placement import Packing

TILE = 256
"""Realizations per tile: 1,000 tasks × 256 × 4 bytes = one megabyte, the size of a common L2 cache."""
EVALUATION_RTOL = 1 + 2**-20
"""Factor on capacities when overflows are counted: sums of some tens of float32 values round that far."""


@dataclass(frozen=True, eq=False)
class DistinctBins:
    """D bins that differ in what they hold, in what they may use, or in the columns they are judged on.

    Attributes
    ----------
    members, offsets
        int64 (k,) and (D + 1,): bin d holds the tasks ``members[offsets[d]:offsets[d + 1]]``, ascending; never none.
    limits
        float32 (D,): what it may use.
    first
        int64 (D,): it is judged on the columns from here on.
    numbers
        int64 (P, B): which of these each bin of each packing is; −1 where it holds nothing or does not exist.

    Examples
    --------
    >>> together = Packing(np.array([0, 0, 1]), np.ones((2, 1)), np.arange(2))
    >>> apart = Packing(np.array([1, 2, 0]), np.ones((3, 1)), np.arange(3))
    >>> bins = DistinctBins.of([together, apart])
    >>> bins.numbers.tolist()
    [[0, 1, -1], [1, 2, 3]]
    >>> bins.overflows(np.float32([[0.5, 0.75], [0.25, 0.5], [0, 2]]), np.array([0, 1, 2]))[0].tolist()
    [[0, 1], [0, 1], [0, 0]]
    """

    members: Index
    offsets: Index
    limits: Values
    first: Index
    numbers: Index

    @classmethod
    def of(
        cls,
        packings: Sequence[Packing],
        first: Sequence[int] | None = None,
        resource: int = 0,
    ) -> Self:
        """Find the bins that differ.

        Parameters
        ----------
        packings
            P packings of the same n tasks.
        first
            Per packing, the first column that counts; 0 where None.
        resource
            Which of the machines' capacities: 0 is the CPU.
        """
        n_tasks = len(packings[0].bins) if packings else 0
        n_bins = max((len(packing.capacities) for packing in packings), default=0)
        # float32, like the sums they are compared with.
        limits = np.full((len(packings), n_bins), np.inf, np.float32)
        order = np.empty((len(packings), n_tasks), np.int64)
        starts = np.empty((len(packings), n_bins + 1), np.int64)
        for p, packing in enumerate(packings):
            limits[p, : len(packing.capacities)] = packing.rows[:, resource] * EVALUATION_RTOL
            # Stable, so that a bin's float32 sum does not depend on how its tasks came together.
            order[p] = np.argsort(packing.bins, kind="stable")
            sorted_bins = packing.bins[order[p]]
            starts[p] = np.searchsorted(sorted_bins, np.arange(n_bins + 1))
        first_columns = np.zeros(len(packings), np.int64)
        if first is not None:
            first_columns = np.asarray(first, np.int64)

        numbers = np.empty((len(packings), n_bins), np.int64)
        places = np.empty((limits.size, 2), np.int64)
        n_distinct = _find_distinct(order, starts, limits, first_columns, numbers, places)
        packing_of_bin, bin_of_packing = places[:n_distinct].T
        begin = starts[packing_of_bin, bin_of_packing]
        end = starts[packing_of_bin, bin_of_packing + 1]
        offsets = np.concatenate(([0], np.cumsum(end - begin)))
        shifts = np.repeat(begin - offsets[:-1], end - begin)
        members = order[np.repeat(packing_of_bin, end - begin), np.arange(offsets[-1]) + shifts]
        return cls(
            members=members,
            offsets=offsets,
            limits=limits[packing_of_bin, bin_of_packing],
            first=first_columns[packing_of_bin],
            numbers=numbers,
        )

    def overflows(self, values: Values, edges: Index, rows: Index | None = None) -> Index:
        """Count the columns of each block in which the tasks of each bin exceed its limit.

        Parameters
        ----------
        values
            float32 (n, R): usage, one row per task.
        edges
            int64 (blocks + 1,), ascending from 0 to R: block k is the columns from ``edges[k]`` to ``edges[k + 1]``.
        rows
            int64 (n,): the row of each task; None where row i is task i.

        Returns
        -------
        int64 (P, B, blocks)
        """
        values = np.ascontiguousarray(values)
        # Tasks are added up in their order, wherever their rows are.
        members = self.members if rows is None else rows[self.members]
        # One more row than there are bins: place −1 is of those that hold nothing.
        counts = np.zeros((len(self.limits) + 1, len(edges) - 1), np.int64)
        # Additions round monotonically: what the peaks do not exceed, added in the same order, nothing exceeds.
        may_exceed = _exceed(values.max(axis=1), members, self.offsets, self.limits)
        # Made here: the kernel neither makes arrays nor counts references to them.
        tile = np.zeros((len(values), TILE), np.float32)
        sums = np.zeros(TILE, np.float32)
        count_overflow(
            values,
            members,
            self.offsets,
            self.limits,
            self.first,
            may_exceed,
            edges,
            tile,
            sums,
            counts,
        )
        return np.asarray(counts[self.numbers])


@compiled()
def _find_distinct(
    order: Index,
    starts: Index,
    limits: Values,
    first: Index,
    numbers: Index,
    places: Index,
) -> int:
    """Number the bins that differ in the order in which they are met; return how many there are.

    `numbers` gets the number of each bin, `places` the packing and the bin where each number was met first.
    """
    n_packings, n_bins = limits.shape
    n_slots = 1
    while n_slots < 2 * limits.size:
        n_slots *= 2
    slots = np.full(n_slots, -1)
    n_distinct = 0
    for p in range(n_packings):
        for b in range(n_bins):
            numbers[p, b] = -1
            members = order[p, starts[p, b] : starts[p, b + 1]]
            if not members.size:
                continue
            slot = _hash_of_members(members, n_slots)
            while slots[slot] >= 0:
                q = places[slots[slot], 0]
                c = places[slots[slot], 1]
                # Neither is hashed: bins that hold the same mostly agree in both.
                is_judged_alike = limits[p, b] == limits[q, c] and first[p] == first[q]
                if is_judged_alike and _are_same(
                    members, order[q, starts[q, c] : starts[q, c + 1]]
                ):
                    break
                slot = (slot + 1) % n_slots
            if slots[slot] < 0:
                slots[slot] = n_distinct
                places[n_distinct, 0] = p
                places[n_distinct, 1] = b
                n_distinct += 1
            numbers[p, b] = slots[slot]
    return n_distinct


@compiled()
def _hash_of_members(members: Index, n_slots: int) -> np.int64:
    """Return a number below `n_slots`, a power of two, that hangs on the tasks and on their order."""
    one = np.uint64(1)
    key = np.uint64(members.size)
    for k in range(members.size):
        key = hashed(key ^ np.uint64(members[k]), one)
    return np.int64(key & np.uint64(n_slots - 1))


@compiled()
def _are_same(members: Index, others: Index) -> bool:
    if members.size != others.size:
        return False
    n_alike = 0
    while n_alike < members.size and members[n_alike] == others[n_alike]:
        n_alike += 1
    return n_alike == members.size


@compiled()
def _exceed(peaks: Values, members: Index, offsets: Index, limits: Values) -> Flags:
    """Return whether each bin would exceed its limit if all its tasks peaked at once."""
    exceed = np.empty(limits.size, np.bool_)
    for d in range(limits.size):
        total = np.float32(0)
        for k in range(offsets[d], offsets[d + 1]):
            total = np.float32(total + peaks[members[k]])
        # Negated, so that a peak that is no number decides nothing.
        exceed[d] = not total <= limits[d]
    return exceed


@compiled(makes_arrays=False)
def _sum_rows(tile: Values, members: Index, begin: int, end: int, sums: Values) -> None:
    """Set `sums` to the sum of some rows of a tile, in their order, up to eight at a pass.

    In float32 and over whole tiles, because loops of constant length vectorize.
    """
    a = tile[members[begin]]
    for t in range(TILE):
        sums[t] = a[t]
    k = begin + 1
    while k + 8 <= end:
        a = tile[members[k]]
        b = tile[members[k + 1]]
        c = tile[members[k + 2]]
        d = tile[members[k + 3]]
        e = tile[members[k + 4]]
        f = tile[members[k + 5]]
        g = tile[members[k + 6]]
        h = tile[members[k + 7]]
        for t in range(TILE):
            # From the left, as one row at a time: the same bits with an eighth of the traffic to `sums`.
            four = (((sums[t] + a[t]) + b[t]) + c[t]) + d[t]
            sums[t] = (((four + e[t]) + f[t]) + g[t]) + h[t]
        k += 8
    while k + 2 <= end:
        a = tile[members[k]]
        b = tile[members[k + 1]]
        for t in range(TILE):
            sums[t] = (sums[t] + a[t]) + b[t]
        k += 2
    if k < end:
        a = tile[members[k]]
        for t in range(TILE):
            sums[t] += a[t]


@compiled(makes_arrays=False)
def _count(sums: Values, limit: np.float32, low: int, high: int) -> np.int32:
    # 32 bits, as wide as the sums: comparison and count stay in the same vector lanes.
    above = np.int32(0)
    if low == 0 and high == TILE:
        for t in range(TILE):
            above += np.int32(sums[t] > limit)
    else:
        for t in range(low, high):
            above += np.int32(sums[t] > limit)
    return above


@compiled(makes_arrays=False)
def count_overflow(
    values: Values,
    members: Index,
    offsets: Index,
    limits: Values,
    first: Index,
    may_exceed: Flags,
    edges: Index,
    tile: Values,
    sums: Values,
    counts: Index,
) -> None:
    """Count, per bin and block of columns, the realizations in which the bin's tasks exceed its limit.

    One thread: instances are spread over threads by the caller, and this holds no GIL.

    Parameters
    ----------
    values
        float32 (n, R): realization r of task i.
    members, offsets, limits, first, edges
        As of :class:`DistinctBins`.
    may_exceed
        bool (D,): bins that are counted.
    tile, sums
        float32 (n, TILE) and (TILE,): scratch.
    counts
        int64 (≥ D, blocks): added to.
    """
    n, realizations = values.shape
    first_block = 0
    for left in range(0, realizations, TILE):
        width = min(TILE, realizations - left)
        for i in range(n):
            # Columns past `width` keep old values; `_count` never looks at them.
            for t in range(width):
                tile[i, t] = values[i, left + t]
        while edges[first_block + 1] <= left:
            first_block += 1
        for d in range(limits.size):
            if not may_exceed[d] or first[d] >= left + width:
                continue
            _sum_rows(tile, members, offsets[d], offsets[d + 1], sums)
            block = first_block
            while block < counts.shape[1] and edges[block] < left + width:
                low = max(edges[block], first[d]) - left
                high = min(edges[block + 1] - left, width)
                counts[d, block] += _count(sums, limits[d], max(low, 0), high)
                block += 1
