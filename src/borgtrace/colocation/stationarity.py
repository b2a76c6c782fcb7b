"""Does a task's CPU usage keep its distribution over time?

§3.4 of Janus & Rzadca (SoCC'17): two random windows of Δ samples each of one task are compared by the two-
sample Kolmogorov–Smirnov test at 5 %, for Δ = 12, 24, 36 (one to three hours of five minutes).  Window k
holds samples kΔ + 1 … kΔ + Δ; as printed in the paper it ends at kΔ + Δ − 1 and is one short: both are
tested, with the exact distribution of the statistic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from borgtrace.colocation.pool import Pool
from borgtrace.colocation.source import pool_of
from borgtrace.kernels.draws import task_keys
from borgtrace.kernels.kolmogorov import ks_p_value, window_pairs
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

SPACINGS = (12, 24, 36)
SIGNIFICANCE = 0.05
RESULT = Table(
    "usage_stationarity",
    "spacing and length of the windows",
    ("spacing", "length"),
    (
        Column(
            "spacing", "int64", "count", "Δ: samples from the start of one window to that of the next.", nullable=False
        ),
        Column("length", "int64", "count", "Samples in a window: Δ as defined, Δ − 1 as printed.", nullable=False),
        Column("n_tasks", "int64", "count", "Tasks with at least two windows.", nullable=False),
        Column("rejected", "float64", "fraction", "Share of them whose two windows differ at 5 %.", nullable=False),
    ),
)


def rejections(pool: Pool, spacing: int, length: int, seed: int = 0) -> tuple[int, int]:
    """Number of tasks whose two windows differ at 5 %, and number of tasks with two windows."""
    steps = np.empty(len(pool), np.int64)
    keys = task_keys(seed, pool.collection_id, pool.instance_index)
    window_pairs(pool.inst, pool.offsets, keys, spacing, length, steps)
    p_values = np.array([ks_p_value(length, k) for k in range(length + 1)])
    tested = steps[steps >= 0]
    return int((p_values[tested] < SIGNIFICANCE).sum()), tested.size


def compute(tables: Tables, *, tasks: int = 100_000, seed: int = 0) -> pa.Table:
    """Return the share of tasks whose windows differ, for both readings of a window."""
    pool, rows = pool_of(tables, tasks, seed), []
    for spacing in SPACINGS:
        for length in (spacing, spacing - 1):
            rejected, tested = rejections(pool, spacing, length, seed)
            if tested:
                share = rejected / tested
                rows.append({"spacing": spacing, "length": length, "n_tasks": tested, "rejected": share})
    if not rows:
        raise NotApplicable(f"no task has two windows of {SPACINGS[0]} samples")
    return pa.Table.from_pylist(rows)


def plot(result: pa.Table) -> alt.Chart:
    """Draw the rejection rate per spacing, for both readings."""
    import altair as alt

    from borgtrace.colocation._charts import HEIGHT, WIDTH, data

    rows = [
        {**row, "window": "as defined" if row["length"] == row["spacing"] else "as printed"}
        for row in result.to_pylist()
    ]
    chart: alt.Chart = (
        alt.Chart(data(rows), title="Tasks whose usage changes its distribution")
        .mark_bar()
        .encode(
            x=alt.X("spacing:O", title="samples per window", axis=alt.Axis(labelAngle=0)),
            xOffset="window:N",
            y=alt.Y("rejected:Q", axis=alt.Axis(format="%"), title="rejected at 5 %"),
            color=alt.Color("window:N", title="window"),
            tooltip=["window:N", "rejected:Q", "n_tasks:Q"],
        )
        .properties(width=WIDTH, height=HEIGHT)
    )
    return chart


def _rejected(result: pa.Table, spacing: int, length: int) -> float:
    for row in result.to_pylist():
        if (row["spacing"], row["length"]) == (spacing, length):
            return float(row["rejected"])
    raise NotApplicable(f"no task has two windows of {spacing} samples")


def _about_a_third(spacing: int, length: int, reading: str) -> Claim:
    return Claim(
        f"S1-ks-{spacing}-{length}",
        f"two windows of {spacing} samples ({reading}) differ for about 30 % of tasks (holds if 20 to 40 %)",
        0.30,
        lambda r: _rejected(r, spacing, length),
        lambda v: 0.20 <= v <= 0.40,
        "Janus & Rzadca, SoCC'17, §3.4",
    )


CLAIMS = tuple(
    _about_a_third(spacing, spacing - short, reading)
    for spacing in SPACINGS
    for short, reading in ((0, "as defined"), (1, "as printed"))
)

RECIPE = Recipe(
    "usage_stationarity",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("tasks", "instance_usage"),
    reference="Janus & Rzadca, SoCC'17, §3.4",
    order=204,
)
