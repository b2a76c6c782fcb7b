"""Boosted regression trees as arrays: what scikit-learn learned, in a form that a file can hold without code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.kernels.compiled import compiled

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingRegressor

DTYPES = {
    "baseline": np.float64,
    "roots": np.int64,
    "feature": np.int64,
    "threshold": np.float64,
    "missing_goes_left": np.bool_,
    "left": np.int64,
    "right": np.int64,
    "value": np.float64,
}
"""Of the columns of :class:`Trees`."""
LEAF = -1
"""Stands for the children of a leaf, which has none."""


class Trees(NamedTuple):
    """Trees one after the other, each from its root on; children stand behind their parent.

    Attributes
    ----------
    baseline
        float64 (1,): what the values of the trees are added to.
    roots
        int64 (trees,): the first node of each tree.
    feature, threshold
        int64 and float64 (nodes,): a value of the feature up to the threshold goes left.
    missing_goes_left
        bool (nodes,): where NaN goes.
    left, right
        int64 (nodes,): the children; `LEAF` for a leaf.
    value
        float64 (nodes,): what a leaf adds.
    """

    baseline: Numbers
    roots: Index
    feature: Index
    threshold: Numbers
    missing_goes_left: Flags
    left: Index
    right: Index
    value: Numbers

    @classmethod
    def of(cls, model: HistGradientBoostingRegressor) -> Trees:
        """Return the trees of a fitted model."""
        nodes_of_trees = [predictor.nodes for (predictor,) in model._predictors]
        sizes = [len(nodes) for nodes in nodes_of_trees]
        roots = np.cumsum([0, *sizes[:-1]])
        nodes = np.concatenate(nodes_of_trees)
        first_of_tree = np.repeat(roots, sizes)
        is_leaf = nodes["is_leaf"].astype(bool)
        return cls(
            baseline=np.asarray(model._baseline_prediction, np.float64).reshape(1),
            roots=roots.astype(np.int64),
            feature=nodes["feature_idx"].astype(np.int64),
            threshold=nodes["num_threshold"].astype(np.float64),
            missing_goes_left=nodes["missing_go_to_left"].astype(bool),
            left=np.where(is_leaf, LEAF, nodes["left"] + first_of_tree),
            right=np.where(is_leaf, LEAF, nodes["right"] + first_of_tree),
            value=nodes["value"].astype(np.float64),
        )

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Trees:
        """Return the trees that a file holds; what is wrong with them :meth:`check` says."""
        columns: dict[str, Any] = {}
        for name, dtype in DTYPES.items():
            columns[name] = np.asarray(arrays[name], dtype).reshape(-1)
        return cls(**columns)

    def predict(self, regressors: Numbers) -> Numbers:
        """Return the sum of the trees for each row of `regressors`: (n,)."""
        return sum_of_trees(np.ascontiguousarray(regressors, np.float64), *self)

    def check(self, n_features: int) -> None:
        """Refuse trees that would read outside their arrays or never reach a leaf: a file may hold any numbers.

        Parameters
        ----------
        n_features
            Columns of the regressors.

        Raises
        ------
        ValueError
            Where it is so.
        """
        n_nodes = len(self.value)
        lengths = {len(column) for column in self[2:]}
        if lengths != {n_nodes} or len(self.baseline) != 1:
            raise ValueError("columns of several lengths")
        numbers = np.arange(n_nodes)
        is_leaf = self.left == LEAF
        for children in (self.left, self.right):
            is_later = (children > numbers) & (children < n_nodes)
            if not (is_later | is_leaf).all():
                raise ValueError("a node's child is not behind it")
        if not ((self.feature >= 0) & (self.feature < n_features)).all():
            raise ValueError("a node asks for a feature that there is not")
        if not ((self.roots >= 0) & (self.roots < n_nodes)).all():
            raise ValueError("a tree has no root")


@compiled()
def sum_of_trees(
    regressors: Numbers,
    baseline: Numbers,
    roots: Index,
    feature: Index,
    threshold: Numbers,
    missing_goes_left: Flags,
    left: Index,
    right: Index,
    value: Numbers,
) -> Numbers:
    """Follow each row from the root of each tree to its leaf; see :class:`Trees`."""
    total = np.full(len(regressors), baseline[0])
    # Tree by tree, as scikit-learn adds them: the same numbers to the last digit.
    for root in roots:
        for row in range(len(regressors)):
            node = root
            while left[node] != LEAF:
                regressor = regressors[row, feature[node]]
                # A comparison with NaN is false.
                goes_left = regressor <= threshold[node]
                if np.isnan(regressor):
                    goes_left = missing_goes_left[node]
                node = left[node] if goes_left else right[node]
            total[row] += value[node]
    return total
