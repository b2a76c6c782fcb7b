"""How many random seconds of CPU usage determine a task's mean?

Fig. 1 of Janus & Rzadca (SoCC'17): per task with at least k windows, the mean of k random one-second
samples x̄ is compared with the mean of all its window averages ȳ, as (ȳ − x̄) / ȳ; the figure shows its
spread over tasks. Samples are drawn without replacement where windows are equally long (2011), by length
with replacement otherwise (2019); tasks whose averages are all 0 have no relative difference.
"""

import numpy as np
import pyarrow as pa

from borgtrace.colocation import ColocationOptions, Experiment, Study, TaskPool
from borgtrace.colocation.experiment import POOL
from borgtrace.colocation.experiments.shared.answers import Row, spread
from borgtrace.colocation.experiments.shared.columns import spread_columns
from borgtrace.colocation.experiments.shared.scopes import SHAPE
from borgtrace.colocation.tasks.subsets import prefix_means
from borgtrace.kernels.arrays import Numbers
from borgtrace.kernels.hashing import task_keys
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    at_most,
    charts,
    sql,
)

ANSWER = Answer(
    grain="number of samples",
    key=[
        Column("n_samples", "int64", "count", "Random one-second samples k per task."),
    ],
    columns=[
        Column("n_tasks", "int64", "count", "Tasks with at least k windows."),
        *spread_columns("tasks of (mean average − mean of k samples) / mean average"),
    ],
)


SIZES = (1, 2, 5, 10, 15, 20, 50, 100, 200, 500, 1000)
TASKS_AT_A_TIME = 5_000
"""Tasks whose running sums are kept together: 40 MB."""


def compute(study: Study, options: ColocationOptions) -> list[Row]:
    """Return percentiles over tasks of the relative difference, per number of samples."""
    relative = differences(study.pool(options), options.seed)
    rows = []
    for n_samples, of_size in zip(SIZES, relative.T, strict=True):
        known = of_size[np.isfinite(of_size)]
        if known.size:
            rows.append({"n_samples": n_samples, "n_tasks": known.size, **spread(known)})
    NotApplicable.unless(rows, "every task's average usage is 0")
    return rows


def differences(pool: TaskPool, seed: int = 0) -> Numbers:
    """Relative difference of each task for each of :data:`SIZES`, float64 (n, 11); NaN where a task is too short.

    Parameters
    ----------
    pool
        The tasks.
    seed
        Seed of the samples.
    """
    average = pool.mean("avg")
    means = means_of_samples(pool, seed)
    # 0 ÷ 0 for idle tasks, which are set to NaN below.
    with np.errstate(divide="ignore", invalid="ignore"):
        relative: Numbers = (average[:, None] - means) / average[:, None]
    relative[average == 0] = np.nan
    return relative


def means_of_samples(pool: TaskPool, seed: int) -> Numbers:
    """Return the mean of random seconds of each task, for each of :data:`SIZES`; NaN where a task is too short."""
    sizes = np.array(SIZES, np.int64)
    means = np.empty((len(pool), len(sizes)))
    # With unequal windows a mean without replacement would not be that of the weighted distribution.
    if not pool.is_weighted and pool.quantiles is None:
        keys = task_keys(seed, pool.collection_id, pool.instance_index)
        prefix_means(pool.inst, pool.offsets, keys, sizes, means)
        return means
    n_parts = 1 + len(pool) // TASKS_AT_A_TIME
    for tasks in np.array_split(np.arange(len(pool)), n_parts):
        draws = pool.draw(tasks, SIZES[-1], seed)
        running_sums = np.cumsum(draws, axis=1, dtype=np.float64)
        means[tasks] = running_sums[:, sizes - 1] / sizes
    means[pool.n_windows[:, None] < sizes] = np.nan
    return means


def chart(answer: pa.Table) -> charts.Chart:
    """Draw the error of a mean by the number of samples, as boxes over tasks (Fig. 1)."""
    import altair as alt

    rows = answer.to_pylist()
    base = charts.base(rows).encode(
        x=alt.X("n_samples:O", title="random samples per task", axis=alt.Axis(labelAngle=0)),
    )
    whiskers = base.mark_rule().encode(
        y=alt.Y("whisker_low:Q", title="(mean average − mean of samples) / mean average"),
        y2=alt.Y2("whisker_high:Q"),
        tooltip=charts.tooltips(rows),
    )
    boxes = base.mark_bar(size=12, opacity=0.6).encode(
        y=alt.Y("p25:Q", title="(mean average − mean of samples) / mean average"),
        y2=alt.Y2("p75:Q"),
        tooltip=charts.tooltips(rows),
    )
    medians = base.mark_tick(size=12, color="black").encode(
        y=alt.Y("median:Q", title="(mean average − mean of samples) / mean average"),
        tooltip=charts.tooltips(rows),
    )
    title = charts.subtitled(
        "Error of a mean from few samples (Fig. 1)",
        "boxes: quartiles and median over tasks; whiskers: the furthest within 1.5 quartile ranges",
    )
    return alt.layer(whiskers, boxes, medians).properties(title=title)


CLAIMS = [
    Claim(
        "S1-fig1-symmetric",
        statement=(
            "with 15 samples the quartiles lie symmetrically about 0 (distance of their "
            "middle from 0, over their range)"
        ),
        source="Janus & Rzadca, SoCC'17, §3.2, Fig. 1",
        scope=SHAPE,
        measure=sql(
            """
            select coalesce(abs(p75 + p25) / nullif(p75 - p25, 0), 0)
            from answer
            where n_samples = 15
            """,
            otherwise="no task has 15 windows",
        ),
        criterion=at_most(0.25, published="≈ 0"),
    ),
    Claim(
        "S1-fig1-narrows",
        statement="1,000 samples narrow the quartile range of one sample to a small part",
        source="Janus & Rzadca, SoCC'17, §3.2, Fig. 1",
        scope=SHAPE,
        measure=sql(
            """
            select
                many / one,
                if(one is null, 'no task has 1 windows', 'no task has 1000 windows')
            from (
                select
                    max(p75 - p25) filter (n_samples = 1000) as many,
                    max(p75 - p25) filter (n_samples = 1) as one
                from answer
            )
            """,
        ),
        criterion=at_most(0.2, published="≪ 1"),
    ),
]

QUESTION = Experiment(
    name="relative_difference",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    options=(*POOL, "instantaneous"),
    reference="Janus & Rzadca, SoCC'17, Fig. 1",
)
