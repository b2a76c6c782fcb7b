"""How v3 records become canonical columns: derived from the declarations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from borgtrace.engine.embedded import SQL_TYPES
from borgtrace.schema import TABLES, Column, RawField
from borgtrace.schema.dialects import GOOGLE_2019

CONSTRAINT = "constraint"
MACHINE = "machine_id"
SENTINELS = GOOGLE_2019.none
"""Constants that mean "none"."""


@dataclass(frozen=True)
class V3Column:
    """One canonical column and the path of its value in a v3 record."""

    column: Column
    path: tuple[str, ...]
    is_mandatory: bool

    @property
    def sql(self) -> str:
        """SQL for the value in a typed record."""
        return ".".join(f'"{name}"' for name in self.path)


@cache
def v3_columns(table: str) -> tuple[V3Column, ...]:
    """Return the canonical columns that a v3 table publishes, in canonical order."""
    by_column = {field.column: field for field in GOOGLE_2019.tables[table].fields}
    return tuple(
        V3Column(column, by_column[column.name].path, by_column[column.name].is_mandatory)
        for column in TABLES[table].columns
        if column.name in by_column
    )


def read_types(table: str) -> dict[str, str]:
    """Return DuckDB types of a v3 table's fields, for its JSON reader."""
    raw = GOOGLE_2019.tables[table]
    types = _nested(raw.fields, table)
    for inner in raw.lists:
        types[inner.name] = f"{_struct(_nested(inner.fields, inner.table))}[]"
    return types


def _nested(fields: tuple[RawField, ...], table: str) -> dict[str, str]:
    types: dict[str, dict[str, str]] = {}
    for field in fields:
        column = TABLES[table].column(field.column) if field.column else None
        kind = "FLOAT" if column is None else "INTEGER" if column.type == "enum" else SQL_TYPES[column.type]
        types.setdefault(field.path[0], {})[".".join(field.path[1:])] = kind
    return {name: _struct(parts) if "" not in parts else parts[""] for name, parts in types.items()}


def _struct(parts: dict[str, str]) -> str:
    inner = ", ".join(f'"{name}" {kind}' for name, kind in parts.items())
    return f"STRUCT({inner})"


def has_machine(table: str) -> bool:
    """Whether rows of a table name the machine they are on (and so may be on a dedicated one)."""
    return "is_on_dedicated_machine" in TABLES[table].names
