"""Does a task that uses more CPU also vary more?

Fig. 3 of Janus & Rzadca (SoCC'17): heat maps of long tasks by mean and standard deviation (ddof 0) of their
CPU usage, for one-second samples and for window averages, and the least-squares line of deviation on mean.
Cells are a hundredth of a machine wide and half a hundredth high; only cells with tasks are listed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.colocation.deviation import SERIES
from borgtrace.colocation.source import pool_of
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

MEAN_CELL, STD_CELL = 0.01, 0.005
RESULT = Table(
    "deviation_regression",
    "series and cell of mean and deviation",
    ("series", "mean_cell", "deviation_cell"),
    (
        Column("series", "string", "id", "Either inst (one-second samples) or avg (window averages).", nullable=False),
        Column(
            "mean_cell", "int64", "rank", "The mean lies in [cell, cell + 1) hundredths of a machine.", nullable=False
        ),
        Column(
            "deviation_cell", "int64", "rank", "The deviation lies in [cell, cell + 1) half hundredths.", nullable=False
        ),
        Column("n_tasks", "int64", "count", "Tasks in the cell.", nullable=False),
        Column("slope", "float64", "1", "Slope of the line over all tasks; NULL if all means agree."),
        Column("intercept", "float64", "fraction", "Intercept of that line; NULL if all means agree."),
    ),
)


def line(mean: NDArray[np.float64], std: NDArray[np.float64]) -> tuple[float, float] | None:
    """Least-squares slope and intercept of `std` on `mean`; None where all means agree.

    Examples
    --------
    >>> line(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]))
    (2.0, 1.0)
    """
    deviation = mean - mean.mean()
    square = float(deviation @ deviation)
    if square == 0:
        return None
    slope = float(deviation @ (std - std.mean())) / square
    return slope, float(std.mean() - slope * mean.mean())


def compute(tables: Tables, *, tasks: int = 100_000, seed: int = 0) -> pa.Table:
    """Return both heat maps, and the line of each series on all its rows."""
    pool = pool_of(tables, tasks, seed)
    return pa.concat_tables(_cells(series, pool.mean(series), pool.std(series)) for series in SERIES)


def _cells(series: str, mean: NDArray[np.float64], std: NDArray[np.float64]) -> pa.Table:
    cells = np.column_stack((np.floor(mean / MEAN_CELL), np.floor(std / STD_CELL))).astype(np.int64)
    where, counts = np.unique(cells, axis=0, return_counts=True)
    slope, intercept = line(mean, std) or (None, None)
    return pa.table(
        {
            "series": [series] * len(where),
            "mean_cell": where[:, 0],
            "deviation_cell": where[:, 1],
            "n_tasks": counts,
            "slope": pa.array([slope] * len(where), pa.float64()),
            "intercept": pa.array([intercept] * len(where), pa.float64()),
        }
    )


def plot(result: pa.Table) -> alt.Chart:
    """Draw the cells of each series, darker for more tasks, and its line."""
    import altair as alt

    from borgtrace.colocation._charts import HEIGHT, WIDTH, data

    rows = [_drawn(row) for row in result.to_pylist()]
    cells = (
        alt.Chart()
        .mark_rect()
        .encode(
            x=alt.X("mean:Q", title="mean CPU usage [machines]"),
            x2="mean_end:Q",
            y=alt.Y("deviation:Q", title="standard deviation"),
            y2="deviation_end:Q",
            color=alt.Color("n_tasks:Q", scale=alt.Scale(type="log", scheme="blues"), title="tasks"),
            tooltip=["mean:Q", "deviation:Q", "n_tasks:Q"],
        )
    )
    fit = alt.Chart().mark_line(color="#e4572e").encode(x="mean:Q", y="line:Q")
    layers = alt.layer(cells, fit, data=data(rows)).properties(width=WIDTH // 2 + 40, height=HEIGHT)
    drawn: Any = layers.facet(
        column=alt.Column("series:N", title=None, sort="descending"), title="Deviation over mean of each task"
    )
    chart: alt.Chart = drawn
    return chart


def _drawn(row: dict[str, Any]) -> dict[str, Any]:
    mean, deviation = row["mean_cell"] * MEAN_CELL, row["deviation_cell"] * STD_CELL
    fitted = None if row["slope"] is None else row["slope"] * mean + row["intercept"]
    ends = {"mean_end": mean + MEAN_CELL, "deviation_end": deviation + STD_CELL}
    return {
        "series": row["series"],
        "n_tasks": row["n_tasks"],
        "mean": mean,
        "deviation": deviation,
        "line": fitted,
        **ends,
    }


def _coefficient(result: pa.Table, series: str, name: str) -> float:
    for row in result.to_pylist():
        if row["series"] == series and row[name] is not None:
            return float(row[name])
    raise NotApplicable("all tasks have one mean")


_SOURCE = "Janus & Rzadca, SoCC'17, §3.3, Fig. 3"


def _near(claim: str, series: str, name: str, published: float) -> Claim:
    return Claim(
        claim,
        f"the regression of deviation on mean has this {name} ({series}; holds within 20 %)",
        published,
        lambda r: _coefficient(r, series, name),
        lambda v: abs(v - published) <= 0.2 * published,
        _SOURCE,
    )


CLAIMS = (
    _near("S1-fig3-inst-slope", "inst", "slope", 0.36),
    _near("S1-fig3-inst-intercept", "inst", "intercept", 0.015),
    _near("S1-fig3-avg-slope", "avg", "slope", 0.31),
    _near("S1-fig3-avg-intercept", "avg", "intercept", 0.010),
)

RECIPE = Recipe(
    "deviation_regression",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("tasks", "instance_usage"),
    reference="Janus & Rzadca, SoCC'17, Fig. 3",
    order=203,
)
