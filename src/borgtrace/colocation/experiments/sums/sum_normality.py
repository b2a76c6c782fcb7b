"""Is the total CPU usage of many tasks normally distributed?

Table 1 of Janus & Rzadca (SoCC'17): for N = 10 … 500, random samples of N tasks; the sum over R realizations
of each is tested for normality (Anderson–Darling, mean and variance estimated, 5 %), and the share of
rejected samples is shown. The critical value has two versions: 0.752 (D'Agostino & Stephens 1986), which 5 %
of Gaussian samples exceed, and 0.787 (Stephens 1974), which scipy printed until version 1.16, and so at the
time of the paper: both are in the table and among the claims. The paper takes 10,000 samples per size; 1,000
determine a rate to within ± 3 points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from borgtrace.colocation import ColocationOptions, Experiment, Study
from borgtrace.colocation.experiment import SUMS
from borgtrace.colocation.experiments.shared.answers import Row
from borgtrace.colocation.experiments.shared.scopes import PAPER
from borgtrace.colocation.options import PAPER_SCALE
from borgtrace.colocation.sums.normality import CRITICAL
from borgtrace.colocation.sums.sample_sums import SampleSums
from borgtrace.question import Answer, Claim, Column, charts, near, sql

if TYPE_CHECKING:
    import altair as alt


ANSWER = Answer(
    grain="size of the samples",
    key=[
        Column("size", "int64", "count", "Tasks per sample, N."),
    ],
    columns=[
        Column("n_samples", "int64", "count", "Random samples of N tasks."),
        Column("n_realizations", "int64", "count", "Draws R that each sum is tested on."),
        Column("mean_usage", "float64", "fraction", "Mean total usage of a sample, in machines."),
        Column(
            "rejected",
            "float64",
            "fraction",
            "Share of samples whose normality is rejected at 5 % (critical value 0.752).",
        ),
        Column(
            "rejected_1974", "float64", "fraction", "The same with the older critical value 0.787."
        ),
    ],
)


REALIZATIONS = PAPER_SCALE["realizations"]
"""R of the paper."""


def compute(study: Study, options: ColocationOptions) -> list[Row]:
    """Return rejection rates and mean totals per size."""
    return [rejection_rates(sums, options.realizations) for sums in study.sums(options)]


def rejection_rates(sums: SampleSums, realizations: int) -> Row:
    """Return a row of Table 1.

    Parameters
    ----------
    sums
        Samples of one size.
    realizations
        Draws that each sum was tested on.
    """
    is_rejected = sums.normality > CRITICAL["D'Agostino 1986"]
    is_rejected_1974 = sums.normality > CRITICAL["Stephens 1974"]
    return {
        "size": sums.size,
        "n_samples": len(sums.normality),
        "n_realizations": realizations,
        "mean_usage": float(sums.mean.mean()),
        "rejected": float(is_rejected.mean()),
        "rejected_1974": float(is_rejected_1974.mean()),
    }


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the rejection rate over N, measured and published."""
    import altair as alt

    published = {claim.id: claim.criterion.published for claim in CLAIMS}
    rows = []
    for row in answer.to_pylist():
        claim_id = f"S1-table1-{row['size']}-0.752"
        rows.append({**row, "published": published.get(claim_id)})
    labels = {
        "rejected": "measured (0.752)",
        "rejected_1974": "measured (0.787)",
        "published": "published",
    }
    rows = charts.melted(rows, labels, "rate")
    title = charts.subtitled(
        "Table 1: how often the normality of a total is rejected",
        scale_of_samples(answer),
    )
    return (
        charts.base(rows)
        .mark_line(point=True)
        .encode(
            x=alt.X("size:Q", title="tasks per sample", **charts.log_scale(least=None)),
            y=alt.Y("rate:Q", title="rejected at 5 %", axis=alt.Axis(format="%")),
            color=alt.Color("series:N", title=None),
            tooltip=charts.tooltips(rows),
        )
        .properties(title=title)
    )


def scale_of_samples(answer: pa.Table) -> str:
    """Return how many samples and draws were taken, beside those of the paper."""
    samples = max(answer["n_samples"].to_pylist())
    draws = max(answer["n_realizations"].to_pylist())
    paper = f"the paper: {PAPER_SCALE['samples']:,} of {REALIZATIONS:,}"
    return f"{samples:,} samples per size of {draws:,} draws each ({paper})"


CLAIMS = [
    Claim(
        "S1-table1-10-0.752",
        statement=(
            "normality is rejected for this share of sums of 10 tasks (critical value 0.752)"
        ),
        source="Janus & Rzadca, SoCC'17, Table 1",
        scope=PAPER,
        measure=sql(
            """
            select
                if(n_realizations = 10_000, rejected, null),
                'the published test is on 10,000 realizations'
            from answer
            where size = 10
            """,
            otherwise="the pool has fewer than 10 tasks",
        ),
        criterion=near(0.991, within=0.05),
    ),
    Claim(
        "S1-table1-20-0.752",
        statement=(
            "normality is rejected for this share of sums of 20 tasks (critical value 0.752)"
        ),
        source="Janus & Rzadca, SoCC'17, Table 1",
        scope=PAPER,
        measure=sql(
            """
            select
                if(n_realizations = 10_000, rejected, null),
                'the published test is on 10,000 realizations'
            from answer
            where size = 20
            """,
            otherwise="the pool has fewer than 20 tasks",
        ),
        criterion=near(0.965, within=0.05),
    ),
    Claim(
        "S1-table1-30-0.752",
        statement=(
            "normality is rejected for this share of sums of 30 tasks (critical value 0.752)"
        ),
        source="Janus & Rzadca, SoCC'17, Table 1",
        scope=PAPER,
        measure=sql(
            """
            select
                if(n_realizations = 10_000, rejected, null),
                'the published test is on 10,000 realizations'
            from answer
            where size = 30
            """,
            otherwise="the pool has fewer than 30 tasks",
        ),
        criterion=near(0.923, within=0.05),
    ),
    Claim(
        "S1-table1-50-0.752",
        statement=(
            "normality is rejected for this share of sums of 50 tasks (critical value 0.752)"
        ),
        source="Janus & Rzadca, SoCC'17, Table 1",
        scope=PAPER,
        measure=sql(
            """
            select
                if(n_realizations = 10_000, rejected, null),
                'the published test is on 10,000 realizations'
            from answer
            where size = 50
            """,
            otherwise="the pool has fewer than 50 tasks",
        ),
        criterion=near(0.784, within=0.05),
    ),
    Claim(
        "S1-table1-100-0.752",
        statement=(
            "normality is rejected for this share of sums of 100 tasks (critical value 0.752)"
        ),
        source="Janus & Rzadca, SoCC'17, Table 1",
        scope=PAPER,
        measure=sql(
            """
            select
                if(n_realizations = 10_000, rejected, null),
                'the published test is on 10,000 realizations'
            from answer
            where size = 100
            """,
            otherwise="the pool has fewer than 100 tasks",
        ),
        criterion=near(0.493, within=0.05),
    ),
    Claim(
        "S1-table1-250-0.752",
        statement=(
            "normality is rejected for this share of sums of 250 tasks (critical value 0.752)"
        ),
        source="Janus & Rzadca, SoCC'17, Table 1",
        scope=PAPER,
        measure=sql(
            """
            select
                if(n_realizations = 10_000, rejected, null),
                'the published test is on 10,000 realizations'
            from answer
            where size = 250
            """,
            otherwise="the pool has fewer than 250 tasks",
        ),
        criterion=near(0.183, within=0.05),
    ),
    Claim(
        "S1-table1-500-0.752",
        statement=(
            "normality is rejected for this share of sums of 500 tasks (critical value 0.752)"
        ),
        source="Janus & Rzadca, SoCC'17, Table 1",
        scope=PAPER,
        measure=sql(
            """
            select
                if(n_realizations = 10_000, rejected, null),
                'the published test is on 10,000 realizations'
            from answer
            where size = 500
            """,
            otherwise="the pool has fewer than 500 tasks",
        ),
        criterion=near(0.087, within=0.05),
    ),
    Claim(
        "S1-table1-10-0.787",
        statement=(
            "normality is rejected for this share of sums of 10 tasks (critical value 0.787)"
        ),
        source="Janus & Rzadca, SoCC'17, Table 1",
        scope=PAPER,
        measure=sql(
            """
            select
                if(n_realizations = 10_000, rejected_1974, null),
                'the published test is on 10,000 realizations'
            from answer
            where size = 10
            """,
            otherwise="the pool has fewer than 10 tasks",
        ),
        criterion=near(0.991, within=0.05),
    ),
    Claim(
        "S1-table1-20-0.787",
        statement=(
            "normality is rejected for this share of sums of 20 tasks (critical value 0.787)"
        ),
        source="Janus & Rzadca, SoCC'17, Table 1",
        scope=PAPER,
        measure=sql(
            """
            select
                if(n_realizations = 10_000, rejected_1974, null),
                'the published test is on 10,000 realizations'
            from answer
            where size = 20
            """,
            otherwise="the pool has fewer than 20 tasks",
        ),
        criterion=near(0.965, within=0.05),
    ),
    Claim(
        "S1-table1-30-0.787",
        statement=(
            "normality is rejected for this share of sums of 30 tasks (critical value 0.787)"
        ),
        source="Janus & Rzadca, SoCC'17, Table 1",
        scope=PAPER,
        measure=sql(
            """
            select
                if(n_realizations = 10_000, rejected_1974, null),
                'the published test is on 10,000 realizations'
            from answer
            where size = 30
            """,
            otherwise="the pool has fewer than 30 tasks",
        ),
        criterion=near(0.923, within=0.05),
    ),
    Claim(
        "S1-table1-50-0.787",
        statement=(
            "normality is rejected for this share of sums of 50 tasks (critical value 0.787)"
        ),
        source="Janus & Rzadca, SoCC'17, Table 1",
        scope=PAPER,
        measure=sql(
            """
            select
                if(n_realizations = 10_000, rejected_1974, null),
                'the published test is on 10,000 realizations'
            from answer
            where size = 50
            """,
            otherwise="the pool has fewer than 50 tasks",
        ),
        criterion=near(0.784, within=0.05),
    ),
    Claim(
        "S1-table1-100-0.787",
        statement=(
            "normality is rejected for this share of sums of 100 tasks (critical value 0.787)"
        ),
        source="Janus & Rzadca, SoCC'17, Table 1",
        scope=PAPER,
        measure=sql(
            """
            select
                if(n_realizations = 10_000, rejected_1974, null),
                'the published test is on 10,000 realizations'
            from answer
            where size = 100
            """,
            otherwise="the pool has fewer than 100 tasks",
        ),
        criterion=near(0.493, within=0.05),
    ),
    Claim(
        "S1-table1-250-0.787",
        statement=(
            "normality is rejected for this share of sums of 250 tasks (critical value 0.787)"
        ),
        source="Janus & Rzadca, SoCC'17, Table 1",
        scope=PAPER,
        measure=sql(
            """
            select
                if(n_realizations = 10_000, rejected_1974, null),
                'the published test is on 10,000 realizations'
            from answer
            where size = 250
            """,
            otherwise="the pool has fewer than 250 tasks",
        ),
        criterion=near(0.183, within=0.05),
    ),
    Claim(
        "S1-table1-500-0.787",
        statement=(
            "normality is rejected for this share of sums of 500 tasks (critical value 0.787)"
        ),
        source="Janus & Rzadca, SoCC'17, Table 1",
        scope=PAPER,
        measure=sql(
            """
            select
                if(n_realizations = 10_000, rejected_1974, null),
                'the published test is on 10,000 realizations'
            from answer
            where size = 500
            """,
            otherwise="the pool has fewer than 500 tasks",
        ),
        criterion=near(0.087, within=0.05),
    ),
    Claim(
        "S1-table1-mean-10",
        statement="the mean total usage of 10 tasks is this many machines",
        source="Janus & Rzadca, SoCC'17, Table 1",
        scope=PAPER,
        measure=sql(
            "select mean_usage from answer where size = 10",
            otherwise="the pool has fewer than 10 tasks",
        ),
        criterion=near(0.27, relative=0.05),
    ),
    Claim(
        "S1-table1-mean-100",
        statement="the mean total usage of 100 tasks is this many machines",
        source="Janus & Rzadca, SoCC'17, Table 1",
        scope=PAPER,
        measure=sql(
            "select mean_usage from answer where size = 100",
            otherwise="the pool has fewer than 100 tasks",
        ),
        criterion=near(2.74, relative=0.05),
    ),
    Claim(
        "S1-table1-mean-500",
        statement="the mean total usage of 500 tasks is this many machines",
        source="Janus & Rzadca, SoCC'17, Table 1",
        scope=PAPER,
        measure=sql(
            "select mean_usage from answer where size = 500",
            otherwise="the pool has fewer than 500 tasks",
        ),
        criterion=near(13.69, relative=0.05),
    ),
]

QUESTION = Experiment(
    name="sum_normality",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    options=SUMS,
    reference="Janus & Rzadca, SoCC'17, Table 1",
)
