"""Which shapes do the distributions of CPU usage have?

Fig. 4 of Janus & Rzadca (SoCC'17): each long task becomes a histogram of its one-second samples in 100
cells of a hundredth of a machine (the last cell also takes what lies above), and k-means (Euclidean) groups
them around 16 centroids. Clusters are lettered by size; a is the largest.

Reference: Janus & Rzadca, SoCC'17, Fig. 4.
"""

import numba
import numpy as np
import pyarrow as pa

from borgtrace.colocation import Experiment, Options, Pool, Study
from borgtrace.kernels.arrays import Index, Numbers, Values
from borgtrace.kernels.compiled import compiled
from borgtrace.question import NotApplicable

CELLS, CLUSTERS, STARTS = 100, 16, 4


@compiled(parallel=True)
def _fill_shares(values: Values, offsets: Index, weights: Index, shares: Values) -> None:
    cells = shares.shape[1]
    for i in numba.prange(shares.shape[0]):
        # An array of its own for each task: threads would write into a common one.
        counts, total = np.zeros(cells, np.int64), 0
        for k in range(offsets[i], offsets[i + 1]):
            weight = weights[k] if weights.size else 1
            counts[min(int(np.float64(values[k]) * cells), cells - 1)] += weight
            total += weight
        for cell in range(cells):
            shares[i, cell] = counts[cell] / total


def histograms(pool: Pool) -> Values:
    """Share of each task's samples per cell, float32 (n, 100); windows weigh by length where draws do.

    Examples
    --------
    >>> pool = Pool(offsets=np.array([0, 2]), inst=np.float32([0.005, 2.0]), avg=np.float32([0, 0]),
    ...             collection_id=np.array([1]), instance_index=np.array([0]))
    >>> np.flatnonzero(histograms(pool)[0]).tolist()
    [0, 99]
    """
    shares = np.empty((len(pool), CELLS), np.float32)
    weights = np.empty(0, np.int64) if pool.weights is None else pool.weights
    _fill_shares(pool.inst, pool.offsets, weights, shares)
    return shares


def compute(study: Study, options: Options) -> pa.Table:
    """Return the centroids and the sizes of the clusters."""
    # scikit-learn stays for this one call: SciPy's k-means starts elsewhere and stops earlier, so its shapes differ
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    shapes = histograms(study.pool(options))
    distinct = len(np.unique(shapes, axis=0))
    NotApplicable.unless(
        distinct >= CLUSTERS,
        f"{CLUSTERS} clusters need as many different tasks, the pool has {distinct}",
    )
    with threadpool_limits(1):  # sums of several threads would differ in the last digit
        fitted = KMeans(CLUSTERS, n_init=STARTS, random_state=options.seed % 2**32).fit(shapes)
    shares = np.bincount(fitted.labels_, minlength=CLUSTERS) / len(shapes)
    return _ordered(fitted.cluster_centers_, shares)


def _ordered(centroids: Values, shares: Numbers) -> pa.Table:
    # By size, not by k-means' own numbers, which depend on where it started; the first cell breaks ties.
    order = np.lexsort((centroids[:, 0], -shares))
    letters = [chr(ord("a") + k) for k in range(len(order))]
    return pa.table(
        {
            "cluster": np.repeat(letters, CELLS),
            "cell": np.tile(np.arange(CELLS), len(order)),
            # Rounding may leave a centroid a hair below 0, where a share has no meaning.
            "density": np.maximum(centroids[order].astype(np.float64), 0).ravel(),
            "share": np.repeat(shares[order], CELLS),
        }
    )


EXPERIMENT = Experiment.declared(compute, order=205)
