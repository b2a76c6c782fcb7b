"""Ibis types of canonical tables, derived from their declaration: the same on every engine."""

from functools import cache

import ibis

from borgtrace.schema import Table

_DTYPES = {
    "enum": "string",
    "bool": "boolean",
    "list<float32>": "array<float32>",
    "list<int64>": "array<int64>",
}
"""Where Ibis has another word for a column type; elsewhere the words agree."""


@cache
def ibis_schema(table: Table) -> ibis.Schema:
    """Return the Ibis schema of a table; all columns nullable, as SQL engines see any query.

    Examples
    --------
    >>> from borgtrace.schema import TABLES
    >>> ibis_schema(TABLES["machine_events"])["cpu_capacity"]
    Float32(nullable=True)
    """
    dtypes = {column.name: _DTYPES.get(column.type, column.type) for column in table.columns}
    return ibis.schema(dtypes)
