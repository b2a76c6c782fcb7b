"""Gradient boosting of regression trees over histograms, for squared errors.

The method of LightGBM (Ke et al., NeurIPS 2017) with the settings of scikit-learn's ``HistGradientBoostingRegressor``:
it learns the same trees, Regressors are numbers without gaps.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from borgtrace.forecast.trees import LEAF, Trees
from borgtrace.kernels.arrays import Bytes, Index, Numbers, Values
from borgtrace.kernels.compiled import compiled

N_TREES = 100
LEARNING_RATE = 0.1
MOST_LEAVES = 31
FEWEST_ROWS = 20
"""Of a leaf."""
MOST_BINS = 255
"""Of a regressor."""
MOST_SAMPLED = 200_000
"""Rows that the bins are made from."""


@dataclass(slots=True)
class Node:
    """A part of the rows, and the best way to halve it.

    Attributes
    ----------
    rows
        Numbers of the rows, ascending.
    sums, counts
        Of the gradients and of the rows in each bin, both (features, bins).
    gain
        By how much the best split lowers the squared error; 0 where there is none.
    feature, last_bin
        That split: bins up to `last_bin` go left.
    children
        Left and right; empty for a leaf.
    """

    rows: Index
    sums: Numbers
    counts: Numbers
    gain: float = 0.0
    feature: int = 0
    last_bin: int = 0
    children: tuple[Node, ...] = ()

    @property
    def value(self) -> float:
        """The mean of what is left to explain."""
        return -float(self.sums[0].sum() / len(self.rows))

    def find_split(self) -> None:
        """Find the best split that leaves enough rows on both sides; the first of equal ones."""
        if len(self.rows) < 2 * FEWEST_ROWS:
            return
        n = float(len(self.rows))
        # All regressors bin the same rows; one total, so that no rounding prefers a regressor.
        total = self.sums[0].sum()
        left_sums = self.sums.cumsum(axis=1)[:, :-1]
        left_counts = self.counts.cumsum(axis=1)[:, :-1]
        right_counts = n - left_counts
        is_allowed = (left_counts >= FEWEST_ROWS) & (right_counts >= FEWEST_ROWS)
        with np.errstate(divide="ignore", invalid="ignore"):
            explained = left_sums**2 / left_counts + (total - left_sums) ** 2 / right_counts
        gains = np.where(is_allowed, explained - total**2 / n, 0.0)
        best = int(gains.argmax())
        self.gain = float(gains.flat[best])
        self.feature, self.last_bin = divmod(best, gains.shape[1])


def boosted_trees(regressors: Numbers, target: Numbers, seed: int) -> Trees:
    """Learn trees whose sum approaches a target.

    Parameters
    ----------
    regressors
        Shape (n, features).
    target
        Shape (n,).
    seed
        Of the sample of rows that bins are made from, where there are more than `MOST_SAMPLED`.
    """
    thresholds = bin_thresholds(regressors, seed)
    bins = np.empty(regressors.shape, np.uint8)
    for feature, edges in enumerate(thresholds):
        bins[:, feature] = np.searchsorted(edges, regressors[:, feature])
    baseline = float(target.mean())
    predicted = np.full(len(target), baseline)
    trees = []
    for _ in range(N_TREES):
        gradients = (predicted - target).astype(np.float32)
        tree = grown_tree(bins, gradients)
        trees.append(tree)
        for leaf in leaves(tree):
            predicted[leaf.rows] += LEARNING_RATE * leaf.value
    return as_arrays(trees, thresholds, baseline)


def bin_thresholds(regressors: Numbers, seed: int) -> list[Numbers]:
    """Return for each regressor the upper ends of all bins but the last: between its values, or at percentiles."""
    if len(regressors) > MOST_SAMPLED:
        rows = np.random.default_rng(seed).choice(len(regressors), MOST_SAMPLED, replace=False)
        regressors = regressors[rows]
    percentiles = np.linspace(0, 100, MOST_BINS + 1)[1:-1]
    thresholds = []
    for values in regressors.T:
        distinct = np.unique(values)
        if len(distinct) <= MOST_BINS:
            thresholds.append((distinct[:-1] + distinct[1:]) / 2)
        else:
            edges = np.percentile(values, percentiles, method="averaged_inverted_cdf")
            thresholds.append(np.unique(edges))
    return thresholds


def grown_tree(bins: Bytes, gradients: Values) -> Node:
    """Return a tree: the leaf whose split gains most is split next."""
    rows = np.arange(len(bins))
    root = Node(rows, *histograms(bins, gradients, rows))
    root.find_split()
    waiting: list[tuple[float, int, Node]] = []
    if root.gain > 0:
        heappush(waiting, (-root.gain, 0, root))
    n_leaves = 1
    # Numbers of nodes break ties.
    n_nodes = 1
    while waiting and n_leaves < MOST_LEAVES:
        node = heappop(waiting)[2]
        node.children = halves(node, bins, gradients)
        n_leaves += 1
        for child in node.children:
            child.find_split()
            n_nodes += 1
            if child.gain > 0:
                heappush(waiting, (-child.gain, n_nodes, child))
    return root


def halves(node: Node, bins: Bytes, gradients: Values) -> tuple[Node, Node]:
    """Split a node; the histogram of the larger half is what the smaller one leaves of the node's."""
    is_left = bins[node.rows, node.feature] <= node.last_bin
    left = node.rows[is_left]
    right = node.rows[~is_left]
    smaller = left if len(left) < len(right) else right
    sums, counts = histograms(bins, gradients, smaller)
    of_smaller = Node(smaller, sums, counts)
    larger = right if smaller is left else left
    of_larger = Node(larger, node.sums - sums, node.counts - counts)
    return (of_smaller, of_larger) if smaller is left else (of_larger, of_smaller)


@compiled()
def histograms(bins: Bytes, gradients: Values, rows: Index) -> tuple[Numbers, Numbers]:
    """Return the sums of the gradients and the numbers of rows in each bin: two of (features, bins)."""
    n_features = bins.shape[1]
    sums = np.zeros((n_features, MOST_BINS))
    counts = np.zeros((n_features, MOST_BINS))
    for row in rows:
        for feature in range(n_features):
            place = bins[row, feature]
            sums[feature, place] += gradients[row]
            counts[feature, place] += 1.0
    return sums, counts


def leaves(node: Node) -> list[Node]:
    """Return the leaves below a node, from left to right."""
    if not node.children:
        return [node]
    left, right = node.children
    return leaves(left) + leaves(right)


def nodes_below(node: Node) -> list[Node]:
    """Return a node and all below it, each before its children."""
    return [node, *(below for child in node.children for below in nodes_below(child))]


def as_arrays(trees: list[Node], thresholds: list[Numbers], baseline: float) -> Trees:
    """Return trees in the form that predicts."""
    nodes = [node for tree in trees for node in nodes_below(tree)]
    numbers = {id(node): number for number, node in enumerate(nodes)}
    inner = [number for number, node in enumerate(nodes) if node.children]
    left = np.full(len(nodes), LEAF)
    right = np.full(len(nodes), LEAF)
    feature = np.zeros(len(nodes), np.int64)
    threshold = np.zeros(len(nodes))
    missing_goes_left = np.zeros(len(nodes), bool)
    value = np.array([LEARNING_RATE * node.value for node in nodes])
    for number in inner:
        node = nodes[number]
        left[number], right[number] = (numbers[id(child)] for child in node.children)
        feature[number] = node.feature
        threshold[number] = thresholds[node.feature][node.last_bin]
        # Where none was missing in training: with the greater part.
        missing_goes_left[number] = len(node.children[0].rows) > len(node.children[1].rows)
    return Trees(
        baseline=np.array([baseline]),
        roots=np.array([numbers[id(tree)] for tree in trees]),
        feature=feature,
        threshold=threshold,
        missing_goes_left=missing_goes_left,
        left=left,
        right=right,
        value=value,
    )
