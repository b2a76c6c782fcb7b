"""What does the total usage of 10, 50 or 500 random tasks look like?

Fig. 5 of Janus & Rzadca (SoCC'17): one random sample of tasks per size, its realized total CPU usage as a
histogram of 60 cells, beside the normal density whose mean and variance are the sums of the tasks' own.
"""

import numpy as np
import pyarrow as pa

from borgtrace.colocation import ColocationOptions, Experiment, Study, TaskPool
from borgtrace.colocation.experiments.shared.scopes import SHAPE
from borgtrace.colocation.sums.row_sums import add_sample
from borgtrace.colocation.tasks.moments import row_moments
from borgtrace.colocation.tasks.subsets import draw_subsets
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    below,
    charts,
    query_answer,
    sql,
)

ANSWER = Answer(
    grain="size of the sample and cell of its total usage",
    key=[
        Column("size", "int64", "count", "Tasks in the sample."),
        Column("cell", "int64", "rank", "Cell of the histogram, from the smallest total."),
    ],
    columns=[
        Column("low", "float64", "fraction", "Lower end of the cell, in machines."),
        Column("high", "float64", "fraction", "Upper end of the cell."),
        Column("density", "float64", "1", "Realized probability density in the cell."),
        Column(
            "normal_density", "float64", "1", "Density of the normal law in the middle of the cell."
        ),
    ],
)


SIZES = (10, 50, 500)
CELLS = 60


def compute(study: Study, options: ColocationOptions) -> pa.Table:
    """Return the histogram of one sample per size."""
    pool = study.pool(options)
    sizes = [size for size in SIZES if size <= len(pool)]
    NotApplicable.unless(
        sizes, f"the pool has {len(pool)} long tasks, the smallest sample needs {SIZES[0]}"
    )
    return pa.concat_tables(
        example_of_size(pool, size, options.realizations, options.seed) for size in sizes
    )


def example_of_size(
    pool: TaskPool,
    size: int,
    realizations: int,
    seed: int,
) -> pa.Table:
    """Return the histogram of the total usage of one random sample.

    Parameters
    ----------
    pool
        Where tasks are drawn from.
    size
        Tasks in the sample.
    realizations
        R, draws per task.
    seed
        Seed of sample and draws.
    """
    # With one seed this is the first sample of its size in Table 1: the same tasks and the same draws.
    tasks = draw_subsets(len(pool), size, 1, seed)[0]
    draws = pool.draw(tasks, realizations, seed)
    total = np.empty(realizations, np.float32)
    add_sample(draws, np.arange(size), total)
    means, stds = row_moments(draws)
    mean = means.sum()
    std = np.sqrt((stds**2).sum())
    density, edges = np.histogram(total.astype(np.float64), CELLS, density=True)
    middle = (edges[1:] + edges[:-1]) / 2
    # The sum of constant tasks is a point: finite where it lies, 0 elsewhere, and no division by 0.
    exponent = np.where(middle == mean, 0.0, -np.inf)
    if std:
        exponent = -0.5 * ((middle - mean) / std) ** 2
    return pa.table(
        {
            "size": np.full(CELLS, size),
            "cell": np.arange(CELLS),
            "low": edges[:-1],
            "high": edges[1:],
            "density": density,
            "normal_density": np.exp(exponent) / ((std or 1.0) * np.sqrt(2 * np.pi)),
        }
    )


def chart(answer: pa.Table) -> charts.Chart:
    """Draw a histogram of the total for each size, with its normal density."""
    import altair as alt

    rows = query_answer(
        answer,
        "select *, (low + high) / 2 as middle, size || ' tasks' as sample from answer",
    )
    base = charts.base(rows, width=190, height=170)
    cells = base.mark_rect(color="#4c9be8").encode(
        x=alt.X("low:Q", title="total CPU usage [machines]", scale=alt.Scale(zero=False)),
        x2=alt.X2("high:Q"),
        y=alt.Y("density:Q", title="density"),
        y2=alt.datum(0),
        tooltip=charts.tooltips(rows, "low", "high", "density", "size", "cell", "normal_density"),
    )
    lines = base.mark_line(color="#e4572e").encode(
        x=alt.X("middle:Q", title="total CPU usage [machines]"),
        y=alt.Y("normal_density:Q", title="density"),
        tooltip=charts.tooltips(
            rows, "middle", "normal_density", "size", "cell", "low", "high", "density"
        ),
    )
    return (
        alt.layer(cells, lines)
        .facet(column=charts.columns_of_panels("sample"))
        .resolve_scale(x="independent", y="independent")
        .properties(title="Total usage of random tasks (Fig. 5)")
    )


CLAIMS = [
    Claim(
        "S1-fig5",
        statement=(
            "the total of 500 tasks is closer to its normal law than the total of 10 (ratio"
            " of the distances)"
        ),
        source="Janus & Rzadca, SoCC'17, §3.6, Fig. 5",
        scope=SHAPE,
        measure=sql(
            """
            select
                large / small,
                if(
                    large is null,
                    'the pool has fewer than 500 tasks',
                    'the pool has fewer than 10 tasks'
                )
            from (
                select
                    sum(distance) filter (size = 500) as large,
                    sum(distance) filter (size = 10) as small
                from (
                    select size, abs(density - normal_density) * (high - low) as distance
                    from answer
                )
            )
            """,
        ),
        criterion=below(1),
    ),
]

QUESTION = Experiment(
    name="sum_examples",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    options=["tasks", "realizations", "seed", "instantaneous"],
    reference="Janus & Rzadca, SoCC'17, Fig. 5",
)
