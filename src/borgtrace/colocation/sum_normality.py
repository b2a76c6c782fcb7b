"""Is the total CPU usage of many tasks normally distributed?

Table 1 of Janus & Rzadca (SoCC'17): for N = 10 … 500, random samples of N tasks; the sum over R
realizations of each is tested for normality (Anderson–Darling, mean and variance estimated, 5 %), and the
share of rejected samples is shown.  The critical value has two versions: 0.752 (D'Agostino & Stephens 1986),
which 5 % of Gaussian samples exceed, and 0.787 (Stephens 1974), which scipy printed until version 1.16,
thus at the time of the paper: both are in the table and among the claims.  The paper takes 10,000 samples
per size; 1,000 tell a rate to ± 3 points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from borgtrace.colocation._normality import CRITICAL
from borgtrace.colocation.preparation import Instantaneous
from borgtrace.colocation.sample_sums import SampleSums, sums_of
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

REALIZATIONS = 10_000
"""R of the paper."""
PUBLISHED = {10: 0.991, 20: 0.965, 30: 0.923, 50: 0.784, 100: 0.493, 250: 0.183, 500: 0.087}
"""Table 1: share of rejected samples per N."""
PUBLISHED_MEAN = {10: 0.27, 20: 0.55, 30: 0.82, 50: 1.37, 100: 2.74, 250: 6.85, 500: 13.69}
"""Table 1: mean total usage per N."""
RESULT = Table(
    "sum_normality",
    "size of the samples",
    ("size",),
    (
        Column("size", "int64", "count", "Tasks per sample, N.", nullable=False),
        Column("n_samples", "int64", "count", "Random samples of N tasks.", nullable=False),
        Column("n_realizations", "int64", "count", "Draws R that each sum is tested on.", nullable=False),
        Column("mean_usage", "float64", "fraction", "Mean total usage of a sample, in machines.", nullable=False),
        Column(
            "rejected",
            "float64",
            "fraction",
            "Share of samples whose normality is rejected at 5 % (critical value 0.752).",
            nullable=False,
        ),
        Column("rejected_1974", "float64", "fraction", "The same with the older critical value 0.787.", nullable=False),
    ),
)


def compute(
    tables: Tables,
    *,
    tasks: int = 100_000,
    realizations: int = 10_000,
    samples: int = 1_000,
    seed: int = 0,
    instantaneous: Instantaneous = "sampled",
) -> pa.Table:
    """Return rejection rates and mean totals per size."""
    found = sums_of(tables, tasks, realizations, samples, seed, instantaneous)
    return pa.Table.from_pylist([_row(sums, realizations) for sums in found])


def _row(sums: SampleSums, realizations: int) -> dict[str, float]:
    return {
        "size": sums.size,
        "n_samples": len(sums.normality),
        "n_realizations": realizations,
        "mean_usage": float(sums.mean.mean()),
        "rejected": float((sums.normality > CRITICAL["D'Agostino 1986"]).mean()),
        "rejected_1974": float((sums.normality > CRITICAL["Stephens 1974"]).mean()),
    }


def plot(result: pa.Table) -> alt.Chart:
    """Draw the rejection rate over N, measured and published."""
    import altair as alt

    from borgtrace.colocation._charts import HEIGHT, WIDTH, data

    rows = [
        {"size": row["size"], "rejected": rate, "source": source}
        for row in result.to_pylist()
        for source, rate in (
            ("measured (0.752)", row["rejected"]),
            ("measured (0.787)", row["rejected_1974"]),
            ("published", PUBLISHED.get(row["size"])),
        )
    ]
    chart: alt.Chart = (
        alt.Chart(data(rows), title="How often the normality of a total is rejected")
        .mark_line(point=True)
        .encode(
            x=alt.X("size:Q", scale=alt.Scale(type="log"), title="tasks per sample"),
            y=alt.Y("rejected:Q", axis=alt.Axis(format="%"), title="rejected at 5 %"),
            color=alt.Color("source:N", title=None),
        )
        .properties(width=WIDTH, height=HEIGHT)
    )
    return chart


def _value(result: pa.Table, size: int, column: str) -> float:
    for row in result.to_pylist():
        if row["size"] == size:
            return float(row[column])
    raise NotApplicable(f"the pool has fewer than {size} tasks")


def _rejected(result: pa.Table, size: int, column: str) -> float:
    """Rate of one size; a test on more realizations rejects more, so only the paper's number compares."""
    if _value(result, size, "n_realizations") != REALIZATIONS:
        raise NotApplicable(f"the published test is on {REALIZATIONS:,} realizations")
    return _value(result, size, column)


def _rate(size: int, column: str, critical: str) -> Claim:
    return Claim(
        f"S1-table1-{size}-{critical}",
        f"normality is rejected for this share of sums of {size} tasks (critical value {critical}; holds within"
        " 5 points)",
        PUBLISHED[size],
        lambda r: _rejected(r, size, column),
        lambda v: abs(v - PUBLISHED[size]) <= 0.05,
        "Janus & Rzadca, SoCC'17, Table 1",
    )


def _mean(size: int) -> Claim:
    return Claim(
        f"S1-table1-mean-{size}",
        f"the mean total usage of {size} tasks is this many machines (holds within 5 %)",
        PUBLISHED_MEAN[size],
        lambda r: _value(r, size, "mean_usage"),
        lambda v: abs(v - PUBLISHED_MEAN[size]) <= 0.05 * PUBLISHED_MEAN[size],
        "Janus & Rzadca, SoCC'17, Table 1",
    )


CLAIMS = (
    *(_rate(size, "rejected", "0.752") for size in PUBLISHED),
    *(_rate(size, "rejected_1974", "0.787") for size in PUBLISHED),
    *(_mean(size) for size in (10, 100, 500)),
)

RECIPE = Recipe(
    "sum_normality",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("tasks", "instance_usage"),
    reference="Janus & Rzadca, SoCC'17, Table 1",
    order=207,
)
