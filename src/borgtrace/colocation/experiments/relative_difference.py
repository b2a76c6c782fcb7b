"""How many random seconds of CPU usage determine a task's mean?

Fig. 1 of Janus & Rzadca (SoCC'17): per task with at least k windows, the mean of k random one-second
samples x̄ is compared with the mean of all its window averages ȳ, as (ȳ − x̄) / ȳ; the figure shows its
spread over tasks. Samples are drawn without replacement where windows are equally long (2011), by length
with replacement otherwise (2019); tasks whose averages are all 0 have no relative difference.

Reference: Janus & Rzadca, SoCC'17, Fig. 1.
"""

import numpy as np

from borgtrace.colocation import Experiment, Options, Pool, Study
from borgtrace.colocation._samples import prefix_means
from borgtrace.colocation.experiment import POOL
from borgtrace.colocation.experiments._answers import Row, spread
from borgtrace.kernels.arrays import Numbers
from borgtrace.kernels.hashing import task_keys
from borgtrace.question import NotApplicable

SIZES = (1, 2, 5, 10, 15, 20, 50, 100, 200, 500, 1000)


def differences(pool: Pool, seed: int = 0) -> Numbers:
    """Relative difference of each task for each of :data:`SIZES`, float64 (n, 11); NaN where a task is too short.

    Parameters
    ----------
    pool
        The tasks.
    seed
        Seed of the samples.
    """
    sizes, average = np.array(SIZES, np.int64), pool.mean("avg")
    means = np.empty((len(pool), len(sizes)))
    # With unequal windows a mean without replacement would not be that of the weighted distribution.
    if pool.is_weighted or pool.quantiles is not None:
        for tasks in np.array_split(
            np.arange(len(pool)), 1 + len(pool) // 5_000
        ):  # 40 MB of running sums at a time
            running = np.cumsum(pool.draw(tasks, SIZES[-1], seed), axis=1, dtype=np.float64)
            means[tasks] = running[:, sizes - 1] / sizes
        means[pool.n_windows[:, None] < sizes] = np.nan
    else:
        keys = task_keys(seed, pool.collection_id, pool.instance_index)
        prefix_means(pool.inst, pool.offsets, keys, sizes, means)
    # 0 ÷ 0 for idle tasks, which are set to NaN below.
    with np.errstate(divide="ignore", invalid="ignore"):
        relative: Numbers = (average[:, None] - means) / average[:, None]
    relative[average == 0] = np.nan
    return relative


def compute(study: Study, options: Options) -> list[Row]:
    """Return percentiles over tasks of the relative difference, per number of samples."""
    relative = differences(study.pool(options), options.seed)
    rows = []
    for k, size in enumerate(SIZES):
        known = relative[np.isfinite(relative[:, k]), k]
        if known.size:
            rows.append({"n_samples": size, "n_tasks": known.size, **spread(known)})
    NotApplicable.unless(rows, "every task's average usage is 0")
    return rows


EXPERIMENT = Experiment.declared(compute, order=200, options=(*POOL, "instantaneous"))
