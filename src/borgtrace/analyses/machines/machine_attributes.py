"""What is known about machines besides their size?

One row per attribute name: how many machines ever had it, with how many values, how often it changed and
how often it was deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.question import Answer, Column, Question, Tables, charts

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="attribute name",
    key=[Column("name", "string", "id", "Name of the attribute (hash).")],
    columns=[
        Column("n_machines", "int64", "count", "Machines that ever had it."),
        Column("n_values", "int64", "count", "Distinct values."),
        Column("n_changes", "int64", "count", "Rows of the table about it."),
        Column("n_deletions", "int64", "count", "Of these, deletions."),
    ],
)


def compute(tables: Tables) -> ir.Table:
    """Return machines, values and changes per attribute."""
    changes = tables.machine_attributes
    return changes.group_by("name").aggregate(
        n_machines=changes.machine_id.nunique(),
        # A deletion has no value: NULL is not counted among the distinct ones.
        n_values=changes.value.nunique(),
        n_changes=changes.count(),
        n_deletions=changes.count(where=changes.is_deleted),
    )


def chart(answer: pa.Table) -> alt.Chart:
    """Draw for each attribute how many values it has and how often it changed."""
    import altair as alt

    rows = answer.to_pylist()
    return (
        charts.base(rows, title="Attributes of machines")
        .mark_point(filled=True, opacity=0.6)
        .encode(
            x=alt.X("n_values:Q", title="distinct values", **charts.count_scale()),
            y=alt.Y("n_changes:Q", title="changes", **charts.count_scale()),
            size=alt.Size("n_machines:Q", title="machines", scale=alt.Scale(range=[15, 300])),
            tooltip=charts.tooltips(rows),
        )
    )


QUESTION = Question(
    name="machine_attributes",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    reads=["machine_attributes"],
    reference="2011 format document, machine attributes",
)
