"""How heavy are the tails of the distributions?

Exponents α of P(X > x) ∝ x^−α above a threshold, by maximum likelihood (counts by the zeta law, times by
Hill's estimator), with the standard error α ÷ √n. Below α = 1 a distribution has no mean, below 2 no
variance. A sample of the jobs says nothing about the jobs of an owner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from borgtrace.analyses.jobs.jobs_per_owner import owners
from borgtrace.analyses.jobs.tasks_per_job import sizes
from borgtrace.analyses.shared.attempts import of_jobs
from borgtrace.analyses.shared.power_law import continuous_exponent, discrete_exponent
from borgtrace.analyses.shared.quantiles import counts
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    Question,
    Row,
    Tables,
    below,
    charts,
    query_answer,
    sql,
)
from borgtrace.question.scopes import TASKS_2011
from borgtrace.schema.bounds import Bounds
from borgtrace.schema.time import DAY, SECOND, Seconds

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="quantity",
    key=[Column("quantity", "string", "id", "Quantity whose distribution has the tail.")],
    columns=[
        Column("threshold", "float64", "1", "Where the tail begins (a count, or s)."),
        Column("alpha", "float64", "1", "Tail exponent."),
        Column("error", "float64", "1", "Its standard error."),
        Column("n", "int64", "count", "Values in the tail."),
    ],
)


def compute(
    tables: Tables,
    *,
    min_tasks: Annotated[int, Bounds(1, 10**9)] = 10,
    min_jobs: Annotated[int, Bounds(1, 10**9)] = 10,
    min_seconds: Annotated[Seconds, Bounds(1, 366 * DAY // SECOND)] = 3600,
) -> list[Row]:
    """Return the tail exponents above the thresholds."""
    events = tables.collection_events
    # Counts of counts: the engine sends a few hundred rows, not a row per job.
    tails = [tail_of_counts(tables, "tasks per job", sizes(tables.instance_attempts), min_tasks)]
    # A sample of the jobs misses small owners first; tasks of a job are all there or none.
    if not tables.coverage.is_sample:
        users = owners(events, "user")
        names = owners(events, "collection_logical_name")
        tails.append(tail_of_counts(tables, "jobs per user", users, min_jobs))
        tails.append(tail_of_counts(tables, "jobs per logical name", names, min_jobs))
    tails.append(tail_of_run_times(tables, float(min_seconds)))
    rows = [row for row in tails if not np.isnan(row["alpha"])]
    if not rows:
        raise NotApplicable("no value is above the thresholds")
    return rows


def tail_of_counts(
    tables: Tables, quantity: str, sizes_with_counts: ir.Table, threshold: int
) -> Row:
    """Describe the tail of counts; the two columns are the counts and how often each occurs."""
    size, weight = sizes_with_counts.columns
    rows = tables.fetch(sizes_with_counts, quantity.replace(" ", "_")).sort_by(size)
    values = rows[size].to_numpy()
    n = rows[weight].to_numpy()
    alpha = discrete_exponent(values, n, threshold) if len(values) else np.nan
    # A count at the threshold belongs to the tail of the zeta law.
    return tail_row(quantity, threshold, alpha, int(n[values >= threshold].sum()))


def tail_of_run_times(tables: Tables, threshold: float) -> Row:
    """Describe the tail of the run times of tasks, in whole seconds."""
    tasks = of_jobs(tables.instance_attempts)
    seconds = (tasks.run // SECOND).cast("int64")
    runs = tables.fetch(counts(tasks, seconds), "runs").sort_by("value")
    values = runs["value"].to_numpy().astype(float)
    n = runs["n"].to_numpy()
    alpha = continuous_exponent(values, n, threshold)
    # A time must lie above the threshold: Hill's estimator takes the logarithm of their ratio.
    return tail_row("run time of a task", threshold, alpha, int(n[values > threshold].sum()))


def tail_row(quantity: str, threshold: float, alpha: float, n: int) -> Row:
    """Return a row of the answer."""
    return {
        "quantity": quantity,
        "threshold": float(threshold),
        "alpha": alpha,
        "error": alpha / float(np.sqrt(max(n, 1))),
        "n": n,
    }


def chart(answer: pa.Table) -> alt.LayerChart:
    """Draw each exponent as a point on a line of two standard errors to either side."""
    import altair as alt

    rows = query_answer(
        answer,
        """
        select *, alpha - 2 * error as low, alpha + 2 * error as high
        from answer
        """,
    )
    base = charts.base(rows).encode(y=alt.Y("quantity:N", title=None))
    errors = base.mark_rule().encode(
        x=alt.X("low:Q", title="α"),
        x2=alt.X2("high:Q"),
        tooltip=charts.tooltips(rows),
    )
    points = base.mark_point(filled=True, size=60).encode(
        x=alt.X("alpha:Q", title="α"),
        tooltip=charts.tooltips(rows, "quantity", "alpha", "threshold", "error", "n"),
    )
    return alt.layer(errors, points).properties(title="Tail exponents (line: two standard errors)")


CLAIMS = [
    Claim(
        "TE-tasks-tail",
        statement="the number of tasks of a job has so heavy a tail that it has no mean (α < 1)",
        source="count over the first 19.65 h of 2011",
        kind="criterion",
        scope=TASKS_2011.needing(days=7, tasks=5_000),
        measure=sql(
            "select alpha from answer where quantity = 'tasks per job'",
            otherwise="no job has so many tasks",
        ),
        criterion=below(1.0, published=0.585),
    ),
]

QUESTION = Question(
    name="tails",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["instance_events"],
    reference="Clauset, Shalizi and Newman, SIAM Review 51 (2009)",
)
