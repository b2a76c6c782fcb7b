"""How often is how much of the supplied power drawn?

Measurements without a flag, of the cells that have traces, by thousandths of what a domain can supply. The curve of
*domains* is what Google's notebook on PowerData 2019 draws, twice: its query for cells adds up the same measurements.
The curve of *cells* takes the mean of a cell's domains at each time, all alike, for their sizes are not published.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.power.measurements import is_good, mean
from borgtrace.analyses.shared.histograms import cumulative_share
from borgtrace.question import Answer, Column, Question, Tables, charts

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="level, quantity and bin",
    key=[
        Column(
            "level", "string", "id", "Domains, or cells: the mean of their domains at each time."
        ),
        Column("quantity", "string", "id", "Measured power, or that of production."),
        Column("permille", "int64", "1", "Power in thousandths of what can be supplied, rounded."),
    ],
    columns=[
        Column("n", "int64", "count", "Measurements in the bin."),
        Column("share", "float64", "fraction", "Share of the measurements at most this high."),
    ],
)


_BY = ["level", "quantity"]


def compute(tables: Tables) -> ir.Table:
    """Return the distribution over domains and over cells."""
    rows = tables.power_measurements
    rows = rows.filter(is_good(rows) & rows.cell.isin(tables.dialect.cells))
    names = {"measured": "measured_power_util", "production": "production_power_util"}
    every = ibis.union(
        *(rows.select("cell", "time", quantity=ibis.literal(k), power=v) for k, v in names.items())
    )
    cells = every.group_by(["quantity", "cell", "time"]).aggregate(power=mean(every.power))
    levels = {"domains": every, "cells": cells}
    both = ibis.union(
        *(found.select("quantity", "power", level=ibis.literal(k)) for k, found in levels.items())
    )
    both = both.filter(both.power.notnull())
    # As there: to ten thousandths first, and these to thousandths.
    fine = (both.power * 10_000.0 + 0.5).floor().cast("int64")
    bins = both.group_by(*_BY, permille=((fine + 5) // 10).cast("int64")).aggregate(n=both.count())
    return bins.mutate(share=cumulative_share(bins, "n", "permille", _BY))


def chart(answer: pa.Table) -> alt.FacetChart:
    """Draw: power drawn at most so often."""
    import altair as alt

    # From four to nine tenths, as the notebook does.
    rows = answer.to_pylist()
    return (
        charts.base(rows)
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X(
                "permille:Q",
                title="thousandths of the supply",
                scale=alt.Scale(domain=[400, 900], clamp=True),
            ),
            y=alt.Y("share:Q", title="share of the measurements at most this high"),
            color=alt.Color("level:N", title="level"),
            tooltip=charts.tooltips(rows),
        )
        .facet(column=charts.columns_of_panels("quantity"))
        .properties(title="Power drawn at most so often")
    )


QUESTION = Question(
    name="power_distribution",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    reads=["power_measurements"],
    reference="power_trace_analysis_colab.ipynb, google/cluster-data",
)
