"""First Fit by the exact Gaussian test, for millions of tasks: a segment tree over the bins.

The naive loop tests every bin.  Here a node of the tree knows, of all bins below it, the smallest mean, the smallest
variance, the smallest *size* μ + z√v and the largest variance.  From these follow lower bounds on the size that any of
them would have with the item, and whole subtrees where no bin can fit are skipped.  The bins that remain are tested
by the estimator's own formula, from the left, so the packing is that of the naive loop, bit for bit.
"""

import math

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.gaussian import fit_bin

# Pruning must never be stricter than the test itself; too wide a margin only tests a few more bins.
_MARGIN = 1e-9  # far above the rounding of the bounds, far below any usage
_FIRST_LEAVES = 64
# Columns of the tree.  Children of node k are 2k and 2k + 1, bin b is leaf n_leaves + b.
_LEAST_MEAN, _LEAST_VARIANCE, _LEAST_SIZE, _MOST_VARIANCE = range(4)
_N_COLUMNS = 4
_N_LEAST = 3
"""The first columns are minima, the last is a maximum."""


@compiled(inline=True)
def _cannot_fit(
    node: Numbers,
    mean: float,
    variance: float,
    z: float,
    limit: float,
) -> bool:
    """Whether every bin below `node` would exceed `limit` with the item.

    √(v + x) − √v falls with v, so size + z(√(v_max + x) − √v_max) bounds from below for z ≥ 0; for z < 0 (targets
    above one half), √(v + x) ≤ √v + √x.
    """
    if z < 0:
        return node[_LEAST_SIZE] + mean + z * math.sqrt(variance) > limit
    # The least mean with the least variance: no bin below is smaller in both.
    if node[_LEAST_MEAN] + mean + z * math.sqrt(node[_LEAST_VARIANCE] + variance) > limit:
        return True
    most = node[_MOST_VARIANCE]
    growth = z * (math.sqrt(most + variance) - math.sqrt(most))
    return node[_LEAST_SIZE] + mean + growth > limit


@compiled(inline=True)
def _summarize(tree: Numbers, node: int) -> None:
    """Set the bounds of a node from those of its children."""
    left = tree[2 * node]
    right = tree[2 * node + 1]
    for k in range(_N_LEAST):
        tree[node, k] = min(left[k], right[k])
    tree[node, _MOST_VARIANCE] = max(left[_MOST_VARIANCE], right[_MOST_VARIANCE])


@compiled(inline=True)
def _refresh(
    tree: Numbers,
    leaf: int,
    z: float,
) -> None:
    """Recompute the ancestors of a leaf that changed."""
    variance = tree[leaf, _LEAST_VARIANCE]
    tree[leaf, _LEAST_SIZE] = tree[leaf, _LEAST_MEAN] + z * math.sqrt(variance)
    tree[leaf, _MOST_VARIANCE] = variance
    # To the root without stopping early: a sibling may have become the least of any ancestor.
    node = leaf >> 1
    while node >= 1:
        _summarize(tree, node)
        node >>= 1


@compiled(inline=True)
def _find_first_fit(
    tree: Numbers,
    n_leaves: int,
    mean: float,
    variance: float,
    z: float,
    capacity: float,
    target: float,
) -> int:
    """Return the leftmost leaf that passes the test, or −1; depth first from the left, without a stack."""
    limit = capacity + _MARGIN
    node = 1
    while True:
        if not _cannot_fit(
            tree[node],
            mean,
            variance,
            z,
            limit,
        ):
            # Left child first, since bins are numbered from the left in the order they were opened.
            if node < n_leaves:
                node *= 2
                continue
            # Subtracted in the order of the general loop: only then are the packings equal bit for bit.
            room = capacity - tree[node, _LEAST_MEAN] - mean
            if (
                fit_bin(
                    room,
                    tree[node, _LEAST_VARIANCE] + variance,
                    target,
                )
                >= 0
            ):
                return node
        # A right child is the end of its subtree: climb until there is a sibling on the right.
        while node & 1:
            if node == 1:
                return -1
            node >>= 1
            if node == 1:
                return -1
        node += 1


@compiled()
def _make_tree(n_leaves: int) -> Numbers:
    """Return a tree without bins: an infinite mean keeps leaves that are not in use from being found."""
    tree = np.empty((2 * n_leaves, _N_COLUMNS))
    tree[:, :_N_LEAST] = np.inf
    # The neutral element of a maximum: leaves not in use change no bound.
    tree[:, _MOST_VARIANCE] = 0.0
    return tree


@compiled()
def _double(tree: Numbers, n_leaves: int) -> Numbers:
    """Return the same bins in a tree of twice as many leaves."""
    larger = _make_tree(2 * n_leaves)
    for i in range(n_leaves):
        larger[2 * n_leaves + i] = tree[n_leaves + i]
    for node in range(2 * n_leaves - 1, 0, -1):
        _summarize(larger, node)
    return larger


@compiled()
def gaussian_first_fit(
    mean: Numbers,
    variance: Numbers,
    capacity: float,
    target: float,
    z: float,
    bins: Index,
) -> int:
    """Place every item into the first bin where it fits, else into a new one; O(log bins) per item, about.

    Parameters
    ----------
    mean, variance
        float64 (n,): the items, in the order of arrival.
    capacity
        Of every bin.
    target
        ρ: tolerated probability of overflow.
    z
        Φ⁻¹(1 − ρ), for the bounds.
    bins
        int64 (n,): the result; −1 where an item does not even fit alone.

    Returns
    -------
    int
        Number of bins.
    """
    # Doubled when full: the number of bins is unknown, and a leaf per task would mostly go unused.
    n_leaves = _FIRST_LEAVES
    tree = _make_tree(n_leaves)
    n_bins = 0
    for i in range(mean.size):
        leaf = _find_first_fit(
            tree,
            n_leaves,
            mean[i],
            variance[i],
            z,
            capacity,
            target,
        )
        if leaf < 0:
            left_alone = fit_bin(capacity - mean[i], variance[i], target)
            if left_alone < 0:
                bins[i] = -1
                continue
            if n_bins == n_leaves:
                tree = _double(tree, n_leaves)
                n_leaves *= 2
            leaf = n_leaves + n_bins
            tree[leaf, _LEAST_MEAN] = 0.0
            tree[leaf, _LEAST_VARIANCE] = 0.0
            n_bins += 1
        tree[leaf, _LEAST_MEAN] += mean[i]
        tree[leaf, _LEAST_VARIANCE] += variance[i]
        _refresh(tree, leaf, z)
        bins[i] = leaf - n_leaves
    return n_bins
