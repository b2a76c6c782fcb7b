"""A pool straight from the generator's CPU model, for experiments larger than any store at hand."""

from __future__ import annotations

import numpy as np

from borgtrace.colocation.tasks.pool import PreparationStep, TaskPool, with_plausible_averages
from borgtrace.schema.time import SECOND, TRACE_START, WINDOW
from borgtrace.synth import draw_long_tasks

_PERIOD = WINDOW // SECOND


def synthetic_pool(
    tasks: int,
    seed: int,
    *,
    shared_factor: float = 0.0,
    hours: int | None = None,
) -> TaskPool:
    """Generate `tasks` long tasks and prepare them like those of a store.

    The tasks are long and free of failures by construction, so only two steps of the preparation apply: tasks that
    never used CPU in a sample are dropped, and averages above 1 are replaced.  Windows are 300 s each, from the start
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
    n_windows = None if hours is None else hours * 3600 // _PERIOD
    drawn = draw_long_tasks(tasks, seed, shared_factor=shared_factor, windows=n_windows)
    first_windows = drawn.offsets[:-1]
    is_used = np.maximum.reduceat(drawn.inst, first_windows) > 0
    n_used = int(is_used.sum())
    avg, replaced = with_plausible_averages(drawn.inst, drawn.avg)

    # Every task starts with the trace: such pools have one clock, but no arrivals.
    total = len(drawn.inst)
    number_in_task = np.arange(total, dtype=np.int64) - np.repeat(
        first_windows, np.diff(drawn.offsets)
    )
    pool = TaskPool(
        offsets=drawn.offsets,
        inst=drawn.inst,
        avg=avg,
        collection_id=drawn.job.astype(np.int64),
        instance_index=drawn.index.astype(np.int64),
        start=TRACE_START // SECOND + _PERIOD * number_in_task,
        seconds=np.full(total, _PERIOD, np.int64),
        cpu_request=drawn.request,
        generation="2011",
        source=f"{tasks:,} synthetic long tasks, seed {seed}",
        is_synthetic=True,
        steps=(
            PreparationStep("that never used CPU in any sample", tasks - n_used, tasks),
            PreparationStep("tasks left in the pool", n_used, n_used),
            replaced,
        ),
    )
    # As for a store: a task that never used CPU says nothing about how tasks share a machine.
    return pool if is_used.all() else pool.take(np.flatnonzero(is_used))
