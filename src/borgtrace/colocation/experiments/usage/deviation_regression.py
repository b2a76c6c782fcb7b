"""Does a task that uses more CPU also vary more?

Fig. 3 of Janus & Rzadca (SoCC'17): heat maps of long tasks by mean and standard deviation (ddof 0) of their
CPU usage, (a) for one-second samples, (b) for window averages and (c) the tasks of (a) less those of (b), and
the least-squares line of deviation on mean.
Cells are a hundredth of a machine wide and half a hundredth high; only cells with tasks are listed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from borgtrace.colocation import ColocationOptions, Experiment, Study
from borgtrace.colocation.experiments.shared.answers import Row
from borgtrace.colocation.experiments.shared.scopes import PAPER
from borgtrace.colocation.experiments.usage.usage_deviation import BOTH
from borgtrace.kernels.arrays import Numbers
from borgtrace.question import Answer, Claim, Column, charts, near, query_answer, sql

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="series and cell of mean and deviation",
    key=[
        Column(
            "series", "string", "id", "Either inst (one-second samples) or avg (window averages)."
        ),
        Column(
            "mean_cell",
            "int64",
            "rank",
            "The mean lies in [cell, cell + 1) hundredths of a machine.",
        ),
        Column(
            "deviation_cell",
            "int64",
            "rank",
            "The deviation lies in [cell, cell + 1) half hundredths.",
        ),
    ],
    columns=[
        Column("n_tasks", "int64", "count", "Tasks in the cell."),
        Column(
            "slope",
            "float64",
            "1",
            "Slope of the line over all tasks; NULL if all means agree.",
            nullable=True,
        ),
        Column(
            "intercept",
            "float64",
            "fraction",
            "Intercept of that line; NULL if all means agree.",
            nullable=True,
        ),
    ],
)


MEAN_CELL = 0.01
STD_CELL = 0.005


def compute(study: Study, options: ColocationOptions) -> pa.Table:
    """Return both heat maps, and the line of each series on all its rows."""
    pool = study.pool(options)
    return pa.concat_tables(
        heat_map(series, pool.mean(series), pool.std(series)) for series in BOTH
    )


def heat_map(series: str, mean: Numbers, std: Numbers) -> pa.Table:
    """Return the cells with tasks of one series, and its line.

    Parameters
    ----------
    series
        Its name.
    mean, std
        float64 (n,): of each task.
    """
    mean_cell = np.floor(mean / MEAN_CELL)
    deviation_cell = np.floor(std / STD_CELL)
    cell_of_task = np.column_stack((mean_cell, deviation_cell)).astype(np.int64)
    cells, counts = np.unique(cell_of_task, axis=0, return_counts=True)
    slope, intercept = regression(mean, std) or (None, None)
    return pa.table(
        {
            "series": [series] * len(cells),
            "mean_cell": cells[:, 0],
            "deviation_cell": cells[:, 1],
            "n_tasks": counts,
            "slope": pa.array([slope] * len(cells), pa.float64()),
            "intercept": pa.array([intercept] * len(cells), pa.float64()),
        }
    )


def regression(mean: Numbers, std: Numbers) -> tuple[float, float] | None:
    """Return the least-squares slope and intercept of `std` on `mean`; None where all means agree.

    Parameters
    ----------
    mean, std
        float64 (n,) each.

    Examples
    --------
    >>> regression(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]))
    (2.0, 1.0)
    """
    # Centered first: Σx² − n·mean² would cancel, and with equal means the slope has to be seen to be undefined.
    deviation = mean - mean.mean()
    square = float(deviation @ deviation)
    if square == 0:
        return None
    slope = float(deviation @ (std - std.mean())) / square
    return slope, float(std.mean() - slope * mean.mean())


def chart(answer: pa.Table) -> charts.Chart:
    """Draw deviation over mean of each task, for both series and for their difference (Fig. 3)."""
    import altair as alt

    panels = []
    if answer.num_rows:
        panels.append(heat_maps_with_lines(answer))
    difference_rows = query_answer(answer, DIFFERENCES)
    if difference_rows:
        panels.append(heat_map_of_differences(difference_rows))
    return (
        alt.hconcat(*panels)
        .properties(title="Deviation over mean of each task (Fig. 3)")
        .resolve_scale(color="independent")
    )


def heat_maps_with_lines(answer: pa.Table) -> alt.FacetChart:
    """Draw (a) and (b): the number of tasks by mean and deviation, and the least-squares line."""
    import altair as alt

    rows = query_answer(answer, CELLS_AND_LINES)
    base = charts.base(rows, width=230).encode(
        x=alt.X("mean:Q", title="mean CPU usage [machines]"),
        y=alt.Y("deviation:Q", title="standard deviation"),
    )
    cells = base.mark_rect().encode(
        x2=alt.X2("mean_end:Q"),
        y2=alt.Y2("deviation_end:Q"),
        color=alt.Color("n_tasks:Q", title="tasks", scale=alt.Scale(type="log", scheme="blues")),
        tooltip=charts.tooltips(rows, *CELL_FIELDS),
    )
    lines = base.mark_line(color="#e4572e").encode(
        y=alt.Y("line:Q", title="standard deviation"),
        tooltip=charts.tooltips(rows, "mean", "line"),
    )
    return alt.layer(cells, lines).facet(column=charts.columns_of_panels("series"))


def heat_map_of_differences(rows: list[Row]) -> alt.FacetChart:
    """Draw (c): the tasks of (a) less those of (b)."""
    import altair as alt

    color = alt.Color(
        "n_tasks:Q",
        title="tasks, inst − avg",
        scale=alt.Scale(type="symlog", scheme="redblue", domainMid=0),
    )
    return (
        charts.base(rows, width=230)
        .mark_rect()
        .encode(
            x=alt.X("mean:Q", title="mean CPU usage [machines]"),
            y=alt.Y("deviation:Q", title="standard deviation"),
            x2=alt.X2("mean_end:Q"),
            y2=alt.Y2("deviation_end:Q"),
            color=color,
            tooltip=charts.tooltips(rows, *CELL_FIELDS),
        )
        .facet(column=charts.columns_of_panels("series"))
    )


CELL_FIELDS = ("mean", "deviation", "mean_end", "deviation_end", "n_tasks")
"""Fields of the tooltip of a cell."""
CELLS_AND_LINES = """
    select
        if(series = 'inst', '(a) inst', '(b) avg') as series,
        n_tasks,
        mean_cell * 0.01::double as mean,
        mean + 0.01::double as mean_end,
        deviation_cell * 0.005::double as deviation,
        deviation + 0.005::double as deviation_end,
        slope * mean + intercept as line
    from answer
"""
DIFFERENCES = """
    select
        '(c) inst − avg' as series,
        sum(if(series = 'inst', n_tasks, -n_tasks)) as n_tasks,
        mean_cell * 0.01::double as mean,
        mean + 0.01::double as mean_end,
        deviation_cell * 0.005::double as deviation,
        deviation + 0.005::double as deviation_end,
        null as line
    from (select *, row_number() over () as place from answer)
    group by mean_cell, deviation_cell
    having n_tasks <> 0
    order by min(place)
"""


CLAIMS = [
    Claim(
        "S1-fig3-inst-slope",
        statement="the regression of deviation on mean has this slope (inst)",
        source="Janus & Rzadca, SoCC'17, §3.3, Fig. 3",
        scope=PAPER,
        measure=sql(
            "select any_value(slope) from answer where series = 'inst'",
            otherwise="all tasks have the same mean",
        ),
        criterion=near(0.36, relative=0.2),
    ),
    Claim(
        "S1-fig3-inst-intercept",
        statement="the regression of deviation on mean has this intercept (inst)",
        source="Janus & Rzadca, SoCC'17, §3.3, Fig. 3",
        scope=PAPER,
        measure=sql(
            "select any_value(intercept) from answer where series = 'inst'",
            otherwise="all tasks have the same mean",
        ),
        criterion=near(0.015, relative=0.2),
    ),
    Claim(
        "S1-fig3-avg-slope",
        statement="the regression of deviation on mean has this slope (avg)",
        source="Janus & Rzadca, SoCC'17, §3.3, Fig. 3",
        scope=PAPER,
        measure=sql(
            "select any_value(slope) from answer where series = 'avg'",
            otherwise="all tasks have the same mean",
        ),
        criterion=near(0.31, relative=0.2),
    ),
    Claim(
        "S1-fig3-avg-intercept",
        statement="the regression of deviation on mean has this intercept (avg)",
        source="Janus & Rzadca, SoCC'17, §3.3, Fig. 3",
        scope=PAPER,
        measure=sql(
            "select any_value(intercept) from answer where series = 'avg'",
            otherwise="all tasks have the same mean",
        ),
        criterion=near(0.01, relative=0.2),
    ),
]

QUESTION = Experiment(
    name="deviation_regression",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reference="Janus & Rzadca, SoCC'17, Fig. 3",
)
