"""How often is how much of the supplied power drawn?

Measurements without a flag, of the cells that have traces, by thousandths of what a domain can supply. The curve of
*domains* is what Google's notebook on PowerData 2019 draws, twice: its query for cells adds up the same measurements.
The curve of *cells* takes the mean of a cell's domains at each time, all alike, for their sizes are not published.

Reference: power_trace_analysis_colab.ipynb, google/cluster-data.
"""

import ibis
import ibis.expr.types as ir

from borgtrace.analyses._histograms import cumulative_share
from borgtrace.analyses._power import is_good, mean
from borgtrace.question import Recipe, Tables

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


RECIPE = Recipe.declared(compute, reads=("power_measurements",), order=133)
