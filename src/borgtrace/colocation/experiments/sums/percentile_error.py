"""How far off are the high percentiles of a total if it is assumed to be normal?

Fig. 6 of Janus & Rzadca (SoCC'17): for random samples of N tasks, (F⁻¹(k) − P_k) / P_k at k = 95, 99 and
99.9 %, where F is the normal law whose mean and variance are the sums of the tasks' own (ddof 0) and P_k
the percentile of the realized sums (linear interpolation).  Samples whose P_k is 0 have no relative error.
The samples are those of the question about normality (same seed, same sums).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from borgtrace.colocation import ColocationOptions, Experiment, Study
from borgtrace.colocation.experiment import SUMS
from borgtrace.colocation.experiments.shared.answers import Row, spread
from borgtrace.colocation.experiments.shared.columns import spread_columns
from borgtrace.colocation.experiments.shared.scopes import SHAPE
from borgtrace.colocation.sums.sample_sums import LEVELS, SampleSums
from borgtrace.kernels.arrays import Numbers
from borgtrace.kernels.normal import normal_score
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    at_most,
    below,
    charts,
    query_answer,
    sql,
)

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="size of the samples, percentile and cell of its error",
    key=[
        Column("size", "int64", "count", "Tasks per sample, N."),
        Column("percentile", "float64", "1", "Percentile k of the total, in percent."),
        Column("cell", "int64", "rank", "Cell of the errors, from the least."),
    ],
    columns=[
        Column("low", "float64", "1", "Lower end of the cell."),
        Column("high", "float64", "1", "Upper end of the cell."),
        Column(
            "density", "float64", "1", "Probability density of the error in the cell, over samples."
        ),
        Column("n_samples", "int64", "count", "Samples with a percentile above 0."),
        *spread_columns("samples of (normal − realized percentile) / realized percentile"),
    ],
)


SIZES = (10, 20, 30, 50)
CELLS = 24


def compute(study: Study, options: ColocationOptions) -> list[Row]:
    """Return the distribution over samples of the relative error, per size and percentile."""
    rows = []
    for sums in study.sums(options):
        if sums.size in SIZES:
            rows += error_densities(sums)
    NotApplicable.unless(rows, "all realized percentiles are 0")
    return rows


def error_densities(sums: SampleSums) -> list[Row]:
    """Return the density of the error of each percentile, by cell.

    Parameters
    ----------
    sums
        Samples of one size.
    """
    rows: list[Row] = []
    for level, relative in zip(LEVELS.tolist(), errors(sums).T, strict=True):
        known = relative[np.isfinite(relative)]
        if not known.size:
            continue
        common = {
            "size": sums.size,
            # Rounded, so that claims and readers find 99.9 and not a neighbor of it.
            "percentile": round(100 * level, 6),
            "n_samples": known.size,
            **spread(known),
        }
        densities, edges = np.histogram(known, CELLS, density=True)
        for cell, density in enumerate(densities.tolist()):
            row = {
                "cell": cell,
                "low": float(edges[cell]),
                "high": float(edges[cell + 1]),
                "density": density,
            }
            rows.append(common | row)
    return rows


def errors(sums: SampleSums) -> Numbers:
    """Return the relative error of the normal percentiles, float64 (S, 3); NaN where the realized one is 0.

    Parameters
    ----------
    sums
        S samples.
    """
    normal = sums.mean[:, None] + sums.std[:, None] * normal_score(LEVELS)
    realized = np.where(sums.percentiles > 0, sums.percentiles, np.nan)
    return (normal - realized) / realized


def chart(answer: pa.Table) -> charts.Chart:
    """Draw a violin of the error for each size, in a panel per percentile (Fig. 6)."""
    import altair as alt

    rows = query_answer(answer, VIOLINS)
    base = charts.base(rows, width=230, height=300).encode(
        y=alt.Y("error:Q", title="(normal − realized) / realized", axis=alt.Axis(format="%")),
        detail="size:Q",
    )
    layers = [violins(base, rows), quartiles(base, rows), medians(base, rows)]
    n_samples = max(answer["n_samples"].to_pylist())
    title = charts.subtitled(
        "Error of the percentiles of a normal total (Fig. 6)",
        f"{n_samples:,} samples per size (the paper: 10,000)",
        "bars: quartiles; dots: medians",
    )
    return (
        alt.layer(*layers)
        .facet(column=charts.columns_of_panels("percentile"))
        .resolve_scale(y="independent")
        .properties(title=title)
    )


def violins(base: alt.Chart, rows: list[Row]) -> alt.Chart:
    """Draw the outline of each violin over its place on the x axis."""
    import altair as alt

    sizes = alt.Axis(
        values=list(range(len(SIZES))),
        labelExpr=f"{list(SIZES)}[datum.value]",
        grid=False,
    )
    domain = alt.Scale(domain=[-0.6, 3.6])
    return base.mark_area(orient="horizontal", interpolate="monotone", opacity=0.6).encode(
        x=alt.X("left:Q", title="tasks per sample", axis=sizes, scale=domain),
        x2=alt.X2("right:Q"),
        color=alt.Color("percentile:N", title="percentile", legend=None),
        tooltip=charts.tooltips(rows, "error", "size", "right", "percentile", "left"),
    )


def quartiles(base: alt.Chart, rows: list[Row]) -> alt.Chart:
    """Draw a bar between the quartiles of each violin."""
    import altair as alt

    return base.mark_rule(strokeWidth=4).encode(
        x="place:Q",
        y="p25:Q",
        y2=alt.Y2("p75:Q"),
        tooltip=charts.tooltips(rows, "p25", "size", "place", "p75"),
    )


def medians(base: alt.Chart, rows: list[Row]) -> alt.Chart:
    """Draw a white dot at the median of each violin."""
    dots = base.mark_point(filled=True, size=45, color="white", stroke="black", opacity=1)
    return dots.encode(
        x="place:Q",
        y="median:Q",
        tooltip=charts.tooltips(rows, "median", "size", "place"),
    )


VIOLINS = """
    select
        "size",
        format('{:g} %', percentile) as percentile,
        place,
        (low + high) / 2 as error,
        if(cell = 0, p25, null) as p25,
        if(cell = 0, median, null) as median,
        if(cell = 0, p75, null) as p75,
        place - 0.45 * density / widest as "left",
        place + 0.45 * density / widest as "right"
    from (
        select
            *,
            list_position([10, 20, 30, 50], "size") - 1 as place,
            max(density) over (partition by "size", percentile) as widest
        from answer
    )
    order by place, percentile, cell
"""
"""Outlines of violins, each 0.9 wide at its widest; quartiles and median stand in one row of each."""


CLAIMS = [
    Claim(
        "S1-fig6-median",
        statement="the medians of the error are about 0 (largest at 95 %)",
        source="Janus & Rzadca, SoCC'17, §3.6, Fig. 6",
        scope=SHAPE,
        measure=sql(
            "select max(abs(median)) from answer where percentile = 95",
            otherwise="no such percentile",
        ),
        criterion=at_most(0.05, published="≈ 0"),
    ),
    Claim(
        "S1-fig6-under",
        statement="high percentiles are under-estimated (largest median at 99.9 %)",
        source="Janus & Rzadca, SoCC'17, §3.6, Fig. 6",
        scope=SHAPE,
        measure=sql(
            "select max(median) from answer where percentile = 99.9",
            otherwise="no such percentile",
        ),
        criterion=below(0),
    ),
    Claim(
        "S1-fig6-spread",
        statement="the spread falls with N (quartile range at 99.9 %, 50 tasks over 10)",
        source="Janus & Rzadca, SoCC'17, §3.6, Fig. 6",
        scope=SHAPE,
        measure=sql(
            """
            select
                many / few,
                if(many is null, 'no samples of 50 tasks', 'no samples of 10 tasks')
            from (
                select
                    max(p75 - p25) filter (size = 50) as many,
                    max(p75 - p25) filter (size = 10) as few
                from answer
                where percentile = 99.9
            )
            """,
            otherwise="no such percentile",
        ),
        criterion=below(1),
    ),
]

QUESTION = Experiment(
    name="percentile_error",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    options=SUMS,
    reference="Janus & Rzadca, SoCC'17, Fig. 6",
)
