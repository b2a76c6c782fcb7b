"""What is known about machines besides their size?

One row per attribute name: how many machines ever had it, with how many values, how often it changed and
how often it was deleted.

Reference: 2011 format document, machine attributes.
"""

import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.recipe import Recipe, Tables
from borgtrace.recipe.charts import Chart, Plot, axis, count_axis, point


def compute(tables: Tables) -> ir.Table:
    """Return machines, values and changes per attribute."""
    rows = tables.machine_attributes
    return rows.group_by("name").aggregate(
        n_machines=rows.machine_id.nunique(),
        # A deletion has no value: NULL is not counted among the distinct ones.
        n_values=rows.value.nunique(),
        n_changes=rows.count(),
        n_deletions=rows.count(where=rows.is_deleted),
    )


def plot(result: pa.Table) -> Chart:
    """Draw attributes by their values and changes, as large as the number of machines that have them."""
    size = axis("n_machines", "machines", scale={"range": [15, 300]})
    plotted = Plot(result, x=count_axis("n_values"), y=count_axis("n_changes", "changes"), size=size)
    return plotted.add(point(opacity=0.6)).draw("Attributes of machines")


RECIPE = Recipe.declared(compute, plot, reads=("machine_attributes",), order=14)
