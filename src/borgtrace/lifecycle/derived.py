"""The derived tables that several questions share: their declaration and how each is built."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import ibis.expr.types as ir

from borgtrace.lifecycle.attempts import attempts
from borgtrace.lifecycle.occupancy import occupancy
from borgtrace.lifecycle.transitions import added, transitions
from borgtrace.schema import TABLES, Dialect, Table
from borgtrace.schema.tables import read_declarations


@dataclass(frozen=True, slots=True)
class Derived:
    """A derived table: its declaration, the table it reads, and ``build(table, dialect)``.

    ``is_per_life`` says that pieces of whole lives may be built one by one; where their rows then share
    keys, ``merge`` makes one table of them.
    """

    table: Table
    reads: str
    build: Callable[[ir.Table, Dialect], ir.Table]
    is_per_life: bool = False
    merge: Callable[[ir.Table], ir.Table] | None = None


_TABLES = read_declarations(Path(__file__).with_name("derived.columns"), TABLES.values())


def _levels(attempts: ir.Table, dialect: Dialect) -> ir.Table:
    """Build as every derived table is built; attempts are of one shape, whatever the trace."""
    return occupancy(attempts)


DERIVED: Mapping[str, Derived] = {
    derived.table.name: derived
    for derived in (
        Derived(_TABLES["instance_attempts"], "instance_events", attempts, is_per_life=True),
        Derived(_TABLES["collection_attempts"], "collection_events", attempts, is_per_life=True),
        # A window holds events of many lives, so that pieces share keys: their counts are added.
        Derived(_TABLES["instance_transitions"], "instance_events", transitions, True, added),
        Derived(_TABLES["collection_transitions"], "collection_events", transitions, True, added),
        # A level is a sum over all lives: it cannot be built piece by piece.
        Derived(_TABLES["instance_occupancy"], "instance_attempts", _levels),
        Derived(_TABLES["collection_occupancy"], "collection_attempts", _levels),
    )
}
"""Derived tables by name."""
