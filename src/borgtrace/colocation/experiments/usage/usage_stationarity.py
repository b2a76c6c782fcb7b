"""Does the distribution of a task's CPU usage change over time?

§3.4 of Janus & Rzadca (SoCC'17): two random windows of Δ samples each of one task are compared by the two-
sample Kolmogorov–Smirnov test at 5 %, for Δ = 12, 24, 36 (one to three hours of five minutes). Window k
holds samples kΔ + 1 … kΔ + Δ; as printed in the paper it ends at kΔ + Δ − 1 and is one sample short: both
are tested, with the exact distribution of the statistic.
"""

import numpy as np
import pyarrow as pa

from borgtrace.colocation import ColocationOptions, Experiment, Study, TaskPool
from borgtrace.colocation.experiments.shared.answers import Row
from borgtrace.colocation.experiments.shared.scopes import PAPER
from borgtrace.kernels.hashing import task_keys
from borgtrace.kernels.kolmogorov import ks_p_value, window_pairs
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    between,
    charts,
    query_answer,
    sql,
)

ANSWER = Answer(
    grain="spacing and length of the windows",
    key=[
        Column(
            "spacing",
            "int64",
            "count",
            "Δ: samples from the start of one window to that of the next.",
        ),
        Column("length", "int64", "count", "Samples in a window: Δ as defined, Δ − 1 as printed."),
    ],
    columns=[
        Column("n_tasks", "int64", "count", "Tasks with at least two windows."),
        Column("rejected", "float64", "fraction", "Share of them whose two windows differ at 5 %."),
    ],
)


SPACINGS = (12, 24, 36)
SIGNIFICANCE = 0.05


def compute(study: Study, options: ColocationOptions) -> list[Row]:
    """Return the share of tasks whose windows differ, for both readings of a window."""
    pool = study.pool(options)
    rows = []
    for spacing in SPACINGS:
        for length in (spacing, spacing - 1):
            n_rejected, n_tested = rejections(pool, spacing, length, options.seed)
            if n_tested:
                rows.append(
                    {
                        "spacing": spacing,
                        "length": length,
                        "n_tasks": n_tested,
                        "rejected": n_rejected / n_tested,
                    }
                )
    NotApplicable.unless(rows, f"no task has two windows of {SPACINGS[0]} samples")
    return rows


def rejections(
    pool: TaskPool,
    spacing: int,
    length: int,
    seed: int = 0,
) -> tuple[int, int]:
    """Return the number of tasks whose two windows differ at 5 %, and the number of tasks with two windows.

    Parameters
    ----------
    pool
        The tasks.
    spacing, length
        Samples from window to window, and in a window.
    seed
        Decides which two windows of a task are compared.
    """
    steps = np.empty(len(pool), np.int64)
    keys = task_keys(seed, pool.collection_id, pool.instance_index)
    window_pairs(pool.inst, pool.offsets, keys, spacing, length, steps)
    # The statistic of two windows of one length is a multiple of 1/length: a few p-values serve all tasks.
    statistics, n_tasks = np.unique(steps[steps >= 0], return_counts=True)
    is_rejected = [ks_p_value(length, statistic) < SIGNIFICANCE for statistic in statistics]
    return int(n_tasks[is_rejected].sum()), int(n_tasks.sum())


def chart(answer: pa.Table) -> charts.Chart:
    """Draw the share of tasks whose windows differ, by their length."""
    import altair as alt

    rows = query_answer(
        answer,
        """
        select *, if(length = spacing, 'as defined', 'as printed') as "window"
        from answer
        """,
    )
    return (
        charts.base(rows, title="Tasks whose usage changes its distribution")
        .mark_bar()
        .encode(
            x=alt.X("spacing:O", title="samples per window", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("rejected:Q", title="rejected at 5 %", axis=alt.Axis(format="%")),
            xOffset="window:N",
            color=alt.Color("window:N", title="window"),
            tooltip=charts.tooltips(rows),
        )
    )


CLAIMS = [
    Claim(
        "S1-ks-12-12",
        statement="two windows of 12 samples (as defined) differ for about 30 % of tasks",
        source="Janus & Rzadca, SoCC'17, §3.4",
        scope=PAPER,
        measure=sql(
            "select rejected from answer where spacing = 12 and length = 12",
            otherwise="no task has two windows of 12 samples",
        ),
        criterion=between(0.2, 0.4, published=0.3),
    ),
    Claim(
        "S1-ks-12-11",
        statement="two windows of 12 samples (as printed) differ for about 30 % of tasks",
        source="Janus & Rzadca, SoCC'17, §3.4",
        scope=PAPER,
        measure=sql(
            "select rejected from answer where spacing = 12 and length = 11",
            otherwise="no task has two windows of 12 samples",
        ),
        criterion=between(0.2, 0.4, published=0.3),
    ),
    Claim(
        "S1-ks-24-24",
        statement="two windows of 24 samples (as defined) differ for about 30 % of tasks",
        source="Janus & Rzadca, SoCC'17, §3.4",
        scope=PAPER,
        measure=sql(
            "select rejected from answer where spacing = 24 and length = 24",
            otherwise="no task has two windows of 24 samples",
        ),
        criterion=between(0.2, 0.4, published=0.3),
    ),
    Claim(
        "S1-ks-24-23",
        statement="two windows of 24 samples (as printed) differ for about 30 % of tasks",
        source="Janus & Rzadca, SoCC'17, §3.4",
        scope=PAPER,
        measure=sql(
            "select rejected from answer where spacing = 24 and length = 23",
            otherwise="no task has two windows of 24 samples",
        ),
        criterion=between(0.2, 0.4, published=0.3),
    ),
    Claim(
        "S1-ks-36-36",
        statement="two windows of 36 samples (as defined) differ for about 30 % of tasks",
        source="Janus & Rzadca, SoCC'17, §3.4",
        scope=PAPER,
        measure=sql(
            "select rejected from answer where spacing = 36 and length = 36",
            otherwise="no task has two windows of 36 samples",
        ),
        criterion=between(0.2, 0.4, published=0.3),
    ),
    Claim(
        "S1-ks-36-35",
        statement="two windows of 36 samples (as printed) differ for about 30 % of tasks",
        source="Janus & Rzadca, SoCC'17, §3.4",
        scope=PAPER,
        measure=sql(
            "select rejected from answer where spacing = 36 and length = 35",
            otherwise="no task has two windows of 36 samples",
        ),
        criterion=between(0.2, 0.4, published=0.3),
    ),
]

QUESTION = Experiment(
    name="usage_stationarity",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reference="Janus & Rzadca, SoCC'17, §3.4",
)
