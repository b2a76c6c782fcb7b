"""How much of what it can supply does each power domain draw, and which measurements are good?

The least and the largest measured power, and the means of measured power and of the estimate for production, of each
domain and of each cell (`all`), as Google's notebook on PowerData 2019 has them: over all measurements. `length` asks
for periods, such as the hours over which it draws a domain. Beside them the same without the measurements that the
notebook leaves out later. It keeps those where both flags, *bad measurement data* and *bad production power data*, are
false; the format document says that false means low confidence. The two readings exclude each other, so both are
counted; the names and the published rows, of which few carry the first flag, are with the notebook.

Reference: power_trace_analysis_colab.ipynb, google/cluster-data.
"""

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses._histograms import period
from borgtrace.analyses._power import DOMAIN, is_good, mean
from borgtrace.question import Recipe, Tables
from borgtrace.question.charts import Chart, Plot, axis, line, rule, series
from borgtrace.schema.time import DAY, TRACE_START, Microseconds


def compute(tables: Tables, *, length: Microseconds = 31 * DAY) -> ir.Table:
    """Return counts and extremes of each domain and of each cell by period."""
    domains = tables.power_measurements
    rows = domains.union(domains.mutate(pdu=ibis.literal("all")))
    good, power, production = is_good(rows), rows.measured_power_util, rows.production_power_util
    return rows.group_by(*DOMAIN, period=period(rows.time, length, TRACE_START)).aggregate(
        n=rows.count(),
        n_good_notebook=rows.count(where=good),
        n_good_document=rows.count(
            where=rows.bad_measurement_data & rows.bad_production_power_data
        ),
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


def plot(result: pa.Table) -> Chart:
    """Draw the range of each domain, or both means over periods."""
    if any(result["period"].to_pylist()):
        y = series("share of the supply", measured_mean="measured", production_mean="production")
        plotted = Plot(result, x=axis("period"), y=y, detail="cell").add(line(), tips=())
        return plotted.facet(wrap="pdu").draw("Power over time", width=200, height=80)
    rows = [{**row, "domain": f"{row['cell']} {row['pdu']}"} for row in result.to_pylist()]
    plotted = Plot(
        rows, x=axis("measured_lowest", "measured power, share of the supply"), y="domain"
    )
    return plotted.add(rule(), x2="measured_highest", tips=("n",)).draw(
        "Power of each domain", height=None
    )


RECIPE = Recipe.declared(compute, plot=plot, reads=("power_measurements",), order=130)
