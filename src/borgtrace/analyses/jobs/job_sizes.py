"""How many tasks do the jobs of each tier have?

Percentiles of the number of tasks of a job, whose tier is that of the highest priority of its tasks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from borgtrace.analyses.shared.attempts import of_jobs
from borgtrace.analyses.shared.quantiles import (
    NOTHING,
    PERCENTS,
    Curve,
    fetch_counts,
    percents_of_curve,
)
from borgtrace.analyses.shared.windows import int_sum, tier
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    Measure,
    NotApplicable,
    Question,
    Row,
    Tables,
    charts,
    near,
)
from borgtrace.question.scopes import OF_2019

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="tier and percentile",
    key=[
        Column("tier", "string", "id", "Tier of the jobs, or all."),
        Column("percent", "float64", "1", "Percentile; 100 is the maximum."),
    ],
    columns=[
        Column("n_tasks", "float64", "count", "Tasks of the job."),
        Column("mean", "float64", "count", "Mean of the tier."),
        Column("n", "int64", "count", "Jobs of the tier."),
    ],
)


REPORTED_PERCENTS = (*PERCENTS, 100.0)


def compute(tables: Tables, *, curve: Curve = "few") -> list[Row]:
    """Return percentiles of the tasks of a job, for all jobs and per tier.

    Parameters
    ----------
    tables
        The store's tables.
    curve
        At how many percentiles: ``"few"`` for a table, ``"full"`` for every tenth of a percent.
    """
    percents = percents_of_curve(REPORTED_PERCENTS, curve)
    tasks = of_jobs(tables.instance_attempts)
    jobs = tasks.group_by("collection_id").aggregate(
        n_tasks=int_sum(tasks.attempt == 1), priority=tasks.priority.max()
    )
    jobs = jobs.select("n_tasks", tier=tier(tables, jobs.priority))
    tiers = fetch_counts(tables, jobs, jobs.n_tasks, "sizes", ["tier"])
    if not tiers:
        raise NotApplicable("there is no task")
    all_jobs = sum(tiers.values(), NOTHING)
    rows = []
    for (tier_name,), sizes in {("all",): all_jobs, **tiers}.items():
        quantiles = sizes.quantiles(percents)
        for percent, n_tasks in zip(percents, quantiles, strict=True):
            rows.append(
                {
                    "tier": tier_name,
                    "percent": percent,
                    "n_tasks": n_tasks,
                    "mean": sizes.mean(),
                    "n": len(sizes),
                }
            )
    return rows


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the distribution of the number of tasks of a job, by tier."""
    import altair as alt

    rows = answer.to_pylist()
    return (
        charts.base(rows, title="Tasks of a job by tier")
        .mark_line(**charts.steps(rows))
        .encode(
            x=alt.X("n_tasks:Q", title="tasks of the job", **charts.log_scale()),
            y=alt.Y("percent:Q", title="percent of jobs"),
            color=charts.tier_color(rows),
            tooltip=charts.tooltips(rows, "n_tasks", "percent", "tier", "n"),
        )
    )


def percentile_of(tier_name: str, percent: int) -> Measure:
    """Measure how many tasks so many percent of the jobs of a tier have at most."""

    def measure(answer: pa.Table) -> float:
        for row in answer.to_pylist():
            if row["tier"] == tier_name and row["percent"] == percent:
                return float(row["n_tasks"])
        raise NotApplicable(f"no {tier_name} job")

    return measure


CLAIMS = [
    Claim(
        "TIR-tasks-beb-80",
        statement="80 % of the jobs (beb) have at most so many tasks",
        source="Tirmazi et al., EuroSys'20 (tasks per job)",
        scope=OF_2019,
        measure=percentile_of("beb", 80),
        criterion=near(25.0, relative=0.25),
    ),
    Claim(
        "TIR-tasks-beb-95",
        statement="95 % of the jobs (beb) have at most so many tasks",
        source="Tirmazi et al., EuroSys'20 (tasks per job)",
        scope=OF_2019,
        measure=percentile_of("beb", 95),
        criterion=near(498.0, relative=0.25),
    ),
    Claim(
        "TIR-tasks-mid-95",
        statement="95 % of the jobs (mid) have at most so many tasks",
        source="Tirmazi et al., EuroSys'20 (tasks per job)",
        scope=OF_2019,
        measure=percentile_of("mid", 95),
        criterion=near(67.0, relative=0.25),
    ),
    Claim(
        "TIR-tasks-free-95",
        statement="95 % of the jobs (free) have at most so many tasks",
        source="Tirmazi et al., EuroSys'20 (tasks per job)",
        scope=OF_2019,
        measure=percentile_of("free", 95),
        criterion=near(21.0, relative=0.25),
    ),
    Claim(
        "TIR-tasks-production-95",
        statement="95 % of the jobs (production) have at most so many tasks",
        source="Tirmazi et al., EuroSys'20 (tasks per job)",
        scope=OF_2019,
        measure=percentile_of("production", 95),
        criterion=near(3.0, relative=0.25),
    ),
]

QUESTION = Question(
    name="job_sizes",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["instance_events"],
    reference="Tirmazi et al., Borg: the Next Generation, EuroSys'20 (tasks per job)",
)
