"""Arrow types of canonical tables, derived from their declaration."""

from functools import cache

import pyarrow as pa

from borgtrace.schema.dialects import RawTable
from borgtrace.schema.tables import TABLES
from borgtrace.schema.types import Column, Table

_SIMPLE = ("int64", "int32", "uint32", "float32", "float64", "string", "bool")
_PLAIN: dict[str, pa.DataType] = {
    **{name: pa.type_for_alias(name) for name in _SIMPLE},
    "enum": pa.string(),
    "list<float32>": pa.list_(pa.float32()),
    "list<int64>": pa.list_(pa.int64()),
}
_RAW: dict[str, pa.DataType] = {"int32": pa.int64(), "enum": pa.int64()}
"""Types that a published record has wider than the column it fills."""


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


def raw_schema(raw: RawTable) -> pa.Schema:
    """Return the Arrow schema of the nested records of a raw table, as BigQuery exports it: every integer is int64.

    Examples
    --------
    >>> from borgtrace.schema.dialects import GOOGLE_2019
    >>> raw_schema(GOOGLE_2019.tables["machine_events"]).field("capacity").type
    StructType(struct<cpus: float, memory: float>)
    """
    fields = _raw_fields(raw)
    fields += [pa.field(inner.name, pa.list_(pa.struct(_raw_fields(inner)))) for inner in raw.lists]
    return pa.schema(fields)


def _raw_fields(raw: RawTable) -> list[pa.Field]:
    # Insertion order keeps the fields of a record together and in published order, wherever they are listed.
    nested: dict[str, list[tuple[str, pa.DataType]]] = {}
    for item in raw.fields:
        column = TABLES[raw.table].column(item.column) if item.column else None
        # A field that fills no column is an amount (the sample's memory).
        kind = pa.float32() if column is None else _RAW.get(column.type, _PLAIN[column.type])
        nested.setdefault(item.path[0], []).append((".".join(item.path[1:]), kind))
    return [
        pa.field(name, parts[0][1] if parts[0][0] == "" else pa.struct(parts))
        for name, parts in nested.items()
    ]
