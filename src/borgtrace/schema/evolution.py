"""How tables change from one release to the next, and what stays the same: names, numbers, a digest of the schema.

A column may be added (older stores read it as NULL) or renamed (write its old name down here).  A column that is
removed or gets another type makes older stores unreadable: they have to be ingested again.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping

from borgtrace.schema.types import Column, Table

RENAMED: Mapping[str, Mapping[str, tuple[str, ...]]] = {}
"""By table: each renamed column's present name, and the names it had before, the first one first."""


def all_names(table: str, column: str) -> tuple[str, ...]:
    """Return the names that stores give a column, from the first it ever had to the present one.

    Parameters
    ----------
    table
        Name of the table.
    column
        Present name of the column.
    """
    return (*RENAMED.get(table, {}).get(column, ()), column)


def column_number(table: str, column: str) -> int:
    """Return the number that identifies a column for ever: 64 bits of a hash of its table and first name.

    Derived rather than listed: a new column needs no second place, and can never take another's number.

    Parameters
    ----------
    table
        Name of the table.
    column
        Present name of the column.

    Examples
    --------
    >>> column_number("tasks", "user") == column_number("instance_events", "user")
    False
    """
    # The first name: a column that is renamed keeps its number, and stores keep their digests.
    text = f"{table}.{all_names(table, column)[0]}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def held_names(table: Table, held: Collection[str]) -> dict[str, str | None]:
    """Return what files with the columns `held` call each declared column; None where they lack it.

    Parameters
    ----------
    table
        What this version declares.
    held
        Names of the columns in the files.

    Examples
    --------
    >>> from borgtrace.schema import TABLES
    >>> held_names(TABLES["tasks"], {"user"})["user"], held_names(TABLES["tasks"], {"user"})["seconds"]
    ('user', None)
    """
    names = {
        column: [name for name in all_names(table.name, column) if name in held]
        for column in table.names
    }
    # The present name, where files hold several.
    return {column: found[-1] if found else None for column, found in names.items()}


def incompatible_columns(
    table: Table, held: Mapping[str, str], *, is_newer: bool = False
) -> list[str]:
    """Say which columns keep a stored table from being read by this version, and why.

    Parameters
    ----------
    table
        What this version declares.
    held
        Columns of the stored files with their types.
    is_newer
        Whether a later version wrote them: then columns unknown here are no fault.
    """
    names = held_names(table, held)
    faults = [f"{table.name}.{column} is missing" for column in table.key if names[column] is None]
    # A column that is lacking is no fault, unless it is one of the key: it reads as NULL.
    for column in table.columns:
        stored = names[column.name]
        if stored is not None and held[stored] != (declared := _stored_type(column)):
            faults.append(f"{table.name}.{stored} is {held[stored]}, not {declared}")
    # Unknown to us, but of an earlier version: it was removed, and dropping what it holds must not happen silently.
    if not is_newer:
        unknown = [name for name in held if name not in names.values()]
        faults += [f"{table.name}.{name} is no longer a column" for name in unknown]
    return faults


def schema_digest(tables: Iterable[Table]) -> str:
    """Return the SHA-256 of all tables' columns: their numbers and types, in any order and under any name."""
    numbered = sorted(
        (column_number(table.name, column.name), _stored_type(column))
        for table in tables
        for column in table.columns
    )
    return hashlib.sha256(repr(numbered).encode()).hexdigest()


def _stored_type(column: Column) -> str:
    # An enumeration is stored by name: to gain a name does not change its column.
    return "string" if column.type == "enum" else column.type
