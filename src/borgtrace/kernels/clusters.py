"""Clusters by k-means: Lloyd's iterations from the starts of k-means++ (Arthur and Vassilvitskii, SODA 2007).

The best of several starts counts. Each new centre is the best of a few drawn ones, as in scikit-learn, whose clusters
these are from the same seed.
"""

import math
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from borgtrace.kernels.arrays import Index, Numbers, Values

MOST_ITERATIONS = 300
TOLERANCE = 1e-4
"""Centres that moved by less of the variance have found their places."""


class Clustering(NamedTuple):
    """Points in clusters.

    Attributes
    ----------
    centres
        (clusters, coordinates).
    labels
        The cluster of each point, int64 (points,).
    spread
        Sum of the squared distances to the centres.
    """

    centres: Numbers
    labels: Index
    spread: float


def k_means(points: Values, n_clusters: int, n_starts: int, seed: int) -> Clustering:
    """Return the clustering with the least spread of those from several starts.

    Parameters
    ----------
    points
        float32 (points, coordinates); at least `n_clusters` of them differ.
    n_clusters
        How many.
    n_starts
        How often to begin anew.
    seed
        Of the starts.

    Examples
    --------
    >>> k_means(np.float32([[0], [1], [8], [9]]), 2, 1, 0).centres.ravel().tolist()
    [8.5, 0.5]
    """
    draws = np.random.RandomState(seed)
    middle = points.mean(axis=0)
    # Distances keep more digits around 0.
    centred = (points - middle).astype(np.float64)
    # Sums of several threads would differ in the last digit.
    with threadpool_limits(1):
        runs = [
            settled(centred, drawn_centres(centred, n_clusters, draws)) for _ in range(n_starts)
        ]
    best = min(runs, key=lambda run: run.spread)
    return best._replace(centres=best.centres + middle)


def drawn_centres(points: Numbers, n_clusters: int, draws: np.random.RandomState) -> Numbers:
    """Draw points as centres, those far from the centres before them more often."""
    n_candidates = 2 + int(math.log(n_clusters))
    centres = [int(draws.choice(len(points), p=np.full(len(points), 1 / len(points))))]
    nearest = squared_distances(points[centres], points)[0]
    for _ in range(1, n_clusters):
        thresholds = draws.uniform(size=n_candidates) * nearest.sum()
        candidates = np.searchsorted(np.cumsum(nearest), thresholds)
        candidates = np.minimum(candidates, len(points) - 1)
        nearest_with = np.minimum(nearest, squared_distances(points[candidates], points))
        best = int(nearest_with.sum(axis=1).argmin())
        centres.append(int(candidates[best]))
        nearest = nearest_with[best]
    return points[centres]


def settled(points: Numbers, centres: Numbers) -> Clustering:
    """Move each centre to the mean of the points nearest to it, until none moves."""
    limit = TOLERANCE * points.var(axis=0).mean()
    labels = np.full(len(points), -1)
    for _ in range(MOST_ITERATIONS):
        distances = squared_distances(centres, points)
        before = labels
        labels = distances.argmin(axis=0)
        if (labels == before).all():
            break
        moved = means(points, labels, distances)
        shift = float(((moved - centres) ** 2).sum())
        centres = moved
        if shift <= limit:
            break
    labels = squared_distances(centres, points).argmin(axis=0)
    spread = float(((points - centres[labels]) ** 2).sum())
    return Clustering(centres, labels, spread)


def means(points: Numbers, labels: Index, distances: Numbers) -> Numbers:
    """Return the mean of each cluster; an empty one takes the point that is farthest from its centre."""
    n_clusters = len(distances)
    labels = labels.copy()
    empty = np.flatnonzero(np.bincount(labels, minlength=n_clusters) == 0)
    own_distances = distances[labels, np.arange(len(points))]
    farthest = np.argsort(-own_distances, kind="stable")[: len(empty)]
    labels[farthest] = empty
    is_member = np.arange(n_clusters)[:, None] == labels
    sums = is_member.astype(np.float64) @ points
    return np.asarray(sums / is_member.sum(axis=1)[:, None])


def squared_distances(centres: Numbers, points: Numbers) -> Numbers:
    """Return the squared distance of each centre from each point: (centres, points)."""
    squares = (centres**2).sum(axis=1)[:, None] + np.einsum("ij,ij->i", points, points)
    return np.asarray(np.maximum(squares - 2 * (centres @ points.T), 0.0))
