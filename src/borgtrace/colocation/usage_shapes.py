"""Which shapes do the distributions of CPU usage take?

Fig. 4 of Janus & Rzadca (SoCC'17): each long task becomes a histogram of its one-second samples in 100
cells of a hundredth of a machine (the last cell also takes what lies above), and k-means (Euclidean) groups
them around 16 centroids.  Clusters carry letters in the order of their size, a the largest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.colocation._shapes import window_shapes
from borgtrace.colocation.pool import Pool
from borgtrace.colocation.source import pool_of
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

CELLS, CLUSTERS, STARTS = 100, 16, 4
RESULT = Table(
    "usage_shapes",
    "cluster and cell of CPU usage",
    ("cluster", "cell"),
    (
        Column("cluster", "string", "id", "Letter of the cluster, a the largest.", nullable=False),
        Column("cell", "int64", "rank", "Usage in [cell, cell + 1) hundredths of a machine.", nullable=False),
        Column(
            "density", "float64", "fraction", "Share of the samples, of the mean task of the cluster.", nullable=False
        ),
        Column("share", "float64", "fraction", "Share of the tasks in the cluster.", nullable=False),
    ),
)


def histograms(pool: Pool) -> NDArray[np.float32]:
    """Share of each task's samples per cell, float32 (n, 100); windows weigh by length where draws do.

    Examples
    --------
    >>> pool = Pool(offsets=np.array([0, 2]), inst=np.float32([0.005, 2.0]), avg=np.float32([0, 0]),
    ...             collection_id=np.array([1]), instance_index=np.array([0]))
    >>> np.flatnonzero(histograms(pool)[0]).tolist()
    [0, 99]
    """
    return window_shapes(pool.inst, pool.offsets, CELLS, pool.weights)


def compute(tables: Tables, *, tasks: int = 100_000, seed: int = 0) -> pa.Table:
    """Return the centroids and the sizes of the clusters."""
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    shapes = histograms(pool_of(tables, tasks, seed))
    distinct = len(np.unique(shapes, axis=0))
    if distinct < CLUSTERS:
        raise NotApplicable(f"{CLUSTERS} clusters need as many different tasks, the pool has {distinct}")
    with threadpool_limits(1):  # sums of several threads would differ in the last digit
        fitted = KMeans(CLUSTERS, n_init=STARTS, random_state=seed % 2**32).fit(shapes)
    shares = np.bincount(fitted.labels_, minlength=CLUSTERS) / len(shapes)
    return _ordered(fitted.cluster_centers_, shares)


def _ordered(centroids: NDArray[np.float32], shares: NDArray[np.float64]) -> pa.Table:
    order = np.lexsort((centroids[:, 0], -shares))
    letters = [chr(ord("a") + k) for k in range(len(order))]
    return pa.table(
        {
            "cluster": np.repeat(letters, CELLS),
            "cell": np.tile(np.arange(CELLS), len(order)),
            "density": np.maximum(centroids[order].astype(np.float64), 0).ravel(),
            "share": np.repeat(shares[order], CELLS),
        }
    )


def plot(result: pa.Table) -> alt.Chart:
    """Draw a small histogram per cluster."""
    import altair as alt

    from borgtrace.colocation._charts import data

    rows = [
        {"cluster": f"({row['cluster']}) {row['share']:.2%}", "usage": row["cell"] / CELLS, "density": row["density"]}
        for row in result.to_pylist()
        if row["cell"] <= 50
    ]
    chart: alt.Chart = (
        alt.Chart(data(rows), title="Shapes of CPU usage: 16 clusters")
        .mark_area(interpolate="step-after")
        .encode(
            x=alt.X("usage:Q", title="CPU usage"),
            y=alt.Y("density:Q", title="share"),
            facet=alt.Facet("cluster:N", columns=4, title=None, sort=None),
        )
        .resolve_scale(y="independent")
        .properties(width=110, height=70)
    )
    return chart


def _clusters(result: pa.Table) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in result.to_pylist():
        found.setdefault(row["cluster"], []).append(row)
    return found


def _largest(result: pa.Table) -> float:
    return max(float(rows[0]["share"]) for rows in _clusters(result).values())


def _beyond(result: pa.Table) -> float:
    """Share of all samples of all tasks that lie at or beyond .30 of a machine."""
    clusters = _clusters(result).values()
    shares = (rows[0]["share"] * sum(r["density"] for r in rows if r["cell"] >= 30) for rows in clusters)
    return float(sum(shares))


def _n_small(result: pa.Table) -> int:
    """Clusters with less than a hundredth of their samples at or beyond .30."""
    return sum(sum(row["density"] for row in rows if row["cell"] >= 30) < 0.01 for rows in _clusters(result).values())


_SOURCE = "Janus & Rzadca, SoCC'17, §3.5, Fig. 4"
CLAIMS = (
    Claim(
        "S1-fig4-largest",
        "no shape dominates: the largest cluster has less than a fifth of the tasks",
        0.1762,
        _largest,
        lambda v: v < 0.2,
        _SOURCE,
    ),
    Claim(
        "S1-fig4-small",
        "the great majority of the 16 shapes is zero beyond .30 of a machine (clusters with less than 1 % there)",
        "great majority",
        _n_small,
        lambda v: v >= 10,
        _SOURCE,
    ),
    Claim(
        "S1-fig4-beyond",
        "hardly any usage lies beyond .30 of a machine (share of samples)",
        "≈ 0",
        _beyond,
        lambda v: v <= 0.02,
        _SOURCE,
    ),
)

RECIPE = Recipe(
    "usage_shapes",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("tasks", "instance_usage"),
    reference="Janus & Rzadca, SoCC'17, Fig. 4",
    order=205,
)
