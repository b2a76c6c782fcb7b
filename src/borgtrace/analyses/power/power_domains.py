"""How much of what it can supply does each power domain draw, and which measurements are good?

The lowest and the highest measured power, and the means of measured power and of the estimate for production, of each
domain and of each cell (`all`), over all measurements, as in Google's notebook on PowerData 2019. `length` sets
periods, such as the hours over which the notebook draws a domain. Further columns leave out the measurements that the
notebook leaves out later. It uses those where both flags, *bad measurement data* and *bad production power data*, are
false; but the format document says that false means low confidence. The two readings contradict each other, so both are
counted. The names of the flags, and the published rows, few of which carry the first flag, support the notebook.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.power.measurements import DOMAIN, is_good, mean
from borgtrace.analyses.shared.columns import POWER_DOMAIN
from borgtrace.analyses.shared.histograms import period
from borgtrace.question import Answer, Column, Question, Row, Tables, charts
from borgtrace.schema.bounds import Bounds
from borgtrace.schema.time import DAY, TRACE_START, WINDOW, Microseconds

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="power domain and period",
    key=[
        *POWER_DOMAIN,
        Column(
            "period",
            "int64",
            "id",
            "Period since the start of the trace, from 0: the whole trace by default.",
        ),
    ],
    columns=[
        Column("n", "int64", "count", "Measurements of five minutes."),
        Column(
            "n_good_notebook",
            "int64",
            "count",
            "Of these, good as the notebook reads the flags: neither is set.",
        ),
        Column(
            "n_good_document",
            "int64",
            "count",
            "Of these, good as the document says: both are set, for false means low confidence.",
        ),
        Column(
            "n_bad_measurement", "int64", "count", "Of these, with the flag of the measured power."
        ),
        Column(
            "n_bad_production",
            "int64",
            "count",
            "Of these, with the flag of the estimate for production.",
        ),
        Column(
            "measured_lowest",
            "float64",
            "fraction",
            "Lowest measured power, flagged or not.",
            nullable=True,
        ),
        Column(
            "measured_highest",
            "float64",
            "fraction",
            "Highest measured power, flagged or not.",
            nullable=True,
        ),
        Column(
            "measured_mean",
            "float64",
            "fraction",
            "Mean measured power, flagged or not.",
            nullable=True,
        ),
        Column(
            "production_mean",
            "float64",
            "fraction",
            "Mean power of production, flagged or not.",
            nullable=True,
        ),
        Column(
            "measured_lowest_good",
            "float64",
            "fraction",
            "Lowest measured power that the notebook calls good.",
            nullable=True,
        ),
        Column(
            "measured_highest_good",
            "float64",
            "fraction",
            "Highest measured power that the notebook calls good.",
            nullable=True,
        ),
        Column(
            "production_mean_good",
            "float64",
            "fraction",
            "Mean power of production that the notebook calls good.",
            nullable=True,
        ),
    ],
)


def compute(
    tables: Tables, *, length: Annotated[Microseconds, Bounds(WINDOW, 366 * DAY)] = 31 * DAY
) -> ir.Table:
    """Return counts and extremes of each domain and of each cell by period."""
    domains = tables.power_measurements
    rows = domains.union(domains.mutate(pdu=ibis.literal("all")))
    good = is_good(rows)
    has_both_flags = rows.bad_measurement_data & rows.bad_production_power_data
    power = rows.measured_power_util
    production = rows.production_power_util
    by_period = rows.group_by(*DOMAIN, period=period(rows.time, length, TRACE_START))
    return by_period.aggregate(
        n=rows.count(),
        n_good_notebook=rows.count(where=good),
        n_good_document=rows.count(where=has_both_flags),
        n_bad_measurement=rows.count(where=rows.bad_measurement_data),
        n_bad_production=rows.count(where=rows.bad_production_power_data),
        measured_lowest=power.min(),
        measured_highest=power.max(),
        measured_mean=mean(power),
        production_mean=mean(production),
        measured_lowest_good=power.min(where=good),
        measured_highest_good=power.max(where=good),
        production_mean_good=mean(production, good),
    )


def chart(answer: pa.Table) -> alt.Chart | alt.FacetChart:
    """Draw the range of each domain, or both means where there are several periods."""
    rows = answer.to_pylist()
    has_periods = any(row["period"] for row in rows)
    return means_by_period(rows) if has_periods else range_of_each_domain(rows)


def means_by_period(rows: list[Row]) -> alt.FacetChart:
    """Draw mean measured power and that of production over periods, a panel for each domain."""
    import altair as alt

    labels = {"measured_mean": "measured", "production_mean": "production"}
    rows = charts.melted(rows, labels)
    return (
        charts.base(rows, width=200, height=80)
        .mark_line()
        .encode(
            x=alt.X("period:Q", title="period since the start of the trace"),
            y=alt.Y("value:Q", title="share of the supply"),
            color=alt.Color("series:N", title=None, sort=list(labels.values())),
            detail="cell:N",
            tooltip=charts.tooltips(rows, "period", "value", "series", "cell"),
        )
        .facet(facet=charts.wrapped_panels("pdu"), columns=4)
        .properties(title="Power over time")
    )


def range_of_each_domain(rows: list[Row]) -> alt.Chart:
    """Draw lowest and highest measured power of each domain."""
    import altair as alt

    rows = [{**row, "domain": f"{row['cell']} {row['pdu']}"} for row in rows]
    return (
        charts.base(rows, title="Power of each domain", height=None)
        .mark_rule()
        .encode(
            x=alt.X("measured_lowest:Q", title="measured power, share of the supply"),
            x2="measured_highest:Q",
            y=alt.Y("domain:N", title=None),
            tooltip=charts.tooltips(rows, "measured_lowest", "domain", "measured_highest", "n"),
        )
    )


QUESTION = Question(
    name="power_domains",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    reads=["power_measurements"],
    reference="power_trace_analysis_colab.ipynb, google/cluster-data",
)
