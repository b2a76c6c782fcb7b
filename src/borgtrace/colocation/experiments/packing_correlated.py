"""What helps against tasks that peak together?

Beyond Janus & Rzadca (SoCC'17): GPA, which treats tasks as independent, against GPA with measured covariances, against
keeping tasks of one job on different machines, and both. Everything is learned on the first half of the busiest hours
and judged on the second half: as it was (*raw*), and with the windows of each task in a random order of their own
(*shuffled*).

Reference: Janus & Rzadca, SoCC'17, §7 (future work).
"""

from collections.abc import Mapping

import numpy as np

from borgtrace.colocation import Experiment, Options, Study
from borgtrace.colocation.experiments._answers import Row, replayed
from borgtrace.colocation.raw_series import longest_busy_span, series, shuffled
from borgtrace.kernels.arrays import Index, Values
from borgtrace.placement import CovarianceGpa, Estimator, Gpa, Observation, pack

TARGETS = (0.05, 0.01)


def compute(study: Study, options: Options) -> list[Row]:
    """Learn on the first half of the busiest hours, judge on the second."""
    pool = study.pool(options)
    span = longest_busy_span(pool, options.hours, options.size)
    half = span.slots // 2
    inst, avg = series(pool, span), series(pool, span, "avg")
    rows: list[Row] = []
    for k in range(options.instances):
        # A generator per instance, as in `Instances`: the first instances of a longer run are those of a shorter one.
        order = np.random.default_rng([options.seed, k]).permutation(len(span.tasks))[
            : options.size
        ]
        # Variances from single seconds, covariances from window averages: what tasks share is slow.
        seen = Observation(np.ascontiguousarray(inst[order, :half]), series=avg[order, :half])
        after = np.ascontiguousarray(inst[order, half:])
        # Dense within the instance: groups index an array of the packing kernel.
        jobs = np.unique(pool.job[span.tasks[order]], return_inverse=True)[1].astype(np.int64)
        # The same values for both, so that the difference is what happens at the same time, and nothing else.
        judged = {"raw": after, "shuffled": shuffled(after, options.seed + k)}
        common = {"instance": k, "n_tasks": len(after), "hours": after.shape[1] / 12}
        rows += [row | common for row in _rows(seen, jobs, judged)]
    return rows


def _rows(seen: Observation, jobs: Index, judged: Mapping[str, Values]) -> list[Row]:
    ways: list[tuple[Estimator, bool]] = [
        (kind(target), apart)
        for kind in (Gpa, CovarianceGpa)
        for target in TARGETS
        for apart in (False, True)
    ]
    # All of them first: they are judged together, in one pass over each kind of usage.
    packings = [pack(e, seen, groups=jobs if apart else None) for e, apart in ways]
    rows = []
    for k, row in replayed(packings, judged):
        estimator, apart = ways[k]
        rows.append(
            {"estimator": estimator.name, "target": estimator.parameter, "is_apart": apart, **row}
        )
    return rows


EXPERIMENT = Experiment.declared(
    compute, order=405, options=("tasks", "instances", "size", "hours", "seed")
)
