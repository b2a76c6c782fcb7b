"""Does a task that uses more CPU also vary more?

Fig. 3 of Janus & Rzadca (SoCC'17): heat maps of long tasks by mean and standard deviation (ddof 0) of their
CPU usage, (a) for one-second samples, (b) for window averages and (c) the tasks of (a) less those of (b), and
the least-squares line of deviation on mean.
Cells are a hundredth of a machine wide and half a hundredth high; only cells with tasks are listed.

Reference: Janus & Rzadca, SoCC'17, Fig. 3.
"""

import numpy as np
import pyarrow as pa

from borgtrace.colocation import Experiment, Options, Study
from borgtrace.colocation.experiments.usage_deviation import BOTH
from borgtrace.kernels.arrays import Numbers

MEAN_CELL, STD_CELL = 0.01, 0.005


def regression(mean: Numbers, std: Numbers) -> tuple[float, float] | None:
    """Least-squares slope and intercept of `std` on `mean`; None where all means agree.

    Parameters
    ----------
    mean, std
        float64 (n,) each.

    Examples
    --------
    >>> regression(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]))
    (2.0, 1.0)
    """
    # Centred first: Σx² − n·mean² would cancel, and with equal means the slope has to be seen to be undefined.
    deviation = mean - mean.mean()
    square = float(deviation @ deviation)
    if square == 0:
        return None
    slope = float(deviation @ (std - std.mean())) / square
    return slope, float(std.mean() - slope * mean.mean())


def compute(study: Study, options: Options) -> pa.Table:
    """Return both heat maps, and the line of each series on all its rows."""
    pool = study.pool(options)
    return pa.concat_tables(_cells(series, pool.mean(series), pool.std(series)) for series in BOTH)


def _cells(series: str, mean: Numbers, std: Numbers) -> pa.Table:
    cells = np.column_stack((np.floor(mean / MEAN_CELL), np.floor(std / STD_CELL))).astype(np.int64)
    where, counts = np.unique(cells, axis=0, return_counts=True)
    slope, intercept = regression(mean, std) or (None, None)
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


EXPERIMENT = Experiment.declared(compute, order=202)
