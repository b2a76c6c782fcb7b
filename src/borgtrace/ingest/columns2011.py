"""How the fields of a 2011 CSV become canonical columns: derived from the declarations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pyarrow as pa

from borgtrace.schema import TABLES, Column, Dialect, RawField, RawTable

_ARROW = {
    "int64": pa.int64(),
    "int32": pa.int32(),
    "float32": pa.float32(),
    "string": pa.string(),
    "bool": pa.bool_(),
    "enum": pa.int8(),
}
TIMES = frozenset({"time", "start_time", "end_time"})
"""Columns that are read as unsigned numbers, because 2⁶⁴−1 means "after the trace"."""


@dataclass(frozen=True)
class RawColumn:
    """One CSV field and the canonical column it fills."""

    field: RawField
    column: Column
    dialect: Dialect

    @property
    def keeps_empty(self) -> bool:
        """Whether an empty field is empty text rather than NULL (a constraint's value)."""
        return self.field.keeps_empty

    @property
    def reader_type(self) -> pa.DataType:
        """Return the Arrow type the CSV reader parses the field as."""
        if self.column.name in TIMES:
            return pa.uint64()
        return _ARROW[self.column.type]

    @property
    def is_mandatory(self) -> bool:
        """Whether an empty field refuses the row."""
        return self.field.is_mandatory

    @property
    def codes(self) -> tuple[str, ...]:
        """Names by code, for an enumeration (2011 codes are 0, 1, 2 …)."""
        table = self.dialect.codes[self.column.enum or ""]
        return tuple(table[code] for code in range(len(table)))


@cache
def raw_columns(dialect: Dialect, raw_name: str, width: int) -> tuple[RawColumn, ...]:
    """Return the columns of a raw 2011 table, in the order of its fields."""
    raw: RawTable = dialect.tables[raw_name]
    table = TABLES[raw.table]
    return tuple(RawColumn(field, table.column(field.column), dialect) for field in raw.fields[:width])
