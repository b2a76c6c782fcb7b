"""How heavy are the tails of the distributions?

Exponents α of P(X > x) ∝ x^−α above a threshold, by maximum likelihood (counts by the zeta law, times by
Hill's estimator), with the standard error α ÷ √n.  Below α = 1 a law has no mean, below 2 no variance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses._processes import jobs_only
from borgtrace.analyses._quantiles import counts
from borgtrace.analyses._tails import continuous_exponent, discrete_exponent
from borgtrace.analyses.jobs_per_owner import owners
from borgtrace.analyses.tasks_per_job import sizes
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table
from borgtrace.schema.time import SECOND, Seconds

if TYPE_CHECKING:
    import altair as alt

RESULT = Table(
    "tails",
    "quantity",
    ("quantity",),
    (
        Column("quantity", "string", "id", "What is distributed.", nullable=False),
        Column("threshold", "float64", "1", "Where the tail begins (a count, or s).", nullable=False),
        Column("alpha", "float64", "1", "Tail exponent.", nullable=False),
        Column("error", "float64", "1", "Its standard error.", nullable=False),
        Column("n", "int64", "count", "Values in the tail.", nullable=False),
    ),
)


def compute(tables: Tables, *, min_tasks: int = 10, min_jobs: int = 10, min_seconds: Seconds = 3600) -> pa.Table:
    """Return the tail exponents above the thresholds."""
    tasks = jobs_only(tables.instance_attempts)
    events = tables.collection_events
    discrete: dict[str, tuple[ir.Table, str, str, int]] = {
        "tasks per job": (sizes(tables.instance_attempts), "n_tasks", "n_jobs", min_tasks),
        "jobs per user": (owners(events, "user"), "n_jobs", "n_owners", min_jobs),
        "jobs per logical name": (owners(events, "collection_logical_name"), "n_jobs", "n_owners", min_jobs),
    }
    rows = []
    for name, (expr, value, number, threshold) in discrete.items():
        found = tables.fetch(expr, name.replace(" ", "_")).sort_by(value)
        values, n = found[value].to_numpy(), found[number].to_numpy()
        alpha = discrete_exponent(values, n, threshold) if len(values) else np.nan
        rows.append(_row(name, threshold, alpha, int(n[values >= threshold].sum())))
    runs = tables.fetch(counts(tasks, (tasks.run // SECOND).cast("int64")), "runs").sort_by("value")
    values, n = runs["value"].to_numpy().astype(float), runs["n"].to_numpy()
    alpha = continuous_exponent(values, n, float(min_seconds))
    rows.append(_row("run time of a task", min_seconds, alpha, int(n[values > min_seconds].sum())))
    known = [row for row in rows if not np.isnan(float(row["alpha"]))]
    if not known:
        raise NotApplicable("no value is above the thresholds")
    return pa.Table.from_pylist(known)


def _row(name: str, threshold: float, alpha: float, n: int) -> dict[str, float | int | str]:
    return {
        "quantity": name,
        "threshold": float(threshold),
        "alpha": alpha,
        "error": alpha / float(np.sqrt(max(n, 1))),
        "n": n,
    }


def plot(result: pa.Table) -> alt.TopLevelMixin:
    """Draw the exponents with two standard errors."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, rows

    alpha, error = result["alpha"].to_numpy(), result["error"].to_numpy()
    bars = result.append_column("low", pa.array(alpha - 2 * error)).append_column("high", pa.array(alpha + 2 * error))
    base = alt.Chart(rows(bars), title="Tail exponents", width=WIDTH, height=HEIGHT).encode(
        y=alt.Y("quantity:N", title=None), tooltip=["quantity:N", "alpha:Q", "error:Q", "threshold:Q", "n:Q"]
    )
    return alt.layer(
        base.mark_rule().encode(x=alt.X("low:Q", title="α"), x2="high:Q"),
        base.mark_point(filled=True, size=60).encode(x="alpha:Q"),
    )


def _tasks_exponent(result: pa.Table) -> float:
    found = [row["alpha"] for row in result.to_pylist() if row["quantity"] == "tasks per job"]
    if not found:
        raise NotApplicable("no job has so many tasks")
    return float(found[0])


CLAIMS = (
    Claim(
        "TE-tasks-tail",
        "the number of tasks of a job has so heavy a tail that it has no mean (α < 1)",
        0.585,
        _tasks_exponent,
        lambda alpha: alpha < 1.0,
        "count over the first 19.65 h of 2011",
    ),
)
RECIPE = Recipe(
    "tails",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_events",),
    reference="Clauset, Shalizi and Newman, SIAM Review 51 (2009)",
    order=56,
    topic="Jobs and users",
)
