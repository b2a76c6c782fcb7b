"""How far off are the high percentiles of a total if it is taken for normal?

Fig. 6 of Janus & Rzadca (SoCC'17): for random samples of N tasks, (F⁻¹(k) − P_k) / P_k at k = 95, 99 and
99.9 %, where F is the normal law whose mean and variance are the sums of the tasks' own (ddof 0) and P_k
the percentile of the realized sums (linear interpolation).  Samples whose P_k is 0 have no relative error.
The samples are those of the question about normality (same seed, same sums).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import ndtri

from borgtrace.colocation.preparation import Instantaneous
from borgtrace.colocation.sample_sums import LEVELS, SampleSums, sums_of
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

SIZES = (10, 20, 30, 50)
SPREAD = {"p5": 5, "p25": 25, "median": 50, "p75": 75, "p95": 95}
RESULT = Table(
    "percentile_error",
    "size of the samples and percentile",
    ("size", "percentile"),
    (
        Column("size", "int64", "count", "Tasks per sample, N.", nullable=False),
        Column("percentile", "float64", "1", "Percentile k of the total, in percent.", nullable=False),
        Column("n_samples", "int64", "count", "Samples with a percentile above 0.", nullable=False),
        *(
            Column(
                name,
                "float64",
                "1",
                f"Percentile {level} over samples of (normal − realized percentile) / realized percentile.",
                nullable=False,
            )
            for name, level in SPREAD.items()
        ),
    ),
)


def errors(sums: SampleSums) -> NDArray[np.float64]:
    """Relative error of the normal percentiles, float64 (S, 3); NaN where the realized one is 0."""
    normal = sums.mean[:, None] + sums.std[:, None] * ndtri(LEVELS)
    realized = np.where(sums.percentiles > 0, sums.percentiles, np.nan)
    relative: NDArray[np.float64] = (normal - realized) / realized
    return relative


def compute(
    tables: Tables,
    *,
    tasks: int = 100_000,
    realizations: int = 10_000,
    samples: int = 1_000,
    seed: int = 0,
    instantaneous: Instantaneous = "sampled",
) -> pa.Table:
    """Return percentiles over samples of the relative error, per size and percentile."""
    found = sums_of(tables, tasks, realizations, samples, seed, instantaneous)
    rows = [row for sums in found if sums.size in SIZES for row in _rows(sums)]
    if not rows:
        raise NotApplicable("all realized percentiles are 0")
    return pa.Table.from_pylist(rows)


def _rows(sums: SampleSums) -> list[dict[str, float]]:
    relative, rows = errors(sums), []
    for k, level in enumerate(LEVELS):
        known = relative[np.isfinite(relative[:, k]), k]
        if known.size:
            spread = dict(zip(SPREAD, np.percentile(known, list(SPREAD.values())).tolist(), strict=True))
            percentile = round(100 * float(level), 6)
            rows.append({"size": sums.size, "percentile": percentile, "n_samples": known.size, **spread})
    return rows


def plot(result: pa.Table) -> alt.Chart:
    """Draw the spread of the error per size and percentile; whiskers are the 5 % and 95 % percentiles."""
    import altair as alt

    from borgtrace.colocation._charts import box_plot

    rows = [{**row, "at": f"{row['percentile']:g} %"} for row in result.to_pylist()]
    chart: alt.Chart = box_plot(
        rows,
        alt.X("size:O", title="tasks per sample", axis=alt.Axis(labelAngle=0)),
        "(normal − realized) / realized",
        "Error of the percentiles of a normal total",
        xOffset=alt.XOffset("at:N"),
        color=alt.Color("at:N", title="percentile"),
    )
    return chart


def _cell(result: pa.Table, size: int, percentile: float) -> dict[str, float]:
    for row in result.to_pylist():
        if row["size"] == size and abs(row["percentile"] - percentile) < 1e-9:
            return dict(row)
    raise NotApplicable(f"no samples of {size} tasks")


def _largest_median(result: pa.Table) -> float:
    return max(abs(float(row["median"])) for row in result.to_pylist() if row["percentile"] < 99)


def _medians_at_the_top(result: pa.Table) -> float:
    return max(float(row["median"]) for row in result.to_pylist() if row["percentile"] > 99.5)


def _narrowing(result: pa.Table) -> float:
    wide, narrow = _cell(result, 10, 99.9), _cell(result, 50, 99.9)
    return (narrow["p75"] - narrow["p25"]) / (wide["p75"] - wide["p25"])


_SOURCE = "Janus & Rzadca, SoCC'17, §3.6, Fig. 6"
CLAIMS = (
    Claim(
        "S1-fig6-median",
        "the medians of the error are about 0 (largest at 95 %; holds within 5 %)",
        "≈ 0",
        _largest_median,
        lambda v: v <= 0.05,
        _SOURCE,
    ),
    Claim(
        "S1-fig6-under",
        "high percentiles are under-estimated (largest median at 99.9 %)",
        "< 0",
        _medians_at_the_top,
        lambda v: v < 0,
        _SOURCE,
    ),
    Claim(
        "S1-fig6-spread",
        "the spread falls with N (quartile range at 99.9 %, 50 tasks over 10)",
        "< 1",
        _narrowing,
        lambda v: v < 1,
        _SOURCE,
    ),
)

RECIPE = Recipe(
    "percentile_error",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("tasks", "instance_usage"),
    reference="Janus & Rzadca, SoCC'17, Fig. 6",
    order=208,
)
