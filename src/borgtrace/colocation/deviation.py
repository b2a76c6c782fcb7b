"""How much more does CPU usage vary from second to second than from window to window?

Fig. 2 of Janus & Rzadca (SoCC'17): the standard deviation (ddof 0) of every long task's one-second samples
and of its window averages, as two cumulative distributions over tasks.  Windows weigh by their length in
2019.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa

from borgtrace.colocation.source import pool_of
from borgtrace.recipe import Claim, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

SERIES: tuple[Literal["inst", "avg"], ...] = ("inst", "avg")
SHARES = np.concatenate((np.arange(100) / 100, [0.995, 0.999, 1.0]))
RESULT = Table(
    "usage_deviation",
    "series and share of tasks",
    ("series", "share"),
    (
        Column("series", "string", "id", "Either inst (one-second samples) or avg (window averages).", nullable=False),
        Column("share", "float64", "fraction", "Share of the tasks.", nullable=False),
        Column(
            "deviation",
            "float64",
            "fraction",
            "Standard deviation of CPU usage that this share of the tasks does not exceed.",
            nullable=False,
        ),
    ),
)


def compute(tables: Tables, *, tasks: int = 100_000, seed: int = 0) -> pa.Table:
    """Return both distributions as quantiles."""
    pool = pool_of(tables, tasks, seed)
    return pa.concat_tables(
        pa.table(
            {"series": [series] * len(SHARES), "share": SHARES, "deviation": np.quantile(pool.std(series), SHARES)}
        )
        for series in SERIES
    )


def plot(result: pa.Table) -> alt.Chart:
    """Draw the two cumulative distributions."""
    import altair as alt

    from borgtrace.colocation._charts import HEIGHT, WIDTH, data, series_colour

    chart: alt.Chart = (
        alt.Chart(data(result.to_pylist()), title="Standard deviation of a task's CPU usage")
        .mark_line()
        .encode(
            x=alt.X("deviation:Q", title="standard deviation [machines]"),
            y=alt.Y("share:Q", title="share of tasks", axis=alt.Axis(format="%")),
            order="share:Q",
            color=series_colour(),
        )
        .properties(width=WIDTH, height=HEIGHT)
    )
    return chart


def _quantiles(result: pa.Table, series: str) -> np.ndarray:
    return np.array([row["deviation"] for row in result.to_pylist() if row["series"] == series])


def _ratio_of_medians(result: pa.Table) -> float | None:
    inst, avg = (_quantiles(result, series)[50] for series in SERIES)
    return float(inst / avg) if avg else None


def _share_above(result: pa.Table) -> float:
    return float((_quantiles(result, "inst") >= _quantiles(result, "avg")).mean())


_SOURCE = "Janus & Rzadca, SoCC'17, §3.3, Fig. 2"
CLAIMS = (
    Claim(
        "S1-fig2",
        "one-second samples vary more than window averages (ratio of the medians)",
        "> 1",
        _ratio_of_medians,
        lambda v: v > 1,
        _SOURCE,
    ),
    Claim(
        "S1-fig2-everywhere",
        "they do so over the whole range of tasks (share of the quantiles)",
        "≈ 1",
        _share_above,
        lambda v: v >= 0.95,
        _SOURCE,
    ),
)

RECIPE = Recipe(
    "usage_deviation",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("tasks", "instance_usage"),
    reference="Janus & Rzadca, SoCC'17, Fig. 2",
    order=202,
)
