"""Do tasks peak together, within a job and across jobs?

Pearson correlation of the window averages of pairs of tasks that ran through the same hours (the busiest ones of the
pool); pairs are drawn at random, at most 20,000 within jobs and as many across.  Tasks that never change are left out.
Independent series of T moments would spread by 1/√T around 0.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.colocation.raw_series import longest_busy_span, series
from borgtrace.colocation.source import pool_of
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

RESULT = Table(
    "task_correlation",
    "scope and bin of the correlation",
    ("scope", "low"),
    (
        Column("scope", "string", "id", "Pairs within a job, or across jobs.", nullable=False),
        Column("low", "float64", "1", "Lower end of the bin.", nullable=False),
        Column("share", "float64", "fraction", "Share of the pairs in the bin.", nullable=False),
        Column("mean", "float64", "1", "Mean correlation of all pairs of the scope.", nullable=False),
        Column("n_pairs", "int64", "1", "Pairs of the scope.", nullable=False),
        Column("n_tasks", "int64", "1", "Tasks that ran through the hours.", nullable=False),
        Column("hours", "float64", "h", "Length of the series.", nullable=False),
    ),
)
PAIRS = 20_000
EDGES = np.linspace(-1, 1, 41)


def compute(tables: Tables, *, tasks: int = 100_000, hours: int = 24, seed: int = 0) -> pa.Table:
    """Correlate pairs of tasks within and across jobs."""
    pool = pool_of(tables, tasks=tasks, seed=seed)
    span = longest_busy_span(pool, hours, 1_000, most=5_000, seed=seed)
    values = series(pool, span, "avg").astype(np.float64)
    values -= values.mean(axis=1, keepdims=True)
    norm = np.sqrt((values**2).sum(axis=1))
    moving = norm > 0
    jobs = pool.job[span.tasks][moving]
    unit = values[moving] / norm[moving, None]
    rows: list[dict[str, Any]] = []
    for scope, pairs in pairs_of(jobs, seed).items():
        if len(pairs):
            found = np.clip((unit[pairs[:, 0]] * unit[pairs[:, 1]]).sum(axis=1), -1, 1)
            rows += _rows(scope, found, len(span.tasks), span.slots)
    if not rows:
        raise NotApplicable("fewer than two tasks of the same hours change at all")
    return pa.Table.from_pylist(rows)


def pairs_of(jobs: NDArray[np.int64], seed: int) -> dict[str, NDArray[np.int64]]:
    """Random pairs of tasks of one job, and of two jobs: int64 (k, 2) each, k ≤ 20,000."""
    rng = np.random.default_rng([seed, 6])
    order = np.argsort(jobs, kind="stable")
    bounds = np.flatnonzero(np.diff(jobs[order], prepend=-1, append=-1))
    within = [
        np.column_stack(np.triu_indices(min(int(b - a), 300), 1))[:PAIRS] + a for a, b in pairwise(bounds.tolist())
    ]
    inside = np.concatenate(within) if within else np.empty((0, 2), np.int64)
    inside = order[inside[rng.permutation(len(inside))[:PAIRS]]]
    across = rng.integers(0, len(jobs), (PAIRS, 2)) if len(jobs) else np.empty((0, 2), np.int64)
    return {"within": inside, "across": across[jobs[across[:, 0]] != jobs[across[:, 1]]]}


def _rows(scope: str, found: NDArray[np.float64], n_tasks: int, slots: int) -> list[dict[str, Any]]:
    counts, _ = np.histogram(found, EDGES)
    return [
        {
            "scope": scope,
            "low": float(low),
            "share": count / len(found),
            "mean": float(found.mean()),
            "n_pairs": len(found),
            "n_tasks": n_tasks,
            "hours": slots / 12,
        }
        for low, count in zip(EDGES[:-1], counts, strict=True)
    ]


def plot(result: pa.Table) -> alt.Chart:
    """Draw the distribution of the correlations, within and across jobs."""
    import altair as alt

    return (
        alt.Chart(alt.Data(values=result.to_pylist()))
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("low:Q", title="correlation of two tasks' window averages"),
            y=alt.Y("share:Q", title="share of pairs", axis=alt.Axis(format="%")),
            color="scope:N",
            tooltip=["scope:N", "mean:Q", "n_pairs:Q"],
        )
        .properties(width=460, height=260)
    )


def _mean(result: pa.Table, scope: str) -> float:
    for row in result.to_pylist():
        if row["scope"] == scope:
            return float(row["mean"])
    raise NotApplicable(f"no pairs {scope} jobs")


CLAIMS = (
    Claim(
        "correlation-across",
        "tasks of different jobs are independent (mean correlation)",
        "≈ 0",
        lambda r: _mean(r, "across"),
        lambda v: abs(v) <= 0.02,
        "assumption of Janus & Rzadca, §3.3",
    ),
    Claim(
        "correlation-within",
        "tasks of one job are independent (mean correlation)",
        "≈ 0",
        lambda r: _mean(r, "within"),
        lambda v: abs(v) <= 0.02,
        "assumption of Janus & Rzadca, §3.3",
    ),
)

RECIPE = Recipe(
    "task_correlation",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_usage", "tasks"),
    reference="Janus & Rzadca, SoCC'17, §7 (future work)",
    order=400,
)
