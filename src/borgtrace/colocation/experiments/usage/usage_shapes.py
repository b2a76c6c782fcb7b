"""Which shapes do the distributions of CPU usage have?

Fig. 4 of Janus & Rzadca (SoCC'17): each long task becomes a histogram of its one-second samples in 100
cells of a hundredth of a machine (the last cell also takes what lies above), and k-means (Euclidean) groups
them around 16 centroids. Clusters are lettered by size; a is the largest.
"""

import numba
import numpy as np
import pyarrow as pa

from borgtrace.colocation import ColocationOptions, Experiment, Study, TaskPool
from borgtrace.colocation.experiments.shared.scopes import SHAPE
from borgtrace.kernels.arrays import Index, Numbers, Values
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.scikit_learn import WAY_OUT, has_scikit_learn
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    at_least,
    at_most,
    below,
    charts,
    query_answer,
    sql,
)

ANSWER = Answer(
    grain="cluster and cell of CPU usage",
    key=[
        Column("cluster", "string", "id", "Letter of the cluster, a the largest."),
        Column("cell", "int64", "rank", "Usage in [cell, cell + 1) hundredths of a machine."),
    ],
    columns=[
        Column(
            "density",
            "float64",
            "fraction",
            "Share of the samples, of the mean task of the cluster.",
        ),
        Column("share", "float64", "fraction", "Share of the tasks in the cluster."),
    ],
)


CELLS = 100
CLUSTERS = 16
STARTS = 4


def compute(study: Study, options: ColocationOptions) -> pa.Table:
    """Return the centroids and the sizes of the clusters."""
    NotApplicable.unless(
        has_scikit_learn(), f"clusters are found by scikit-learn, which is missing: {WAY_OUT}"
    )
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    shapes = histograms(study.pool(options))
    n_distinct = len(np.unique(shapes, axis=0))
    NotApplicable.unless(
        n_distinct >= CLUSTERS,
        f"{CLUSTERS} clusters need as many different tasks, the pool has {n_distinct}",
    )
    k_means = KMeans(CLUSTERS, n_init=STARTS, random_state=options.seed)
    # Sums of several threads would differ in the last digit.
    with threadpool_limits(1):
        clustering = k_means.fit(shapes)
    shares = np.bincount(clustering.labels_, minlength=CLUSTERS) / len(shapes)
    return lettered_clusters(clustering.cluster_centers_, shares)


def histograms(pool: TaskPool) -> Values:
    """Return the share of each task's samples per cell, float32 (n, 100); windows weigh by length where draws do.

    Parameters
    ----------
    pool
        The tasks.

    Examples
    --------
    >>> pool = TaskPool(offsets=np.array([0, 2]), inst=np.float32([0.005, 2.0]), avg=np.float32([0, 0]),
    ...                 collection_id=np.array([1]), instance_index=np.array([0]))
    >>> np.flatnonzero(histograms(pool)[0]).tolist()
    [0, 99]
    """
    shares = np.empty((len(pool), CELLS), np.float32)
    weights = np.empty(0, np.int64) if pool.weights is None else pool.weights
    _fill_shares(pool.inst, pool.offsets, weights, shares)
    return shares


@compiled(parallel=True)
def _fill_shares(
    values: Values,
    offsets: Index,
    weights: Index,
    shares: Values,
) -> None:
    cells = shares.shape[1]
    for i in numba.prange(shares.shape[0]):
        # Each task has its own array: threads would overwrite a common one.
        counts = np.zeros(cells, np.int64)
        total = 0
        for k in range(offsets[i], offsets[i + 1]):
            weight = weights[k] if weights.size else 1
            cell = min(int(np.float64(values[k]) * cells), cells - 1)
            counts[cell] += weight
            total += weight
        for cell in range(cells):
            shares[i, cell] = counts[cell] / total


def lettered_clusters(centroids: Values, shares: Numbers) -> pa.Table:
    """Return clusters by size; the first cell breaks ties.

    Parameters
    ----------
    centroids
        float (k, 100), in k-means' own order, which depends on where it started.
    shares
        float64 (k,): share of the tasks in each.
    """
    order = np.lexsort((centroids[:, 0], -shares))
    letters = [chr(ord("a") + k) for k in range(len(order))]
    # Rounding may leave a centroid a hair below 0, where a share has no meaning.
    densities = np.maximum(centroids[order].astype(np.float64), 0)
    return pa.table(
        {
            "cluster": np.repeat(letters, CELLS),
            "cell": np.tile(np.arange(CELLS), len(order)),
            "density": densities.ravel(),
            "share": np.repeat(shares[order], CELLS),
        }
    )


def chart(answer: pa.Table) -> charts.Chart:
    """Draw the shape of each cluster in a panel of its own (Fig. 4)."""
    import altair as alt

    rows = query_answer(
        answer,
        """
        select
            printf('(%s) %.2f%%', cluster, 100 * share) as cluster,
            cell / 100 as usage,
            density
        from answer
        where cell <= 50
        """,
    )
    return (
        charts.base(rows, width=110, height=70)
        .mark_area(interpolate="step-after")
        .encode(
            x=alt.X("usage:Q", title="CPU usage"),
            y=alt.Y("density:Q", title="share"),
            tooltip=charts.tooltips(rows, "usage", "density"),
        )
        .facet(facet=charts.wrapped_panels("cluster"), columns=4)
        .resolve_scale(y="independent")
        .properties(title="Shapes of CPU usage in 16 clusters (Fig. 4)")
    )


CLAIMS = [
    Claim(
        "S1-fig4-largest",
        statement="no shape dominates: the largest cluster has less than a fifth of the tasks",
        source="Janus & Rzadca, SoCC'17, §3.5, Fig. 4",
        scope=SHAPE,
        measure=sql("select max(share) from answer"),
        criterion=below(0.2, published=0.1762),
    ),
    Claim(
        "S1-fig4-small",
        statement=(
            "the great majority of the 16 shapes is zero beyond .30 of a machine (clusters "
            "with less than 1 % there)"
        ),
        source="Janus & Rzadca, SoCC'17, §3.5, Fig. 4",
        scope=SHAPE,
        measure=sql(
            """
            select count(*)
            from (
                select sum(if(cell >= 30, density, 0)) as far
                from answer
                group by cluster
            )
            where far < 0.01
            """,
        ),
        criterion=at_least(10, published="great majority"),
    ),
    Claim(
        "S1-fig4-beyond",
        statement="hardly any usage lies beyond .30 of a machine (share of samples)",
        source="Janus & Rzadca, SoCC'17, §3.5, Fig. 4",
        scope=SHAPE,
        measure=sql(
            """
            select sum(share * far)
            from (
                select any_value(share) as share, sum(if(cell >= 30, density, 0)) as far
                from answer
                group by cluster
            )
            """,
        ),
        criterion=at_most(0.02, published="≈ 0"),
    ),
]

QUESTION = Experiment(
    name="usage_shapes",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reference="Janus & Rzadca, SoCC'17, Fig. 4",
)
