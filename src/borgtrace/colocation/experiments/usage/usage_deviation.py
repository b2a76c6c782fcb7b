"""How much more does CPU usage vary from second to second than from window to window?

Fig. 2 of Janus & Rzadca (SoCC'17): the standard deviation (ddof 0) of every long task's one-second samples
and of its window averages, as two cumulative distributions over tasks.  Windows weigh by their length in
2019.
"""

from typing import Literal

import numpy as np
import pyarrow as pa

from borgtrace.colocation import ColocationOptions, Experiment, Study
from borgtrace.colocation.experiments.shared.answers import Row
from borgtrace.colocation.experiments.shared.scopes import SHAPE
from borgtrace.question import Answer, Claim, Column, above, at_least, charts, sql

ANSWER = Answer(
    grain="series and share of tasks",
    key=[
        Column(
            "series", "string", "id", "Either inst (one-second samples) or avg (window averages)."
        ),
        Column("share", "float64", "fraction", "Share of the tasks."),
    ],
    columns=[
        Column(
            "deviation",
            "float64",
            "fraction",
            "Standard deviation of CPU usage that this share of the tasks does not exceed.",
        ),
    ],
)


BOTH: tuple[Literal["inst", "avg"], ...] = ("inst", "avg")
# Percents, and two steps more near the end, where the deviations of few tasks lie far apart.
SHARES = np.concatenate((np.arange(100) / 100, [0.995, 0.999, 1.0]))


def compute(study: Study, options: ColocationOptions) -> list[Row]:
    """Return both distributions as quantiles."""
    pool = study.pool(options)
    rows: list[Row] = []
    for series in BOTH:
        deviations = np.quantile(pool.std(series), SHARES)
        for share, deviation in zip(SHARES.tolist(), deviations.tolist(), strict=True):
            rows.append({"series": series, "share": share, "deviation": deviation})
    return rows


def chart(answer: pa.Table) -> charts.Chart:
    """Draw both distributions of the standard deviation over tasks."""
    import altair as alt

    rows = answer.to_pylist()
    return (
        charts.base(rows, title="Standard deviation of a task's CPU usage (Fig. 2)")
        .mark_line()
        .encode(
            x=alt.X("deviation:Q", title="standard deviation [machines]"),
            y=alt.Y("share:Q", title="share of the tasks", axis=alt.Axis(format="%")),
            order="share:Q",
            color=charts.color(
                rows, "series", {"inst": "#e4572e", "avg": "#4c9be8"}, title="CPU usage"
            ),
            tooltip=charts.tooltips(rows),
        )
    )


CLAIMS = [
    Claim(
        "S1-fig2",
        statement="one-second samples vary more than window averages (ratio of the medians)",
        source="Janus & Rzadca, SoCC'17, §3.3, Fig. 2",
        scope=SHAPE,
        measure=sql(
            """
            select
                max(deviation) filter (series = 'inst')
                / nullif(max(deviation) filter (series = 'avg'), 0)
            from answer
            where share = 0.5
            """,
        ),
        criterion=above(1),
    ),
    Claim(
        "S1-fig2-everywhere",
        statement=(
            "one-second samples vary more at all quantiles of tasks (share of the quantiles)"
        ),
        source="Janus & Rzadca, SoCC'17, §3.3, Fig. 2",
        scope=SHAPE,
        measure=sql(
            """
            select avg((seconds.deviation >= windows.deviation)::int)
            from answer as seconds
            join answer as windows using (share)
            where seconds.series = 'inst' and windows.series = 'avg'
            """,
        ),
        criterion=at_least(0.95, published="≈ 1"),
    ),
]

QUESTION = Experiment(
    name="usage_deviation",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reference="Janus & Rzadca, SoCC'17, Fig. 2",
)
