"""Does the promise survive real time?

Past Janus & Rzadca (SoCC'17), who judge by independent draws: tasks that ran through the same hours are placed from
their empirical distributions, then their real windows are replayed.  *draws*: independent draws, as in the paper;
*shuffled*: the real windows of the hours, each task in an order of its own; *raw*: the real windows as they were.  From
draws to shuffled is what drift of the tasks costs, from shuffled to raw what it costs that tasks peak together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from borgtrace.colocation.experiments._charts import overflow_axis
from borgtrace.colocation.instances import FEWEST_REALIZATIONS
from borgtrace.colocation.quality import lower_bound, overflow_counts
from borgtrace.colocation.raw_series import longest_busy_span, series, shuffled
from borgtrace.colocation.source import pool_of
from borgtrace.errors import UsageError
from borgtrace.placement.estimators.average import Average
from borgtrace.placement.estimators.convolution import Convolution
from borgtrace.placement.estimators.estimator import Estimator
from borgtrace.placement.estimators.gpa import Gpa
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.estimators.percentile import Percentile
from borgtrace.placement.packing import Packing, pack
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

RESULT = Table(
    "packing_replay",
    "estimator, kind of evaluation and instance",
    ("estimator", "judged_on", "instance"),
    (
        Column("estimator", "string", "id", "Estimator and parameter.", nullable=False),
        Column("judged_on", "string", "id", "Kind of evaluation: draws, shuffled or raw.", nullable=False),
        Column("instance", "int64", "id", "Number of the instance.", nullable=False),
        Column("target", "float64", "fraction", "Promised overflow, if the estimator promises one."),
        Column("n_tasks", "int64", "1", "Tasks of the instance.", nullable=False),
        Column("hours", "float64", "h", "Length of the replay.", nullable=False),
        Column("m_abs", "int64", "1", "Machines in use.", nullable=False),
        Column("m", "float64", "1", "Machines over the lower bound.", nullable=False),
        Column("overflows", "int64", "1", "Pairs of machine and moment that overflow.", nullable=False),
        Column("trials", "int64", "1", "Pairs of machine and moment.", nullable=False),
    ),
)


def ways() -> list[Estimator]:
    """The estimators compared."""
    return [Gpa(0.1), Gpa(0.01), Gpa(0.001), Convolution(0.001), Average(1.25), Percentile(90)]


def compute(
    tables: Tables,
    *,
    tasks: int = 100_000,
    realizations: int = 10_000,
    instances: int = 5,
    size: int = 1_000,
    hours: int = 24,
    seed: int = 0,
) -> pa.Table:
    """Place tasks that ran at the same time, and replay them."""
    if realizations < FEWEST_REALIZATIONS:
        raise UsageError("realizations", "too few", expected=f"at least {FEWEST_REALIZATIONS}", got=str(realizations))
    pool = pool_of(tables, tasks=tasks, seed=seed)
    span = longest_busy_span(pool, hours, size)
    real = series(pool, span)
    rows: list[dict[str, Any]] = []
    for number in range(instances):
        order = np.random.default_rng([seed, number]).permutation(len(span.tasks))[:size]
        drawn = pool.draw(span.tasks[order], realizations, seed)
        seen = Observation(drawn)
        packings = [pack(estimator, seen) for estimator in ways()]
        judged = {"draws": drawn, "shuffled": shuffled(real[order], seed + number), "raw": real[order]}
        for name, values in judged.items():
            counts = overflow_counts(values, packings).sum(axis=1)
            for estimator, packing, overflows in zip(ways(), packings, counts, strict=True):
                rows.append(
                    _row(estimator, packing, name, number, int(overflows), values, lower_bound(drawn), span.slots)
                )
    return pa.Table.from_pylist(rows)


def _row(
    estimator: Estimator,
    packing: Packing,
    name: str,
    number: int,
    overflows: int,
    values: np.ndarray,
    bound: int,
    slots: int,
) -> dict[str, Any]:
    return {
        "estimator": estimator.label,
        "judged_on": name,
        "instance": number,
        "target": estimator.parameter if estimator.targets else None,
        "n_tasks": len(values),
        "hours": slots / 12,
        "m_abs": packing.n_bins,
        "m": packing.n_bins / bound,
        "overflows": overflows,
        "trials": packing.n_bins * values.shape[1],
    }


def overflow(result: pa.Table, estimator: str, judged_on: str) -> float:
    """Q of an estimator over all instances, on one kind of evaluation."""
    kept = [r for r in result.to_pylist() if (r["estimator"], r["judged_on"]) == (estimator, judged_on)]
    trials = sum(row["trials"] for row in kept)
    if not trials:
        raise NotApplicable("not among the ways of packing that were run")
    return float(sum(row["overflows"] for row in kept) / trials)


def plot(result: pa.Table) -> alt.Chart:
    """Draw q per estimator on the three kinds of evaluation, with the promise."""
    import altair as alt

    rows = result.to_pylist()
    labels = dict.fromkeys(row["estimator"] for row in rows)
    points = [
        {"estimator": label, "judged_on": kind, "q": max(overflow(result, label, kind), 1e-6)}
        for label in labels
        for kind in ("draws", "shuffled", "raw")
    ]
    targets = {row["estimator"]: row["target"] for row in rows if row["target"] is not None}
    promise = [{"estimator": label, "q": target} for label, target in targets.items()]
    y = alt.Y("estimator:N", title=None, sort=list(labels))
    x = overflow_axis(alt.X, "q", "overflow probability (tick: promised)")
    marks = alt.Chart(alt.Data(values=points)).mark_point(filled=True, size=70).encode(x=x, y=y, color="judged_on:N")
    ticks = alt.Chart(alt.Data(values=promise)).mark_tick(thickness=2, color="black").encode(x=x, y=y)
    return (ticks + marks).properties(width=460, title="Promise and replay")


def _ratio(result: pa.Table, estimator: str, judged_on: str, against: str) -> float:
    base = overflow(result, estimator, against)
    if base == 0:
        raise NotApplicable("no overflow to compare with")
    return overflow(result, estimator, judged_on) / base


CLAIMS = (
    Claim(
        "replay-drift",
        "independent draws tell the overflow of real windows (shuffled ÷ draws, gpa .01)",
        "≈ 1",
        lambda r: _ratio(r, "gpa 0.01", "shuffled", "draws"),
        lambda v: 0.67 <= v <= 1.5,
    ),
    Claim(
        "replay-together",
        "tasks may be taken as independent (raw ÷ shuffled, gpa .01)",
        "≈ 1",
        lambda r: _ratio(r, "gpa 0.01", "raw", "shuffled"),
        lambda v: 0.67 <= v <= 1.5,
    ),
    Claim(
        "replay-promise",
        "convolution keeps ρ = .001 in real time (q ÷ ρ)",
        "≤ 1",
        lambda r: overflow(r, "convolution 0.001", "raw") / 0.001,
        lambda v: v <= 1.0,
    ),
)

RECIPE = Recipe(
    "packing_replay",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_usage", "tasks"),
    reference="Janus & Rzadca, SoCC'17, §7 (future work)",
    order=410,
)
