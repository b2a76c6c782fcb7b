"""Does the distribution of a task's CPU usage change over time?

§3.4 of Janus & Rzadca (SoCC'17): two random windows of Δ samples each of one task are compared by the two-
sample Kolmogorov–Smirnov test at 5 %, for Δ = 12, 24, 36 (one to three hours of five minutes). Window k
holds samples kΔ + 1 … kΔ + Δ; as printed in the paper it ends at kΔ + Δ − 1 and is one sample short: both
are tested, with the exact distribution of the statistic.

Reference: Janus & Rzadca, SoCC'17, §3.4.
"""

import numpy as np

from borgtrace.colocation import Experiment, Options, Pool, Study
from borgtrace.colocation.experiments._answers import Row
from borgtrace.kernels.hashing import task_keys
from borgtrace.kernels.kolmogorov import ks_p_value, window_pairs
from borgtrace.question import NotApplicable

SPACINGS = (12, 24, 36)
SIGNIFICANCE = 0.05


def rejections(pool: Pool, spacing: int, length: int, seed: int = 0) -> tuple[int, int]:
    """Number of tasks whose two windows differ at 5 %, and number of tasks with two windows.

    Parameters
    ----------
    pool
        The tasks.
    spacing, length
        Samples from window to window, and in a window.
    seed
        Decides which two windows of a task are compared.
    """
    steps = np.empty(len(pool), np.int64)
    keys = task_keys(seed, pool.collection_id, pool.instance_index)
    window_pairs(pool.inst, pool.offsets, keys, spacing, length, steps)
    # The statistic of two windows of one length is a multiple of 1/length: a few p-values serve all tasks.
    found, tasks = np.unique(steps[steps >= 0], return_counts=True)
    differ = [ks_p_value(length, k) < SIGNIFICANCE for k in found]
    return int(tasks[differ].sum()), int(tasks.sum())


def compute(study: Study, options: Options) -> list[Row]:
    """Return the share of tasks whose windows differ, for both readings of a window."""
    pool, rows = study.pool(options), []
    for spacing in SPACINGS:
        for length in (spacing, spacing - 1):
            rejected, tested = rejections(pool, spacing, length, options.seed)
            if tested:
                share = rejected / tested
                rows.append(
                    {"spacing": spacing, "length": length, "n_tasks": tested, "rejected": share}
                )
    NotApplicable.unless(rows, f"no task has two windows of {SPACINGS[0]} samples")
    return rows


EXPERIMENT = Experiment.declared(compute, order=203)
