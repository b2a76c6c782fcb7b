"""How much time passes between job arrivals?

Quantiles of the time between the first SUBMITs of neighbouring jobs within the trace, to the
microsecond.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import pyarrow as pa

from borgtrace.analyses._processes import new_jobs
from borgtrace.analyses._quantiles import PERCENTS, counts, fetch_counts, quantiles
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

RESULT = Table(
    "job_interarrivals",
    "percentile",
    ("percent",),
    (
        Column("percent", "float64", "1", "Percentile; 100 is the maximum.", nullable=False),
        Column("seconds", "float64", "s", "Time between two neighbouring jobs.", nullable=False),
        Column("mean", "float64", "s", "Mean of all, the same in every row.", nullable=False),
        Column("squared_cv", "float64", "1", "Variance over squared mean; 1 for a Poisson process."),
        Column("n", "int64", "count", "Number of gaps.", nullable=False),
    ),
)


def compute(tables: Tables) -> pa.Table:
    """Return quantiles of the gaps between jobs."""
    new = new_jobs(tables.collection_attempts)
    before = new.submit_time.lag().over(ibis.window(order_by=["submit_time", "collection_id"]))
    gaps = new.select(gap=new.submit_time - before)
    groups = fetch_counts(tables, counts(gaps, gaps.gap), (), "gaps")
    if not groups:
        raise NotApplicable("fewer than two jobs arrive within the trace")
    values, n = groups[()]
    seconds = values / 1e6
    mean = float((seconds * n).sum() / n.sum())
    variance = float((n * (seconds - mean) ** 2).sum() / n.sum())
    percents = (*PERCENTS, 100.0)
    return pa.table(
        {
            "percent": percents,
            "seconds": quantiles(seconds, n, percents),
            "mean": [mean] * len(percents),
            "squared_cv": pa.array([variance / mean**2 if mean else None] * len(percents), pa.float64()),
            "n": [int(n.sum())] * len(percents),
        }
    )


def plot(result: pa.Table) -> alt.Chart:
    """Draw the quantile curve on a logarithmic axis."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, duration_axis, rows

    scale = alt.Scale(type="symlog", constant=0.001)
    chart: alt.Chart = (
        alt.Chart(rows(result), title="Time between jobs", width=WIDTH, height=HEIGHT)
        .mark_line(point=True)
        .encode(
            x=alt.X("seconds:Q", title="from one job to the next", scale=scale, axis=duration_axis()),
            y=alt.Y("percent:Q", title="percent of gaps"),
            tooltip=["percent:Q", "seconds:Q"],
        )
    )
    return chart


def _burstiness(result: pa.Table) -> float | None:
    value: float | None = result["squared_cv"][0].as_py()
    return value


CLAIMS = (
    Claim(
        "JE-bursts",
        "jobs come in bursts (variance over squared mean, 1 for a Poisson process)",
        3.38,
        _burstiness,
        lambda value: value > 1.5,
        "count over the job events of 2011",
    ),
)
RECIPE = Recipe(
    "job_interarrivals",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("collection_events",),
    reference="Tirmazi et al., EuroSys'20, section 7",
    order=52,
    topic="Jobs and users",
)
