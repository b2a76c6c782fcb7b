"""Clusters against scikit-learn's, which is not installed with the package."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from borgtrace.kernels.clusters import k_means


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n", [40, 500])
def test_clusters_are_those_of_scikit_learn(n: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    middles = random.dirichlet(np.full(30, 0.1), size=20)
    points = np.float32([random.multinomial(100, middles[i % 20]) / 100 for i in range(n)])
    # The threads of OpenMP spin while others use the machine.
    with threadpool_limits(1):
        expected = KMeans(16, n_init=4, random_state=seed).fit(points)
    clustering = k_means(points, 16, 4, seed)
    assert (clustering.labels == expected.labels_).all()
    assert clustering.centres == pytest.approx(expected.cluster_centers_, abs=1e-5)
    assert clustering.spread == pytest.approx(expected.inertia_, rel=1e-4)


def test_planted_clusters_are_found() -> None:
    middles = np.array([[0.0, 0.0], [0.0, 9.0], [9.0, 0.0], [9.0, 9.0]])
    offsets = np.array([[0.1, 0.0], [-0.1, 0.0], [0.0, 0.1], [0.0, -0.1]])
    points = np.float32((middles[:, None] + offsets).reshape(-1, 2))
    clustering = k_means(points, 4, 4, 0)
    order = np.lexsort(clustering.centres.T[::-1])
    assert clustering.centres[order] == pytest.approx(middles, abs=1e-6)
    # Each of the sixteen points lies a tenth from its centre.
    assert clustering.spread == pytest.approx(16 * 0.01, rel=1e-5)


def test_points_that_are_alike_leave_no_cluster_empty() -> None:
    points = np.float32([[0.0]] * 50 + [[1.0], [2.0], [5.0]])
    clustering = k_means(points, 4, 2, 1)
    assert sorted(clustering.centres.ravel().round(6)) == [0.0, 1.0, 2.0, 5.0]
    assert clustering.spread == pytest.approx(0.0, abs=1e-9)
