"""Is the target met in real time?

Beyond Janus & Rzadca (SoCC'17), who judge by independent draws: tasks that ran through the same hours are placed from
their empirical distributions, then their real windows are replayed. *draws*: independent draws, as in the paper;
*shuffled*: the real windows of the hours, each task's in a random order of their own; *raw*: the real windows as they
were. The step from draws to shuffled is the cost of drift, the step from shuffled to raw the cost of tasks that peak
together.

Reference: Janus & Rzadca, SoCC'17, §7 (future work).
"""

import numpy as np

from borgtrace.colocation import Experiment, Options, Study
from borgtrace.colocation.experiments._answers import Row, replayed
from borgtrace.colocation.quality import least_machines
from borgtrace.colocation.raw_series import longest_busy_span, series, shuffled
from borgtrace.kernels.arrays import Values
from borgtrace.placement import Average, Convolution, Estimator, Gpa, Observation, Percentile, pack


def ways() -> list[Estimator]:
    """The estimators compared."""
    return [Gpa(0.1), Gpa(0.01), Gpa(0.001), Convolution(0.001), Average(1.25), Percentile(90)]


def compute(study: Study, options: Options) -> list[Row]:
    """Place tasks that ran at the same time, and replay them."""
    pool = study.pool(options)
    span = longest_busy_span(pool, options.hours, options.size)
    real = series(pool, span)
    rows: list[Row] = []
    for k in range(options.instances):
        order = np.random.default_rng([options.seed, k]).permutation(len(span.tasks))[
            : options.size
        ]
        # From all windows of a task, not from the hours replayed alone, as the paper's estimators see it.
        drawn = pool.draw(span.tasks[order], options.realizations, options.seed)
        judged = {
            "draws": drawn,
            "shuffled": shuffled(real[order], options.seed + k),
            "raw": real[order],
        }
        common = {"instance": k, "n_tasks": len(drawn), "hours": span.slots / 12}
        rows += [row | common for row in _rows(judged)]
    return rows


def _rows(judged: dict[str, Values]) -> list[Row]:
    """Pack by the draws; judge by each kind of evaluation."""
    seen, tried = Observation(judged["draws"]), ways()
    packings = [pack(estimator, seen) for estimator in tried]
    rows = []
    for k, row in replayed(packings, judged):
        target = tried[k].parameter if tried[k].targets else None
        m = row["m_abs"] / least_machines(seen.mean, placed=packings[k])
        rows.append({"estimator": tried[k].label, "target": target, "m": m, **row})
    return rows


_OPTIONS = ("tasks", "realizations", "instances", "size", "hours", "seed")
EXPERIMENT = Experiment.declared(compute, order=410, options=_OPTIONS)
