"""How tables change from one release to the next, and what stays the same: names, numbers, a digest of the schema.

A column may be added (older stores read it as NULL) or renamed (write its old name down here).  A column that is
removed or gets another type makes older stores unreadable: they have to be ingested again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

RENAMED: Mapping[str, Mapping[str, tuple[str, ...]]] = {}
"""By table: each renamed column's present name, and the names it had before, the first one first."""


def all_names(table: str, column: str) -> tuple[str, ...]:
    """Return the names that stores give a column, from the first it ever had to the present one."""
    return (*RENAMED.get(table, {}).get(column, ()), column)


def column_number(table: str, column: str) -> int:
    """Return the number that identifies a column for ever: 64 bits of a hash of its table and first name.

    Derived rather than listed: a new column needs no second place, and can never take another's number.

    Examples
    --------
    >>> column_number("tasks", "user") == column_number("instance_events", "user")
    False
    """
    text = f"{table}.{all_names(table, column)[0]}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
