"""Is the target met in real time?

Beyond Janus & Rzadca (SoCC'17), who judge by independent draws: tasks that ran through the same hours are placed from
their empirical distributions, then their real windows are replayed. *draws*: independent draws, as in the paper;
*shuffled*: the real windows of the hours, each task's in a random order of their own; *raw*: the real windows as they
were. The step from draws to shuffled is the cost of drift, the step from shuffled to raw the cost of tasks that peak
together.

Reference: Janus & Rzadca, SoCC'17, §7 (future work).
"""

import numpy as np
import pyarrow as pa

from borgtrace.colocation import Experiment, Options, Study
from borgtrace.colocation.experiments._answers import Row, overflow, ratio_of_overflows, replayed
from borgtrace.colocation.experiments._charts import WIDTH
from borgtrace.colocation.quality import least_machines
from borgtrace.colocation.raw_series import longest_busy_span, series, shuffled
from borgtrace.kernels.arrays import Values
from borgtrace.placement import Average, Convolution, Estimator, Gpa, Observation, Percentile, pack
from borgtrace.recipe.charts import Chart, Plot, axis, point, probability_axis, tick


def ways() -> list[Estimator]:
    """The estimators compared."""
    return [Gpa(0.1), Gpa(0.01), Gpa(0.001), Convolution(0.001), Average(1.25), Percentile(90)]


def compute(study: Study, options: Options) -> pa.Table:
    """Place tasks that ran at the same time, and replay them."""
    pool = study.pool(options)
    span = longest_busy_span(pool, options.hours, options.size)
    real = series(pool, span)
    rows: list[Row] = []
    for k in range(options.instances):
        order = np.random.default_rng([options.seed, k]).permutation(len(span.tasks))[: options.size]
        # From all windows of a task, not from the hours replayed alone, as the paper's estimators see it.
        drawn = pool.draw(span.tasks[order], options.realizations, options.seed)
        judged = {"draws": drawn, "shuffled": shuffled(real[order], options.seed + k), "raw": real[order]}
        common = {"instance": k, "n_tasks": len(drawn), "hours": span.slots / 12}
        rows += [row | common for row in _rows(judged)]
    return pa.Table.from_pylist(rows)


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


def plot(result: pa.Table) -> Chart:
    """Draw q per estimator on the three kinds of evaluation, with the promise."""
    rows = result.to_pylist()
    # In the order they were run: a chart would sort them by name.
    labels = list(dict.fromkeys(row["estimator"] for row in rows))
    points = [
        {"estimator": name, "judged_on": kind, "q": max(overflow(rows, estimator=name, judged_on=kind), 1e-6)}
        for name in labels
        for kind in ("draws", "shuffled", "raw")
    ]
    # Sizes promise nothing, so they get no tick.
    targets = {row["estimator"]: row["target"] for row in rows if row["target"] is not None}
    promise = [{"estimator": name, "q": target} for name, target in targets.items()]
    x = probability_axis("q", "overflow probability (tick: promised)")
    chart = Plot(points, x=x, y=axis("estimator", order=labels))
    chart.add(tick(thickness=2, color="black"), data=promise).add(point(70), color="judged_on")
    return chart.draw("Promise and replay", width=WIDTH, height=None)


_OPTIONS = ("tasks", "realizations", "instances", "size", "hours", "seed")
EXPERIMENT = Experiment.declared(compute, (overflow, ratio_of_overflows), plot=plot, order=410, options=_OPTIONS)
