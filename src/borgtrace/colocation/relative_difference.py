"""How many random seconds of CPU usage tell a task's mean?

Fig. 1 of Janus & Rzadca (SoCC'17): per task with at least k windows, the mean of k random one-second
samples x̄ is compared with the mean of all its window averages ȳ, as (ȳ − x̄) / ȳ; shown is how this
spreads over tasks. Samples are drawn without replacement where windows are equally long (2011), by length
with replacement otherwise (2019); tasks whose averages are all 0 have no relative difference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.colocation._samples import prefix_means
from borgtrace.colocation.pool import Pool
from borgtrace.colocation.preparation import Instantaneous
from borgtrace.colocation.source import pool_of
from borgtrace.kernels.draws import task_keys
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

SIZES = (1, 2, 5, 10, 15, 20, 50, 100, 200, 500, 1000)
LEVELS = {"p5": 5, "p25": 25, "median": 50, "p75": 75, "p95": 95}
RESULT = Table(
    "relative_difference",
    "number of samples",
    ("n_samples",),
    (
        Column("n_samples", "int64", "count", "Random one-second samples k per task.", nullable=False),
        Column("n_tasks", "int64", "count", "Tasks with at least k windows.", nullable=False),
        *(
            Column(
                name,
                "float64",
                "1",
                f"Percentile {level} over tasks of (mean average − mean of k samples) / mean average.",
                nullable=False,
            )
            for name, level in LEVELS.items()
        ),
    ),
)


def differences(pool: Pool, seed: int = 0) -> NDArray[np.float64]:
    """Relative difference of each task (rows) for each of :data:`SIZES`; NaN where a task is too short."""
    sizes, average = np.array(SIZES, np.int64), pool.mean("avg")
    means = np.empty((len(pool), len(sizes)))
    if pool.is_weighted or pool.quantiles is not None:
        for tasks, drawn in pool.blocks(np.arange(len(pool)), SIZES[-1], seed):
            running = np.cumsum(drawn.inst, axis=1, dtype=np.float64)
            means[tasks] = running[:, sizes - 1] / sizes
        means[pool.n_windows[:, None] < sizes] = np.nan
    else:
        keys = task_keys(seed, pool.collection_id, pool.instance_index)
        prefix_means(pool.inst, pool.offsets, keys, sizes, means)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative: NDArray[np.float64] = (average[:, None] - means) / average[:, None]
    relative[average == 0] = np.nan
    return relative


def compute(
    tables: Tables, *, tasks: int = 100_000, seed: int = 0, instantaneous: Instantaneous = "sampled"
) -> pa.Table:
    """Return percentiles over tasks of the relative difference, per number of samples."""
    relative = differences(pool_of(tables, tasks, seed, instantaneous), seed)
    rows = []
    for k, size in enumerate(SIZES):
        known = relative[np.isfinite(relative[:, k]), k]
        if known.size:
            spread = dict(zip(LEVELS, np.percentile(known, list(LEVELS.values())).tolist(), strict=True))
            rows.append({"n_samples": size, "n_tasks": known.size, **spread})
    if not rows:
        raise NotApplicable("every task's average usage is 0")
    return pa.Table.from_pylist(rows)


def plot(result: pa.Table) -> alt.Chart:
    """Draw the spread per number of samples as boxes; whiskers are the 5 % and 95 % percentiles."""
    import altair as alt

    from borgtrace.colocation._charts import box_plot

    x = alt.X("n_samples:O", title="random samples per task", axis=alt.Axis(labelAngle=0))
    chart: alt.Chart = box_plot(
        result.to_pylist(), x, "(mean average − mean of samples) / mean average", "Error of a mean from few samples"
    )
    return chart


def _row(result: pa.Table, size: int) -> dict[str, float]:
    for row in result.to_pylist():
        if row["n_samples"] == size:
            return dict(row)
    raise NotApplicable(f"no task has {size} windows")


def _asymmetry(result: pa.Table, size: int) -> float:
    """How far the middle of the quartiles lies from 0, as a share of their distance."""
    row = _row(result, size)
    width = row["p75"] - row["p25"]
    return abs(row["p75"] + row["p25"]) / width if width else 0.0


def _narrowing(result: pa.Table) -> float:
    first, last = _row(result, 1), _row(result, 1000)
    return (last["p75"] - last["p25"]) / (first["p75"] - first["p25"])


_SOURCE = "Janus & Rzadca, SoCC'17, §3.2, Fig. 1"
CLAIMS = (
    Claim(
        "S1-fig1-symmetric",
        "with 15 samples the quartiles lie symmetrically about 0 (distance of their middle from 0, over their range)",
        "≈ 0",
        lambda r: _asymmetry(r, 15),
        lambda v: v <= 0.25,
        _SOURCE,
    ),
    Claim(
        "S1-fig1-narrows",
        "1,000 samples narrow the quartile range of one sample to a small part",
        "≪ 1",
        _narrowing,
        lambda v: v <= 0.2,
        _SOURCE,
    ),
)

RECIPE = Recipe(
    "relative_difference",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("tasks", "instance_usage"),
    reference="Janus & Rzadca, SoCC'17, Fig. 1",
    order=201,
)
