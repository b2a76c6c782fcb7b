"""Which tasks does the colocation study use, and which were dropped?

The preparation of Janus & Rzadca (SoCC'17, §3.1), step by step, with how many of the tasks that remained each
step affected: failing tasks, tasks that never used CPU, short tasks; then a random sample of at most N. The
last rows count windows: left out because a value is missing, or corrected because their average was above 1.
"""

import pyarrow as pa

from borgtrace.colocation import ColocationOptions, Experiment, Study
from borgtrace.colocation.experiment import POOL
from borgtrace.colocation.experiments.shared.answers import Row
from borgtrace.colocation.experiments.shared.scopes import PAPER, PAPER_MONTH
from borgtrace.question import Answer, Claim, Column, at_most, between, charts, query_answer, sql

ANSWER = Answer(
    grain="step of the preparation",
    key=[
        Column("step", "int64", "rank", "Order of the step."),
    ],
    columns=[
        Column("name", "string", "id", "What was dropped, kept or replaced."),
        Column("unit", "string", "id", "Whether tasks or windows are counted."),
        Column("n_touched", "int64", "count", "How many the step touched."),
        Column("n_before", "int64", "count", "How many there were before the step."),
    ],
)


def compute(study: Study, options: ColocationOptions) -> list[Row]:
    """Return what each step of the preparation touched."""
    rows: list[Row] = []
    for rank, step in enumerate(study.pool(options).steps, 1):
        rows.append(
            {
                "step": rank,
                "name": step.name,
                "unit": step.unit,
                "n_touched": step.count,
                "n_before": step.of,
            }
        )
    return rows


def chart(answer: pa.Table) -> charts.Chart:
    """Draw the share of what was there before that each step touched."""
    import altair as alt

    rows = query_answer(answer, "select *, n_touched / greatest(n_before, 1) as share from answer")
    return (
        charts.base(rows, title="Preparation of the tasks")
        .mark_bar()
        .encode(
            x=alt.X(
                "share:Q",
                title="share of what was there before the step",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format="%"),
            ),
            y=alt.Y("name:N", title=None, sort=None, axis=alt.Axis(labelLimit=380)),
            color=alt.Color("unit:N", title="unit"),
            tooltip=charts.tooltips(rows),
        )
    )


# By the start of a name: the ends of some hold numbers, and a pool from a file may have none of them.
CLAIMS = [
    Claim(
        "S1-zero",
        statement="1.2 % of the tasks never use CPU in a sample",
        source="Janus & Rzadca, SoCC'17, §3.1",
        scope=PAPER,
        measure=sql(
            """
            select n_touched / n_before
            from answer
            where name like 'that never used%' and n_before > 0
            limit 1
            """,
            otherwise="the pool does not record it",
        ),
        criterion=between(0.006, 0.024, published=0.012),
    ),
    Claim(
        "S1-short-tasks",
        statement="95 % of the remaining tasks are shorter than 2 hours",
        source="Janus & Rzadca, SoCC'17, §3.1",
        scope=PAPER,
        measure=sql(
            """
            select n_touched / n_before
            from answer
            where name like 'fewer than%' and n_before > 0
            limit 1
            """,
            otherwise="the pool does not record it",
        ),
        criterion=between(0.93, 0.97, published=0.95),
    ),
    Claim(
        "S1-above-one",
        statement="averages above the whole machine are rare: 13 windows of the trace",
        source="Janus & Rzadca, SoCC'17, §3.1",
        scope=PAPER_MONTH,
        measure=sql(
            """
            select n_touched
            from answer
            where name like 'averages above%' and n_before > 0
            limit 1
            """,
            otherwise="the pool does not record it",
        ),
        criterion=at_most(13, published=13),
    ),
]

QUESTION = Experiment(
    name="colocation_preparation",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    options=(*POOL, "instantaneous", "include"),
    reference="Janus & Rzadca, SoCC'17, §3.1",
)
