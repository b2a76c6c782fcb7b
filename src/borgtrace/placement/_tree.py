"""First Fit by the exact Gaussian test, for millions of tasks: a segment tree over the bins.

The naive loop asks every bin.  Here a node of the tree knows, of all bins below it, the smallest mean, the smallest
variance, the smallest *size* μ + z√v and the largest variance; from these follow lower bounds on the size any of
them would have with the item, and whole subtrees where no bin can fit are skipped.  The bins that remain are asked
by the estimator's own test, from the left, so the answer is the naive loop's, bit for bit.
"""

import math

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.placement._gaussian import fit_bin

# Pruning must never be stricter than the test itself; a margin too wide only asks a few more bins.
_MARGIN = 1e-9  # far above the rounding of the bounds, far below any usage


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
        return node[2] + mean + z * math.sqrt(variance) > limit
    # The least mean with the least variance: no bin below is smaller in both.
    if node[0] + mean + z * math.sqrt(node[1] + variance) > limit:
        return True
    grown = z * (math.sqrt(node[3] + variance) - math.sqrt(node[3]))
    return node[2] + mean + grown > limit


@compiled(inline=True)
def _summarize(tree: Numbers, node: int) -> None:
    """Set the bounds of a node from those of its children."""
    left = tree[2 * node]
    right = tree[2 * node + 1]
    for k in range(3):
        tree[node, k] = min(left[k], right[k])
    tree[node, 3] = max(left[3], right[3])


@compiled(inline=True)
def _refresh(tree: Numbers, leaf: int, z: float) -> None:
    """Recompute the ancestors of a leaf that changed."""
    tree[leaf, 2] = tree[leaf, 0] + z * math.sqrt(tree[leaf, 1])
    tree[leaf, 3] = tree[leaf, 1]
    # To the root without stopping early: a sibling may have become the least of any ancestor.
    node = leaf >> 1
    while node >= 1:
        _summarize(tree, node)
        node >>= 1


@compiled(inline=True)
def _first_fit(
    tree: Numbers,
    leaves: int,
    mean: float,
    variance: float,
    z: float,
    capacity: float,
    target: float,
) -> int:
    """Leftmost leaf that passes the test, or −1; depth first from the left, without a stack."""
    limit = capacity + _MARGIN
    node = 1
    while True:
        if not _cannot_fit(tree[node], mean, variance, z, limit):
            # Left child first, since bins are numbered from the left in the order they were opened.
            if node < leaves:
                node *= 2
                continue
            # Subtracted in the order of the general loop: only then are the packings equal bit for bit.
            if fit_bin(capacity - tree[node, 0] - mean, tree[node, 1] + variance, target) >= 0:
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
def _doubled(tree: Numbers, leaves: int) -> Numbers:
    """The same bins in a tree of twice as many leaves."""
    bigger = np.empty((4 * leaves, 4))
    bigger[:, :3] = np.inf
    # A largest variance starts at 0, the least values at infinity: leaves not in use then change no bound.
    bigger[:, 3] = 0.0
    for i in range(leaves):
        bigger[2 * leaves + i] = tree[leaves + i]
    for node in range(2 * leaves - 1, 0, -1):
        _summarize(bigger, node)
    return bigger


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
    leaves = 64
    m = 0
    # Children of node k are 2k and 2k + 1, bin b is leaf leaves + b.  Columns: least mean, least variance, least
    # size, largest variance.  An infinite mean keeps bins that are not open from being found.
    tree = np.empty((2 * leaves, 4))
    tree[:, :3] = np.inf
    tree[:, 3] = 0.0
    for i in range(mean.size):
        leaf = _first_fit(tree, leaves, mean[i], variance[i], z, capacity, target)
        if leaf < 0:
            if fit_bin(capacity - mean[i], variance[i], target) < 0:
                bins[i] = -1
                continue
            if m == leaves:
                tree = _doubled(tree, leaves)
                leaves *= 2
            leaf = leaves + m
            tree[leaf, 0] = 0.0
            tree[leaf, 1] = 0.0
            m += 1
        tree[leaf, 0] += mean[i]
        tree[leaf, 1] += variance[i]
        _refresh(tree, leaf, z)
        bins[i] = leaf - leaves
    return m
