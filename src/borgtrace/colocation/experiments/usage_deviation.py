"""How much more does CPU usage vary from second to second than from window to window?

Fig. 2 of Janus & Rzadca (SoCC'17): the standard deviation (ddof 0) of every long task's one-second samples
and of its window averages, as two cumulative distributions over tasks.  Windows weigh by their length in
2019.

Reference: Janus & Rzadca, SoCC'17, Fig. 2.
"""

from typing import Literal

import numpy as np
import pyarrow as pa

from borgtrace.colocation import Experiment, Options, Study
from borgtrace.colocation.experiments._charts import SERIES_COLOURS
from borgtrace.kernels.arrays import Numbers
from borgtrace.recipe.charts import Chart, Plot, axis, line, palette

BOTH: tuple[Literal["inst", "avg"], ...] = ("inst", "avg")
# Percents, and two steps more near the end, where the deviations of few tasks lie far apart.
SHARES = np.concatenate((np.arange(100) / 100, [0.995, 0.999, 1.0]))


def compute(study: Study, options: Options) -> pa.Table:
    """Return both distributions as quantiles."""
    pool = study.pool(options)
    quantiles = {series: np.quantile(pool.std(series), SHARES) for series in BOTH}
    return pa.concat_tables(
        pa.table({"series": [series] * len(SHARES), "share": SHARES, "deviation": deviation})
        for series, deviation in quantiles.items()
    )


def plot(result: pa.Table) -> Chart:
    """Draw the two cumulative distributions."""
    x, y = axis("deviation", "standard deviation [machines]"), axis("share", axis={"format": "%"})
    chart = Plot(result, x=x, y=y, order="share", color=palette("series", SERIES_COLOURS, "CPU usage"))
    return chart.add(line()).draw("Standard deviation of a task's CPU usage")


def _quantiles(result: pa.Table, series: str) -> Numbers:
    return np.array([row["deviation"] for row in result.to_pylist() if row["series"] == series])


def median_ratio(result: pa.Table) -> float | None:
    """Return the median deviation of single seconds over that of averages."""
    inst, avg = (_quantiles(result, series)[50] for series in BOTH)
    return float(inst / avg) if avg else None


def share_above(result: pa.Table) -> float:
    """Return the share of the quantiles at which single seconds vary as much as averages, or more."""
    return float((_quantiles(result, "inst") >= _quantiles(result, "avg")).mean())


EXPERIMENT = Experiment.declared(compute, (median_ratio, share_above), plot=plot, order=201)
