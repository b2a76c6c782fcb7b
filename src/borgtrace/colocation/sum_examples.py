"""What does the total usage of 10, 50 or 500 random tasks look like?

Fig. 5 of Janus & Rzadca (SoCC'17): one random sample of tasks per size, its realized total CPU usage as a
histogram of 60 cells, beside the normal density whose mean and variance are the sums of the tasks' own.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from borgtrace.colocation._moments import row_moments
from borgtrace.colocation._samples import draw_subsets
from borgtrace.colocation._sums import add_sample
from borgtrace.colocation.pool import Pool
from borgtrace.colocation.preparation import Instantaneous
from borgtrace.colocation.sample_sums import check_realizations
from borgtrace.colocation.source import pool_of
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

SIZES, CELLS = (10, 50, 500), 60
RESULT = Table(
    "sum_examples",
    "size of the sample and cell of its total usage",
    ("size", "cell"),
    (
        Column("size", "int64", "count", "Tasks in the sample.", nullable=False),
        Column("cell", "int64", "rank", "Cell of the histogram, from the smallest total.", nullable=False),
        Column("low", "float64", "fraction", "Lower end of the cell, in machines.", nullable=False),
        Column("high", "float64", "fraction", "Upper end of the cell.", nullable=False),
        Column("density", "float64", "1", "Realized probability density in the cell.", nullable=False),
        Column(
            "normal_density", "float64", "1", "Density of the normal law in the middle of the cell.", nullable=False
        ),
    ),
)


def compute(
    tables: Tables,
    *,
    tasks: int = 100_000,
    realizations: int = 10_000,
    seed: int = 0,
    instantaneous: Instantaneous = "sampled",
) -> pa.Table:
    """Return the histogram of one sample per size."""
    check_realizations(realizations)
    pool = pool_of(tables, tasks, seed, instantaneous)
    sizes = [size for size in SIZES if size <= len(pool)]
    if not sizes:
        raise NotApplicable(f"the pool has {len(pool)} long tasks, the smallest sample needs {SIZES[0]}")
    return pa.concat_tables(_example(pool, size, realizations, seed) for size in sizes)


def _example(pool: Pool, size: int, realizations: int, seed: int) -> pa.Table:
    rows = pool.draw(draw_subsets(len(pool), size, 1, seed)[0], realizations, seed)
    total = np.empty(realizations, np.float32)
    add_sample(rows, np.arange(size), total)
    means, stds = row_moments(rows)
    mean, std = means.sum(), np.sqrt((stds**2).sum())
    density, edges = np.histogram(total.astype(np.float64), CELLS, density=True)
    middle = (edges[1:] + edges[:-1]) / 2
    exponent = -0.5 * ((middle - mean) / std) ** 2 if std else np.where(middle == mean, 0.0, -np.inf)
    return pa.table(
        {
            "size": np.full(CELLS, size),
            "cell": np.arange(CELLS),
            "low": edges[:-1],
            "high": edges[1:],
            "density": density,
            "normal_density": np.exp(exponent) / ((std or 1.0) * np.sqrt(2 * np.pi)),
        }
    )


def plot(result: pa.Table) -> alt.Chart:
    """Draw each histogram and its normal density."""
    import altair as alt

    from borgtrace.colocation._charts import data

    rows = [{**row, "middle": (row["low"] + row["high"]) / 2} for row in result.to_pylist()]
    bars = (
        alt.Chart()
        .mark_rect(color="#4c9be8")
        .encode(
            x=alt.X("low:Q", title="total CPU usage [machines]", scale=alt.Scale(zero=False)),
            x2="high:Q",
            y=alt.Y("density:Q", title="density"),
            y2=alt.datum(0),
        )
    )
    normal = alt.Chart().mark_line(color="#e4572e").encode(x="middle:Q", y="normal_density:Q")
    layers = alt.layer(bars, normal, data=data(rows)).properties(width=190, height=170)
    chart: alt.Chart = layers.facet(
        column=alt.Column("size:O", title="tasks in the sample"), title="Total usage of random tasks"
    ).resolve_scale(x="independent", y="independent")
    return chart


def _distance(result: pa.Table, size: int) -> float:
    """Total-variation distance of histogram and normal law, cell by cell."""
    rows = [row for row in result.to_pylist() if row["size"] == size]
    if not rows:
        raise NotApplicable(f"the pool has fewer than {size} tasks")
    return math.fsum(abs(row["density"] - row["normal_density"]) * (row["high"] - row["low"]) for row in rows) / 2


def _gain(result: pa.Table) -> float:
    return _distance(result, 500) / _distance(result, 10)


CLAIMS = (
    Claim(
        "S1-fig5",
        "the total of 500 tasks is closer to its normal law than the total of 10 (ratio of the distances)",
        "< 1",
        _gain,
        lambda v: v < 1,
        "Janus & Rzadca, SoCC'17, §3.6, Fig. 5",
    ),
)

RECIPE = Recipe(
    "sum_examples",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("tasks", "instance_usage"),
    reference="Janus & Rzadca, SoCC'17, Fig. 5",
    order=206,
)
