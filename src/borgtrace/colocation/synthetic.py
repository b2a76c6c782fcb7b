"""A pool straight from the generator's CPU model, for experiments larger than any store at hand."""

from __future__ import annotations

import numpy as np

from borgtrace.colocation.pool import Pool, Step, mended
from borgtrace.schema.time import SECOND, TRACE_START, WINDOW
from borgtrace.synth import draw_long_tasks

_PERIOD = WINDOW // SECOND


def synthetic_pool(
    tasks: int,
    seed: int,
    *,
    shared_factor: float = 0.0,
    hours: int | None = None,
) -> Pool:
    """Generate `tasks` long tasks and prepare them like those of a store.

    The tasks were generated long and without failures, so only two steps can touch them: tasks that never
    used CPU in a sample are dropped, averages above 1 are replaced.  Windows are 300 s each, from the start
    of the trace, without gaps.

    Parameters
    ----------
    tasks
        How many to generate.
    seed
        Seed of the generator.
    shared_factor
        Share of the variance that all tasks have in common.
    hours
        How long every task runs; by default as long as long tasks live.
    """
    windows = None if hours is None else hours * 3600 // _PERIOD
    made = draw_long_tasks(tasks, seed, shared_factor=shared_factor, windows=windows)
    lengths = np.diff(made.offsets)
    used = np.maximum.reduceat(made.inst, made.offsets[:-1]) > 0
    avg, step = mended(made.inst, made.avg)
    # Every task starts with the trace: pools like this have one clock, but no arrivals.
    within = np.arange(len(made.inst), dtype=np.int64) - np.repeat(made.offsets[:-1], lengths)
    pool = Pool(
        offsets=made.offsets,
        inst=made.inst,
        avg=avg,
        collection_id=made.job.astype(np.int64),
        instance_index=made.index.astype(np.int64),
        start=TRACE_START // SECOND + _PERIOD * within,
        seconds=np.full(len(made.inst), _PERIOD, np.int64),
        cpu_request=made.request,
        generation="2011",
        source=f"{tasks:,} synthetic long tasks, seed {seed}",
        is_synthetic=True,
        steps=(
            Step("that never used CPU in any sample", int((~used).sum()), tasks),
            Step("tasks left in the pool", int(used.sum()), int(used.sum())),
            step,
        ),
    )
    # As for a store: a task that never used CPU says nothing about how tasks share a machine.
    return pool if used.all() else pool.take(np.flatnonzero(used))
