"""Arrow types of canonical tables, derived from their declaration."""

from __future__ import annotations

from functools import cache

import pyarrow as pa

from borgtrace.schema.types import Column, Table

_PLAIN: dict[str, pa.DataType] = {
    "int64": pa.int64(),
    "int32": pa.int32(),
    "uint32": pa.uint32(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "string": pa.string(),
    "bool": pa.bool_(),
    "enum": pa.string(),
    "list<float32>": pa.list_(pa.float32()),
    "list<int64>": pa.list_(pa.int64()),
}


def arrow_field(column: Column) -> pa.Field:
    """Return the Arrow field of a column."""
    return pa.field(column.name, _PLAIN[column.type], nullable=column.nullable)


@cache
def arrow_schema(table: Table) -> pa.Schema:
    """Return the Arrow schema of a table; enums are strings (Parquet dictionary-encodes them).

    Examples
    --------
    >>> from borgtrace.schema import TABLES
    >>> arrow_schema(TABLES["machine_events"]).field("cpu_capacity").type
    DataType(float)
    """
    return pa.schema([arrow_field(column) for column in table.columns])
