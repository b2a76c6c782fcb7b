"""What is known about machines besides their size?

One row per attribute name: how many machines ever had it, with how many values, how often it changed and
how often it was deleted.

Reference: 2011 format document, machine attributes.
"""

import ibis.expr.types as ir

from borgtrace.question import Recipe, Tables


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


RECIPE = Recipe.declared(compute, reads=("machine_attributes",), order=14)
