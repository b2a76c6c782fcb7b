"""Arrow types of tables, derived from their declaration."""

from functools import cache

import pyarrow as pa

from borgtrace.schema.dialects import RawTable
from borgtrace.schema.dialects.raw import RawField
from borgtrace.schema.tables import TABLES
from borgtrace.schema.types import Column, ColumnType, Table

_TYPES: dict[ColumnType, pa.DataType] = {
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
_RAW_TYPES: dict[ColumnType, pa.DataType] = _TYPES | {
    "int32": pa.int64(),
    "enum": pa.int64(),
}
"""Types of published records, which have every integer as int64."""


def arrow_field(column: Column) -> pa.Field:
    """Return the Arrow field of a column."""
    return pa.field(column.name, _TYPES[column.type], nullable=column.nullable)


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
    """Return the Arrow schema of the nested records of a raw table, as BigQuery exports it.

    Examples
    --------
    >>> from borgtrace.schema.dialects import GOOGLE_2019
    >>> raw_schema(GOOGLE_2019.tables["machine_events"]).field("capacity").type
    StructType(struct<cpus: float, memory: float>)
    """
    fields = _raw_fields(raw)
    for inner in raw.lists:
        record = pa.struct(_raw_fields(inner))
        fields.append(pa.field(inner.name, pa.list_(record)))
    return pa.schema(fields)


def _raw_fields(raw: RawTable) -> list[pa.Field]:
    # Insertion order keeps the fields of a record together and in published order, wherever they are listed.
    records: dict[str, list[tuple[str, pa.DataType]]] = {}
    for field in raw.fields:
        root, *rest = field.path
        records.setdefault(root, []).append((".".join(rest), _raw_type(raw, field)))
    fields = []
    for name, parts in records.items():
        inner_name, inner_type = parts[0]
        is_record = inner_name != ""
        fields.append(pa.field(name, pa.struct(parts) if is_record else inner_type))
    return fields


def _raw_type(raw: RawTable, field: RawField) -> pa.DataType:
    if not field.column:
        # A field that fills no column is an amount (the sample's memory).
        return pa.float32()
    return _RAW_TYPES[TABLES[raw.table].column(field.column).type]
