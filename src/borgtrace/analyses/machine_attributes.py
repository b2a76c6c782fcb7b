"""What is known about machines besides their size?

One row per attribute name: on how many machines it ever stood, with how many values, how often it
changed and how often it was taken away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.recipe import Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

RESULT = Table(
    "machine_attributes",
    "attribute name",
    ("name",),
    (
        Column("name", "string", "id", "Name of the attribute (hash).", nullable=False),
        Column("n_machines", "int64", "count", "Machines that ever had it.", nullable=False),
        Column("n_values", "int64", "count", "Distinct values.", nullable=False),
        Column("n_changes", "int64", "count", "Rows of the table about it.", nullable=False),
        Column("n_deletions", "int64", "count", "Of these, deletions.", nullable=False),
    ),
)


def compute(tables: Tables) -> ir.Table:
    """Return machines, values and changes per attribute."""
    rows = tables.machine_attributes
    return rows.group_by("name").aggregate(
        n_machines=rows.machine_id.nunique(),
        n_values=rows.value.nunique(),
        n_changes=rows.count(),
        n_deletions=rows.is_deleted.cast("int64").sum(),
    )


def plot(result: pa.Table) -> alt.Chart:
    """Draw attributes by their values and changes, as large as the number of machines that have them."""
    import altair as alt

    from borgtrace.analyses._charts import HEIGHT, WIDTH, count_axis, rows

    scale = alt.Scale(type="symlog")
    chart: alt.Chart = (
        alt.Chart(rows(result), title="Attributes of machines", width=WIDTH, height=HEIGHT)
        .mark_point(filled=True, opacity=0.6)
        .encode(
            x=alt.X("n_values:Q", title="distinct values", scale=scale, axis=count_axis()),
            y=alt.Y("n_changes:Q", title="changes", scale=scale, axis=count_axis()),
            size=alt.Size("n_machines:Q", title="machines", scale=alt.Scale(range=[15, 300])),
            tooltip=["name:N", "n_machines:Q", "n_values:Q", "n_changes:Q", "n_deletions:Q"],
        )
    )
    return chart


RECIPE = Recipe(
    "machine_attributes",
    compute,
    plot,
    RESULT,
    reads=("machine_attributes",),
    reference="2011 format document, machine attributes",
    order=14,
    topic="Machines",
)
