"""How far off are the high percentiles of a total if it is assumed to be normal?

Fig. 6 of Janus & Rzadca (SoCC'17): for random samples of N tasks, (F⁻¹(k) − P_k) / P_k at k = 95, 99 and
99.9 %, where F is the normal law whose mean and variance are the sums of the tasks' own (ddof 0) and P_k
the percentile of the realized sums (linear interpolation).  Samples whose P_k is 0 have no relative error.
The samples are those of the question about normality (same seed, same sums).

Reference: Janus & Rzadca, SoCC'17, Fig. 6.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from borgtrace.colocation import Experiment, Options, Study
from borgtrace.colocation.experiment import SUMS
from borgtrace.colocation.experiments._charts import box_plot
from borgtrace.colocation.experiments._columns import SIZE, spread, spread_columns
from borgtrace.colocation.experiments._rows import Row, rows_where
from borgtrace.colocation.experiments._scopes import SHAPE
from borgtrace.colocation.sample_sums import LEVELS, SampleSums
from borgtrace.kernels.arrays import Numbers
from borgtrace.recipe import Claim, NotApplicable, from_source
from borgtrace.recipe.charts import Chart, added, axis
from borgtrace.recipe.columns import count, declare, number
from borgtrace.recipe.criteria import at_most, below

SIZES = (10, 20, 30, 50)
RESULT = declare(
    "percentile_error",
    "size of the samples and percentile",
    ("size", "percentile"),
    SIZE,
    number("percentile", "1", "Percentile k of the total, in percent."),
    count("n_samples", "Samples with a percentile above 0."),
    *spread_columns("over samples of (normal − realized percentile) / realized percentile."),
)


def errors(sums: SampleSums) -> Numbers:
    """Relative error of the normal percentiles, float64 (S, 3); NaN where the realized one is 0."""
    normal = sums.mean[:, None] + sums.std[:, None] * ndtri(LEVELS)
    realized = np.where(sums.percentiles > 0, sums.percentiles, np.nan)
    relative: Numbers = (normal - realized) / realized
    return relative


def compute(study: Study, options: Options) -> pa.Table:
    """Return percentiles over samples of the relative error, per size and percentile."""
    rows = [row for sums in study.sums(options) if sums.size in SIZES for row in _rows(sums)]
    if not rows:
        raise NotApplicable("all realized percentiles are 0")
    return pa.Table.from_pylist(rows)


def _rows(sums: SampleSums) -> list[Row]:
    relative, rows = errors(sums), []
    for k, level in enumerate(LEVELS):
        known = relative[np.isfinite(relative[:, k]), k]
        if known.size:
            # Rounded, so that claims and readers find 99.9 and not a neighbor of it.
            percentile = round(100 * float(level), 6)
            rows.append({"size": sums.size, "percentile": percentile, "n_samples": known.size, **spread(known)})
    return rows


def plot(result: pa.Table) -> Chart:
    """Draw the spread of the error per size and percentile; whiskers are the 5 % and 95 % percentiles."""
    return box_plot(
        added(result, at=lambda row: f"{row['percentile']:g} %"),
        "Error of the percentiles of a normal total",
        "(normal − realized) / realized",
        x=axis("size", "tasks per sample", type="O", axis={"labelAngle": 0}),
        xOffset="at",
        color=axis("at", "percentile"),
    )


def _quartile_range(result: pa.Table, size: int) -> float:
    row = rows_where(result, f"no samples of {size} tasks", size=size, percentile=99.9)[0]
    return float(row["p75"] - row["p25"])


def _medians(result: pa.Table, percentile: float) -> list[float]:
    return [float(row["median"]) for row in rows_where(result, "no such percentile", percentile=percentile)]


CLAIMS = from_source(
    "Janus & Rzadca, SoCC'17, §3.6, Fig. 6",
    Claim(
        "S1-fig6-median",
        "the medians of the error are about 0 (largest at 95 %)",
        at_most(0.05, "≈ 0"),
        lambda r: max(map(abs, _medians(r, 95.0))),
    ),
    Claim(
        "S1-fig6-under",
        "high percentiles are under-estimated (largest median at 99.9 %)",
        below(0),
        lambda r: max(_medians(r, 99.9)),
    ),
    Claim(
        "S1-fig6-spread",
        "the spread falls with N (quartile range at 99.9 %, 50 tasks over 10)",
        below(1),
        lambda r: _quartile_range(r, 50) / _quartile_range(r, 10),
    ),
    scope=SHAPE,
)
EXPERIMENT = Experiment(RESULT, compute, plot, CLAIMS, order=208, options=SUMS)
