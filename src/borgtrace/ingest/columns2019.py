"""How v3 records become canonical columns: derived from the declarations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from borgtrace.schema import TABLES, Column
from borgtrace.schema.raw2019 import RAW_2019, V3Field

_SQL = {
    "int64": "BIGINT",
    "int32": "INTEGER",
    "enum": "INTEGER",
    "float": "FLOAT",
    "string": "VARCHAR",
    "bool": "BOOLEAN",
}
CONSTRAINT = "constraint"
MACHINE = "machine_id"
SENTINELS: dict[str, tuple[int, ...]] = {
    "machine_id": (0, -1),
    "alloc_collection_id": (0,),
    "alloc_instance_index": (-1,),
    "parent_collection_id": (0,),
}
"""Constants that mean "none" (NO_MACHINE, DEDICATED_MACHINE, NO_ALLOC_COLLECTION, NO_ALLOC_INDEX)."""


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
    mandatory = RAW_2019[table].mandatory
    found = []
    for column in TABLES[table].columns:
        source = column.source.get("2019")
        if isinstance(source, str) and source.startswith(f"{table}."):
            path = tuple(source.split(".")[1:])
            found.append(V3Column(column, path, path[0] in mandatory))
    return tuple(found)


def read_types(table: str) -> dict[str, str]:
    """Return DuckDB types of a v3 table's fields, for its JSON reader."""
    return {field.name: _sql_type(field) for field in RAW_2019[table].fields}


def _sql_type(field: V3Field) -> str:
    if field.type == "record":
        inner = ", ".join(f'"{part.name}" {_sql_type(part)}' for part in field.fields)
        base = f"STRUCT({inner})"
    else:
        base = _SQL[field.type]
    return f"{base}[]" if field.repeated else base


def has_machine(table: str) -> bool:
    """Whether rows of a table name the machine they are on (and so may be on a dedicated one)."""
    return "is_on_dedicated_machine" in TABLES[table].names
