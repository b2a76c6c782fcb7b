"""A heavy-tailed twin of a pool: the same tasks and mean usage, with rare bursts."""

from dataclasses import replace

import numpy as np

from borgtrace.colocation.pool import Pool

SHARE = 0.01
"""Share of the windows that become bursts."""
STRENGTH = 12.0
"""How many times its usage a task takes in a burst, at most the whole machine."""


def heavy_tail(pool: Pool, seed: int = 0) -> Pool:
    """Make 1 % of all windows bursts of 12 times the usage, then scale each task back to its mean.

    For asking how estimators fare where rare events matter more than in the workload at hand.  Averages and memory
    stay; percentiles, which know nothing of the bursts, are left out.

    Parameters
    ----------
    pool
        Tasks with at least one window each.
    seed
        Decides which windows become bursts.
    """
    # A stream of its own, apart from the samples and orders drawn with the same seed.
    rng = np.random.default_rng([seed, 0xB0257])
    is_burst = rng.random(len(pool.inst)) < SHARE
    usage = np.where(is_burst, np.minimum(pool.inst * STRENGTH, 1.0), pool.inst).astype(np.float64)
    # reduceat needs a window in every run; no task of a pool is without.
    before = np.add.reduceat(pool.inst.astype(np.float64), pool.offsets[:-1])
    after = np.add.reduceat(usage, pool.offsets[:-1])
    # Same mean as before: more machines then come from the tail alone.
    factor = np.divide(before, after, out=np.ones_like(before), where=after > 0)
    scaled = (usage * np.repeat(factor, pool.n_windows)).astype(np.float32)
    return replace(pool, inst=scaled, quantiles=None, source=f"{pool.source}, with rare bursts")
