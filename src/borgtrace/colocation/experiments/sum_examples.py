"""What does the total usage of 10, 50 or 500 random tasks look like?

Fig. 5 of Janus & Rzadca (SoCC'17): one random sample of tasks per size, its realized total CPU usage as a
histogram of 60 cells, beside the normal density whose mean and variance are the sums of the tasks' own.

Reference: Janus & Rzadca, SoCC'17, Fig. 5.
"""

import numpy as np
import pyarrow as pa

from borgtrace.colocation import Experiment, Options, Pool, Study
from borgtrace.colocation._moments import row_moments
from borgtrace.colocation._samples import draw_subsets
from borgtrace.colocation._sums import add_sample
from borgtrace.question import NotApplicable

SIZES, CELLS = (10, 50, 500), 60


def compute(study: Study, options: Options) -> pa.Table:
    """Return the histogram of one sample per size."""
    pool = study.pool(options)
    sizes = [size for size in SIZES if size <= len(pool)]
    NotApplicable.unless(
        sizes, f"the pool has {len(pool)} long tasks, the smallest sample needs {SIZES[0]}"
    )
    return pa.concat_tables(
        _example(pool, size, options.realizations, options.seed) for size in sizes
    )


def _example(pool: Pool, size: int, realizations: int, seed: int) -> pa.Table:
    # With one seed this is the first sample of its size in Table 1: the same tasks and the same draws.
    rows = pool.draw(draw_subsets(len(pool), size, 1, seed)[0], realizations, seed)
    total = np.empty(realizations, np.float32)
    add_sample(rows, np.arange(size), total)
    means, stds = row_moments(rows)
    mean, std = means.sum(), np.sqrt((stds**2).sum())
    density, edges = np.histogram(total.astype(np.float64), CELLS, density=True)
    middle = (edges[1:] + edges[:-1]) / 2
    # The sum of constant tasks is a point: finite where it lies, 0 elsewhere, and no division by 0.
    exponent = (
        -0.5 * ((middle - mean) / std) ** 2 if std else np.where(middle == mean, 0.0, -np.inf)
    )
    return pa.table(
        {
            "size": np.full(CELLS, size),
            "cell": np.arange(CELLS),
            "low": edges[:-1],
            "high": edges[1:],
            "density": density,
            "normal_density": np.exp(exponent) / ((std or 1.0) * np.sqrt(2 * np.pi)),
        }
    )


EXPERIMENT = Experiment.declared(
    compute, order=206, options=("tasks", "realizations", "seed", "instantaneous")
)
