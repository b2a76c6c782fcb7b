"""A heavy-tailed twin of a pool: the same tasks with the same mean usage, but with rare bursts."""

from dataclasses import replace

import numpy as np

from borgtrace.colocation.tasks.pool import TaskPool
from borgtrace.colocation.tasks.streams import BURSTS

SHARE = 0.01
"""Share of the windows that become bursts."""
STRENGTH = 12.0
"""Factor on a task's usage in a burst, which takes at most the whole machine."""


def heavy_tail(pool: TaskPool, seed: int = 0) -> TaskPool:
    """Make 1 % of all windows bursts of 12 times the usage, then scale each task back to its mean.

    It shows how estimators fare where rare events matter more than in the workload at hand.  Averages and memory stay;
    percentiles, which do not contain the bursts, are dropped.

    Parameters
    ----------
    pool
        Tasks with at least one window each.
    seed
        Decides which windows become bursts.
    """
    # A random stream of its own, apart from the samples and orders drawn with the same seed.
    rng = np.random.default_rng([seed, BURSTS])
    is_burst = rng.random(len(pool.inst)) < SHARE
    burst_usage = np.minimum(pool.inst * STRENGTH, 1.0)
    usage = np.where(is_burst, burst_usage, pool.inst).astype(np.float64)

    # reduceat needs a window in every run, and every task of a pool has one.
    first_windows = pool.offsets[:-1]
    total_before = np.add.reduceat(pool.inst.astype(np.float64), first_windows)
    total_after = np.add.reduceat(usage, first_windows)
    # The mean stays: if more machines are needed, it is because of the tail alone.
    factor = np.ones_like(total_before)
    np.divide(total_before, total_after, out=factor, where=total_after > 0)
    scaled = usage * np.repeat(factor, pool.n_windows)
    return replace(
        pool,
        inst=scaled.astype(np.float32),
        quantiles=None,
        source=f"{pool.source}, with rare bursts",
    )
