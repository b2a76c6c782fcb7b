"""How tables may change from one release to the next, and what stays the same: numbers of columns, the digest.

A column may be added (older stores read it as NULL) or renamed (its old name goes into `RENAMED`). A column that is
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
    """Return the number that always identifies a column: 64 bits of a hash of its table and first name.

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
    # A column that is renamed keeps its number, and stores keep their digests.
    first_name = all_names(table, column)[0]
    digest = hashlib.blake2b(f"{table}.{first_name}".encode(), digest_size=8)
    return int.from_bytes(digest.digest(), "big")


def names_in_files(table: Table, stored: Collection[str]) -> dict[str, str | None]:
    """Return what stored files call each declared column; None where they lack it.

    Parameters
    ----------
    table
        What this version declares.
    stored
        Names of the columns in the files.

    Examples
    --------
    >>> from borgtrace.schema import TABLES
    >>> names = names_in_files(TABLES["tasks"], {"user"})
    >>> names["user"], names["seconds"]
    ('user', None)
    """
    names_by_column: dict[str, str | None] = {}
    for column in table.names:
        names = [name for name in all_names(table.name, column) if name in stored]
        # The present name, where files hold several.
        names_by_column[column] = names[-1] if names else None
    return names_by_column


def incompatible_columns(
    table: Table, stored: Mapping[str, str], *, is_newer: bool = False
) -> list[str]:
    """Say which columns keep a stored table from being read by this version, and why.

    Parameters
    ----------
    table
        What this version declares.
    stored
        Columns of the stored files with their types.
    is_newer
        Whether a later version wrote them: then columns unknown here are no fault.
    """
    names = names_in_files(table, stored)
    # A missing column is a fault only in the key: others read as NULL.
    missing = [column for column in table.key if names[column] is None]
    faults = [f"{table.name}.{column} is missing" for column in missing]
    for column in table.columns:
        name = names[column.name]
        if name is None:
            continue
        declared = _stored_type(column)
        if stored[name] != declared:
            faults.append(f"{table.name}.{name} is {stored[name]}, not {declared}")
    # An earlier version had these columns: what they hold must not be dropped silently.
    if not is_newer:
        unknown = [name for name in stored if name not in names.values()]
        faults += [f"{table.name}.{name} is no longer a column" for name in unknown]
    return faults


def schema_digest(tables: Iterable[Table]) -> str:
    """Return the SHA-256 of all tables' columns: their numbers and types, in any order and under any name."""
    columns = []
    for table in tables:
        for column in table.columns:
            columns.append((column_number(table.name, column.name), _stored_type(column)))
    return hashlib.sha256(repr(sorted(columns)).encode()).hexdigest()


def _stored_type(column: Column) -> str:
    # An enumeration is stored by name: a new name does not change its column.
    return "string" if column.type == "enum" else column.type
