"""What helps against tasks that peak together?

Past Janus & Rzadca (SoCC'17): GPA, which takes tasks as independent, against GPA with measured covariances, against
keeping tasks of one job on different machines, and both.  Everything is learned on the first half of the busiest hours
and judged on the second half: as it was (*raw*), and with every task in an order of its own (*shuffled*).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from borgtrace.colocation.experiments._charts import overflow_axis
from borgtrace.colocation.quality import overflow_counts
from borgtrace.colocation.raw_series import longest_busy_span, series, shuffled
from borgtrace.colocation.source import pool_of
from borgtrace.placement.estimators.covariance import CovarianceGpa
from borgtrace.placement.estimators.estimator import Estimator
from borgtrace.placement.estimators.gpa import Gpa
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.packing import pack
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

RESULT = Table(
    "packing_correlated",
    "way of packing, kind of evaluation and instance",
    ("estimator", "target", "is_apart", "judged_on", "instance"),
    (
        Column("estimator", "string", "id", "Which test: gpa or gpa-covariance.", nullable=False),
        Column("target", "float64", "fraction", "Promised overflow.", nullable=False),
        Column("is_apart", "bool", "1", "Whether tasks of one job are kept on different machines.", nullable=False),
        Column("judged_on", "string", "id", "Kind of evaluation: raw or shuffled.", nullable=False),
        Column("instance", "int64", "id", "Number of the instance.", nullable=False),
        Column("n_tasks", "int64", "1", "Tasks of the instance.", nullable=False),
        Column("hours", "float64", "h", "Length of the half that judges.", nullable=False),
        Column("m_abs", "int64", "1", "Machines in use.", nullable=False),
        Column("overflows", "int64", "1", "Pairs of machine and moment that overflow.", nullable=False),
        Column("trials", "int64", "1", "Pairs of machine and moment.", nullable=False),
    ),
)
TARGETS = (0.05, 0.01)


def compute(
    tables: Tables, *, tasks: int = 100_000, instances: int = 5, size: int = 1_000, hours: int = 24, seed: int = 0
) -> pa.Table:
    """Learn on the first half of the busiest hours, judge on the second."""
    pool = pool_of(tables, tasks=tasks, seed=seed)
    span = longest_busy_span(pool, hours, size)
    half = span.slots // 2
    inst, avg = series(pool, span), series(pool, span, "avg")
    rows: list[dict[str, Any]] = []
    for number in range(instances):
        order = np.random.default_rng([seed, number]).permutation(len(span.tasks))[:size]
        seen = Observation(np.ascontiguousarray(inst[order, :half]), series=avg[order, :half])
        after = np.ascontiguousarray(inst[order, half:])
        jobs = np.unique(pool.job[span.tasks[order]], return_inverse=True)[1].astype(np.int64)
        judged = {"raw": after, "shuffled": shuffled(after, seed + number)}
        rows += _rows(seen, jobs, judged, number)
    return pa.Table.from_pylist(rows)


def _rows(seen: Observation, jobs: np.ndarray, judged: dict[str, np.ndarray], number: int) -> list[dict[str, Any]]:
    ways: list[tuple[Estimator, bool]] = [
        (kind(target), apart) for kind in (Gpa, CovarianceGpa) for target in TARGETS for apart in (False, True)
    ]
    packings = [pack(e, seen, groups=jobs if apart else None) for e, apart in ways]
    rows = []
    for name, values in judged.items():
        counts = overflow_counts(values, packings).sum(axis=1)
        for (estimator, apart), packing, overflows in zip(ways, packings, counts, strict=True):
            rows.append(
                {
                    "estimator": estimator.name,
                    "target": estimator.parameter,
                    "is_apart": apart,
                    "judged_on": name,
                    "instance": number,
                    "n_tasks": len(values),
                    "hours": values.shape[1] / 12,
                    "m_abs": packing.n_bins,
                    "overflows": int(overflows),
                    "trials": packing.n_bins * values.shape[1],
                }
            )
    return rows


def overflow(result: pa.Table, **where: object) -> float:
    """Q over all instances of one way of packing."""
    kept = [row for row in result.to_pylist() if all(row[k] == v for k, v in where.items())]
    trials = sum(row["trials"] for row in kept)
    if not trials:
        raise NotApplicable("not among the ways of packing that were run")
    return float(sum(row["overflows"] for row in kept) / trials)


def plot(result: pa.Table) -> alt.Chart:
    """Draw overflow against machines per way of packing, raw and shuffled."""
    import altair as alt

    return (
        alt.Chart(alt.Data(values=result.to_pylist()))
        .transform_aggregate(
            m="mean(m_abs)",
            over="sum(overflows)",
            trials="sum(trials)",
            groupby=["estimator", "target", "is_apart", "judged_on"],
        )
        .transform_calculate(
            q="max(datum.over / datum.trials, 1e-6)", way="datum.estimator + (datum.is_apart ? ', jobs apart' : '')"
        )
        .mark_point(filled=True, size=70)
        .encode(
            x=alt.X("m:Q", title="machines", scale=alt.Scale(zero=False)),
            y=overflow_axis(alt.Y, "q"),
            color="way:N",
            shape="judged_on:N",
            tooltip=["way:N", "target:Q", "judged_on:N", "m:Q", "q:Q"],
        )
        .properties(width=460, height=300, title="Tasks that peak together")
    )


def _ratio(result: pa.Table, better: dict[str, object], base: dict[str, object]) -> float:
    divisor = overflow(result, **base)
    if divisor == 0:
        raise NotApplicable("no overflow to compare with")
    return overflow(result, **better) / divisor


_GPA = {"estimator": "gpa", "target": 0.01, "is_apart": False, "judged_on": "raw"}
CLAIMS = (
    Claim(
        "correlated-independence",
        "independence holds on the raw series (raw ÷ shuffled, gpa .01)",
        "≈ 1",
        lambda r: _ratio(r, _GPA, _GPA | {"judged_on": "shuffled"}),
        lambda v: 0.67 <= v <= 1.5,
    ),
    Claim(
        "correlated-apart",
        "keeping jobs apart lowers the overflow (with ÷ without, gpa .01)",
        "< 1",
        lambda r: _ratio(r, _GPA | {"is_apart": True}, _GPA),
        lambda v: v < 1,
    ),
    Claim(
        "correlated-covariance",
        "measured covariances lower the overflow (with ÷ without, gpa .01)",
        "< 1",
        lambda r: _ratio(r, _GPA | {"estimator": "gpa-covariance"}, _GPA),
        lambda v: v < 1,
    ),
)

RECIPE = Recipe(
    "packing_correlated",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_usage", "tasks"),
    reference="Janus & Rzadca, SoCC'17, §7 (future work)",
    order=405,
)
