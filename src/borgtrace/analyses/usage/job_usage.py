"""How much of all usage is that of the largest jobs, and what do they cost the others?

The usage of a job is Σ average × length over the windows of all its tasks, in hours of the largest machine's CPU
(NCU-hours) or memory (NMU-hours). Of jobs with usage: the share of the largest, the tail by the least-squares line of
log P(X ≥ x) on log x (jobs above 1 hour, up to the 99.99th percentile) and by Hill's estimator (all above it), and C² =
variance ÷ mean². In a queue that serves one job at a time (M/G/1) at load ρ, a job waits (C² + 1) ÷ 2 · ρ ÷ (1 − ρ)
mean services: the column *wait* shows how much of that remains if the largest jobs run elsewhere. The question is not
answered on a sample of the jobs, which has other shares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from borgtrace.analyses.shared.attempts import of_jobs
from borgtrace.analyses.shared.power_law import continuous_exponent, regression_exponent
from borgtrace.analyses.shared.windows import HOUR_SECONDS, RESOURCES, amount, int_sum, regular
from borgtrace.kernels.arrays import Numbers
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    Measure,
    NotApplicable,
    Question,
    Row,
    Tables,
    above,
    at_least,
    charts,
    near,
    query_answer,
)
from borgtrace.question.scopes import LIKE_MONTH_2019, MONTH_2011

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="resource and share of the largest jobs",
    key=[
        Column("resource", "string", "id", "Resource: cpu or memory."),
        Column(
            "top", "float64", "fraction", "Share of the jobs, the largest ones; 0 is none of them."
        ),
    ],
    columns=[
        Column("n_jobs", "int64", "count", "Jobs in this share."),
        Column(
            "least",
            "float64",
            "h",
            "Usage of the smallest of them; NULL where there is none.",
            nullable=True,
        ),
        Column("share", "float64", "fraction", "Their share of all usage."),
        Column(
            "squared_cv",
            "float64",
            "1",
            "C² of the usage of all other jobs; NULL where they use nothing.",
            nullable=True,
        ),
        Column(
            "wait",
            "float64",
            "1",
            "Mean wait of the other jobs in an M/G/1 queue, in mean services, per ρ ÷ (1 − ρ).",
            nullable=True,
        ),
        Column(
            "mean",
            "float64",
            "h",
            "Mean usage of a job, the same in every row of the resource, as all that follows.",
        ),
        Column("median", "float64", "h", "Median usage of a job."),
        Column("variance", "float64", "h²", "Variance of the usage of jobs (ddof 0)."),
        Column("n", "int64", "count", "Jobs with usage windows."),
        Column("n_tail", "int64", "count", "Of these, jobs that used more than one hour."),
        Column(
            "alpha",
            "float64",
            "1",
            "Exponent of the tail by the line through it; NULL below three points.",
            nullable=True,
        ),
        Column("r_squared", "float64", "1", "R² of that line.", nullable=True),
        Column(
            "alpha_hill",
            "float64",
            "1",
            "Exponent of the tail by Hill's estimator; NULL without a tail.",
            nullable=True,
        ),
    ],
)


BITS = 24
"""Digits behind the point of a job's sum: a month of 10,000 largest machines takes 59 bits."""
TOPS = tuple(base * 10**power for power in range(5) for base in (1, 2, 5))
"""One in so many jobs is among the largest: 100 is the top 1 %."""
TAIL = 1.0
"""Where the tail begins, h."""
LAST_PERCENT = 99.99
"""The line is fitted to jobs up to this percentile."""


def compute(tables: Tables) -> list[Row]:
    """Return the shares of the largest jobs, the tail and its cost, by resource."""
    rows = []
    for resource, usage in usage_of_jobs(tables).items():
        if usage.any():
            rows += rows_of_resource(resource, usage)
    return rows


def usage_of_jobs(tables: Tables) -> dict[str, Numbers]:
    """Return the resource-hours of each job with windows, by resource; both arrays are in the order of the jobs.

    Raises
    ------
    NotApplicable
        Where the store holds a sample of the jobs, or no job used anything.
    """
    if tables.coverage.is_sample:
        raise NotApplicable("needs all jobs: a sample of them has other shares")
    windows = of_jobs(regular(tables.instance_usage))
    sums = {}
    for name in RESOURCES:
        used = amount(windows[f"average_{name}"], windows.seconds, BITS)
        sums[name] = int_sum(used).fill_null(0)
    by_job = windows.group_by("collection_id").aggregate(**sums)
    jobs = tables.fetch(by_job, "jobs").sort_by("collection_id")
    usage = {name: jobs[name].to_numpy() / float(2**BITS) / HOUR_SECONDS for name in RESOURCES}
    if not any(hours.any() for hours in usage.values()):
        raise NotApplicable("no job used anything")
    return usage


def rows_of_resource(resource: str, usage: Numbers) -> list[Row]:
    """Return the rows of one resource.

    Parameters
    ----------
    resource
        Its name.
    usage
        Resource-hours of each job, in any order, shape (n,).
    """
    descending = np.sort(usage)[::-1]
    of_all_jobs = statistics_of_jobs(descending)
    n_jobs_by_top = {0.0: 0}
    for one_in in TOPS:
        if len(descending) >= one_in:
            n_jobs_by_top[1 / one_in] = len(descending) // one_in
    rows = []
    for top, n_jobs in n_jobs_by_top.items():
        of_largest_jobs = statistics_of_largest(descending, n_jobs)
        rows.append({"resource": resource, "top": top, **of_largest_jobs, **of_all_jobs})
    return rows


def statistics_of_jobs(usage: Numbers) -> Row:
    """Return the columns that are the same in every row of a resource; usage is descending."""
    tail = usage[usage > TAIL]
    fitted = tail[tail <= np.percentile(usage, LAST_PERCENT)]
    alpha, r_squared = regression_exponent(usage, fitted)
    alpha_hill = None
    if len(tail):
        alpha_hill = continuous_exponent(tail, np.ones(len(tail), np.int64), TAIL)
    return {
        "mean": float(usage.mean()),
        "median": float(np.median(usage)),
        "variance": float(usage.var()),
        "n": len(usage),
        "n_tail": len(tail),
        "alpha": alpha,
        "r_squared": r_squared,
        "alpha_hill": alpha_hill,
    }


def statistics_of_largest(usage: Numbers, n_jobs: int) -> Row:
    """Return the columns about the `n_jobs` largest jobs, and about all others; usage is descending."""
    others = usage[n_jobs:]
    mean = others.mean() if len(others) else 0.0
    squared_cv = float(others.var() / mean**2) if mean > 0 else None
    return {
        "n_jobs": n_jobs,
        "least": float(usage[n_jobs - 1]) if n_jobs else None,
        "share": float(usage[:n_jobs].sum() / usage.sum()),
        "squared_cv": squared_cv,
        "wait": None if squared_cv is None else (squared_cv + 1) / 2,
    }


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the share of jobs that use so much or more, on logarithmic axes."""
    import altair as alt

    rows = query_answer(answer, "select * from answer where least > 0")
    return (
        charts.base(rows, title="Share of jobs that use so much or more")
        .mark_line(point=True)
        .encode(
            x=alt.X(
                "least:Q",
                title="hours of the largest machine, at least",
                **charts.log_scale(least=None),
            ),
            y=alt.Y("top:Q", title="share of the jobs", **charts.log_scale(least=None)),
            color=alt.Color("resource:N", title="resource", legend=charts.legend("resource")),
            tooltip=charts.tooltips(rows, "least", "top", "resource", "n_jobs", "share"),
        )
    )


def column_of(column: str, resource: str, *, top: float) -> Measure:
    """Measure a column of the row of a resource and of a share of the largest jobs."""

    def measure(answer: pa.Table) -> float:
        for row in answer.to_pylist():
            is_row = row["resource"] == resource and row["top"] == top
            if is_row and row[column] is not None:
                return float(row[column])
        raise NotApplicable("the store has too few jobs")

    return measure


CLAIMS = [
    Claim(
        "TIR-cpu-squared_cv-0",
        statement="C² of the usage of jobs (cpu)",
        source="Tirmazi et al., EuroSys'20, Table 2",
        scope=MONTH_2011,
        measure=column_of("squared_cv", "cpu", top=0),
        criterion=near(8375, relative=0.02),
    ),
    Claim(
        "TIR-cpu-share-0.01",
        statement="load of the top 1 % of jobs (cpu)",
        source="Tirmazi et al., EuroSys'20, Table 2",
        scope=MONTH_2011,
        measure=column_of("share", "cpu", top=0.01),
        criterion=near(0.973, relative=0.01),
    ),
    Claim(
        "TIR-cpu-share-0.001",
        statement="load of the top 0.1 % of jobs (cpu)",
        source="Tirmazi et al., EuroSys'20, Table 2",
        scope=MONTH_2011,
        measure=column_of("share", "cpu", top=0.001),
        criterion=near(0.83, relative=0.01),
    ),
    Claim(
        "TIR-cpu-alpha-0",
        statement="exponent of the Pareto tail, by the line (cpu)",
        source="Tirmazi et al., EuroSys'20, Table 2",
        scope=MONTH_2011,
        measure=column_of("alpha", "cpu", top=0),
        criterion=near(0.77, relative=0.05),
    ),
    Claim(
        "TIR-memory-squared_cv-0",
        statement="C² of the usage of jobs (memory)",
        source="Tirmazi et al., EuroSys'20, Table 2",
        scope=MONTH_2011,
        measure=column_of("squared_cv", "memory", top=0),
        criterion=near(11_001, relative=0.02),
    ),
    Claim(
        "TIR-memory-share-0.01",
        statement="load of the top 1 % of jobs (memory)",
        source="Tirmazi et al., EuroSys'20, Table 2",
        scope=MONTH_2011,
        measure=column_of("share", "memory", top=0.01),
        criterion=near(0.986, relative=0.01),
    ),
    Claim(
        "TIR-memory-share-0.001",
        statement="load of the top 0.1 % of jobs (memory)",
        source="Tirmazi et al., EuroSys'20, Table 2",
        scope=MONTH_2011,
        measure=column_of("share", "memory", top=0.001),
        criterion=near(0.893, relative=0.01),
    ),
    Claim(
        "TIR-memory-alpha-0",
        statement="exponent of the Pareto tail, by the line (memory)",
        source="Tirmazi et al., EuroSys'20, Table 2",
        scope=MONTH_2011,
        measure=column_of("alpha", "memory", top=0),
        criterion=near(0.72, relative=0.05),
    ),
    Claim(
        "TIR-top-percent",
        statement="the top 1 % of jobs make nearly all of the load (cpu)",
        source="Tirmazi et al., EuroSys'20, Table 2",
        kind="criterion",
        scope=LIKE_MONTH_2019,
        measure=column_of("share", "cpu", top=0.01),
        criterion=above(0.97, published=0.992),
    ),
    Claim(
        "TIR-straight",
        statement="the tail is a straight line on log-log paper (cpu)",
        source="Tirmazi et al., EuroSys'20, Table 2",
        kind="criterion",
        scope=LIKE_MONTH_2019,
        measure=column_of("r_squared", "cpu", top=0),
        criterion=at_least(0.99, published=0.996),
    ),
]

QUESTION = Question(
    name="job_usage",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["instance_usage"],
    reference="Tirmazi et al., Borg: the Next Generation, EuroSys'20, Table 2",
)
