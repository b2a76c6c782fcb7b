"""How is the power that domains draw distributed?

Measurements without a flag, of the cells that have traces, by thousandths of what a domain can supply. The curve of
*domains* is what Google's notebook on PowerData 2019 draws, twice: its query for cells adds up the same measurements.
The curve of *cells* takes the unweighted mean of a cell's domains at each time, because their sizes are not published.
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


CURVE = ["level", "quantity"]


def compute(tables: Tables) -> ir.Table:
    """Return the distribution over domains and over cells."""
    rows = tables.power_measurements
    rows = rows.filter(is_good(rows) & rows.cell.isin(tables.dialect.cells))
    measured = rows.select(
        "cell", "time", quantity=ibis.literal("measured"), power="measured_power_util"
    )
    production = rows.select(
        "cell", "time", quantity=ibis.literal("production"), power="production_power_util"
    )
    domains = measured.union(production)
    cells = domains.group_by(["quantity", "cell", "time"]).aggregate(power=mean(domains.power))
    powers = ibis.union(
        domains.select("quantity", "power", level=ibis.literal("domains")),
        cells.select("quantity", "power", level=ibis.literal("cells")),
    )
    powers = powers.filter(powers.power.notnull())
    # As the notebook rounds: to ten-thousandths first, and these to thousandths.
    ten_thousandths = (powers.power * 10_000.0 + 0.5).floor().cast("int64")
    permille = ((ten_thousandths + 5) // 10).cast("int64")
    bins = powers.group_by(*CURVE, permille=permille).aggregate(n=powers.count())
    return bins.mutate(share=cumulative_share(bins, "n", "permille", CURVE))


def chart(answer: pa.Table) -> alt.FacetChart:
    """Draw the distribution from four to nine tenths of the supply, as the notebook does."""
    import altair as alt

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
