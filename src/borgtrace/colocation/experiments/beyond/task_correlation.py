"""Do tasks peak together, within a job and across jobs?

Pearson correlation of the window averages of pairs of tasks that ran through the same hours (the busiest ones of the
pool); pairs are drawn at random, at most 20,000 within jobs and as many across.  Tasks that never change are left out.
Independent series of T moments would spread by 1/√T around 0.
"""

from itertools import pairwise

import numpy as np
import pyarrow as pa

from borgtrace.colocation import ColocationOptions, Experiment, Study
from borgtrace.colocation.experiments.shared.answers import Row
from borgtrace.colocation.experiments.shared.scopes import OWN
from borgtrace.colocation.tasks import streams
from borgtrace.colocation.tasks.simultaneous import longest_busy_span, series
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.question import Answer, Claim, Column, NotApplicable, charts, near, sql

ANSWER = Answer(
    grain="scope and bin of the correlation",
    key=[
        Column("scope", "string", "id", "Pairs within a job, or across jobs."),
        Column("low", "float64", "1", "Lower end of the bin."),
    ],
    columns=[
        Column("share", "float64", "fraction", "Share of the pairs in the bin."),
        Column("mean", "float64", "1", "Mean correlation of all pairs of the scope."),
        Column("n_pairs", "int64", "count", "Pairs of the scope."),
        Column("n_tasks", "int64", "count", "Tasks that ran through the hours."),
        Column("hours", "float64", "h", "Length of the series."),
    ],
)


PAIRS = 20_000
TASKS_OF_A_JOB = 300
"""At most so many tasks of a job are paired: thousands would have millions of pairs, of which 20,000 are kept."""
EDGES = np.linspace(-1, 1, 41)
SLOTS_PER_HOUR = 12


def compute(study: Study, options: ColocationOptions) -> list[Row]:
    """Correlate pairs of tasks within and across jobs."""
    pool = study.pool(options)
    span = longest_busy_span(pool, options.hours, 1_000, most=5_000, seed=options.seed)
    values = series(pool, span, "avg").astype(np.float64)
    # Rows of length 1 around 0: a correlation is then a dot product.
    values -= values.mean(axis=1, keepdims=True)
    norm = np.sqrt((values**2).sum(axis=1))
    # A task that never changes has no correlation with any other.
    is_moving = norm > 0
    unit_rows = values[is_moving] / norm[is_moving, None]
    jobs = pool.job[span.tasks][is_moving]
    rows: list[Row] = []
    for scope, pairs in pairs_of(jobs, options.seed).items():
        if not len(pairs):
            continue
        one, other = pairs.T
        products = (unit_rows[one] * unit_rows[other]).sum(axis=1)
        # Rounding past 1 would fall outside the last bin and lose the pair.
        correlations = np.clip(products, -1, 1)
        for row in histogram_rows(correlations):
            row |= {
                "scope": scope,
                "n_tasks": len(span.tasks),
                "hours": span.slots / SLOTS_PER_HOUR,
            }
            rows.append(row)
    NotApplicable.unless(rows, "fewer than two tasks of the same hours have varying usage")
    return rows


def pairs_of(jobs: Index, seed: int) -> dict[str, Index]:
    """Draw random pairs of tasks of one job, and of two jobs: int64 (k, 2) each, k ≤ 20,000.

    Parameters
    ----------
    jobs
        int64 (n,): job of each task.
    seed
        Seed of the pairs.
    """
    no_pairs = np.empty((0, 2), np.int64)
    rng = np.random.default_rng([seed, streams.PAIRS])
    order = np.argsort(jobs, kind="stable")
    bounds = np.flatnonzero(np.diff(jobs[order], prepend=-1, append=-1))
    pairs_of_jobs = [no_pairs]
    for first, end in pairwise(bounds.tolist()):
        n_tasks = min(end - first, TASKS_OF_A_JOB)
        pairs_of_job = np.column_stack(np.triu_indices(n_tasks, 1))[:PAIRS]
        pairs_of_jobs.append(pairs_of_job + first)
    within = np.concatenate(pairs_of_jobs)
    chosen = rng.permutation(len(within))[:PAIRS]
    within = order[within[chosen]]

    across = rng.integers(0, len(jobs), (PAIRS, 2)) if len(jobs) else no_pairs
    one, other = across.T
    return {"within": within, "across": across[jobs[one] != jobs[other]]}


def histogram_rows(correlations: Numbers) -> list[Row]:
    """Return the share of the pairs in each bin, with what is known of all.

    Parameters
    ----------
    correlations
        float64 (k,): of each pair.
    """
    n_pairs = len(correlations)
    mean = float(correlations.mean())
    counts, _ = np.histogram(correlations, EDGES)
    rows: list[Row] = []
    for low, count in zip(EDGES[:-1].tolist(), counts.tolist(), strict=True):
        rows.append({"low": low, "share": count / n_pairs, "mean": mean, "n_pairs": n_pairs})
    return rows


def chart(answer: pa.Table) -> charts.Chart:
    """Draw the share of the pairs by their correlation, within and across jobs."""
    import altair as alt

    rows = answer.to_pylist()
    return (
        charts.base(rows, title="Do tasks peak together?", width=460)
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("low:Q", title="correlation of two tasks' window averages"),
            y=alt.Y("share:Q", title="share of pairs", axis=alt.Axis(format="%")),
            color=alt.Color("scope:N", title="scope"),
            tooltip=charts.tooltips(rows),
        )
    )


CLAIMS = [
    Claim(
        "correlation-across",
        statement="tasks of different jobs are independent (mean correlation)",
        source="assumption of Janus & Rzadca, §2",
        kind="criterion",
        scope=OWN,
        measure=sql(
            "select mean from answer where scope = 'across' limit 1",
            otherwise="no pairs across jobs",
        ),
        criterion=near(0, within=0.02, published="≈ 0"),
    ),
    Claim(
        "correlation-within",
        statement="tasks of one job are independent (mean correlation)",
        source="assumption of Janus & Rzadca, §2",
        kind="criterion",
        scope=OWN,
        measure=sql(
            "select mean from answer where scope = 'within' limit 1",
            otherwise="no pairs within jobs",
        ),
        criterion=near(0, within=0.02, published="≈ 0"),
    ),
]

QUESTION = Experiment(
    name="task_correlation",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    options=["tasks", "hours", "seed"],
    reference="Janus & Rzadca, SoCC'17, §7 (future work)",
)
