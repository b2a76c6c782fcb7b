"""The derived tables that several questions share: their declaration and how each is built."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import ibis

from borgtrace.lifecycle.attempts import attempts, key_of
from borgtrace.lifecycle.occupancy import occupancy
from borgtrace.lifecycle.order import in_order
from borgtrace.schema import TABLES, Dialect, Table
from borgtrace.schema.tables import read_declarations
from borgtrace.schema.time import WINDOW


def transitions(events: ibis.Table, dialect: Dialect) -> ibis.Table:
    """Count, per grid window of 300 s, the pairs (event, next event) of each thing.

    Parameters
    ----------
    events
        ``collection_events`` or ``instance_events``; UPDATE_* events count like all others.
    dialect
        Says how equal times are settled.

    Returns
    -------
    ibis.Table
        ``collection_type``, ``step_time`` (start of the window of the later event, µs), ``from_type``
        (NULL for the first event of a life), ``to_type``, ``n``.
    """
    key = key_of(events)
    # The sort carries what it is given: nothing but what the order and the count need.
    columns = (*key, "time", "type", "collection_type", "source_part", "source_row")
    ordered, order = in_order(events.select(*columns), key, dialect)
    life = ibis.window(group_by=list(key), order_by=list(order))
    # Windows of 300 s: the finest step a question may ask for; all others are multiples of it.
    pairs = ordered.mutate(
        from_type=ordered.type.lag().over(life), step_time=ordered.time // WINDOW * WINDOW
    )
    counted = pairs.group_by("collection_type", "step_time", "from_type", to_type=pairs.type)
    return counted.aggregate(n=pairs.count())


def added(parts: ibis.Table) -> ibis.Table:
    """Add up the counts of several sets of lives."""
    return parts.group_by("collection_type", "step_time", "from_type", "to_type").aggregate(
        n=parts.n.sum()
    )


@dataclass(frozen=True, slots=True)
class Derived:
    """A derived table: its declaration, the table it reads, and ``build(table, dialect)``.

    ``is_per_life`` says that pieces of whole lives may be built one by one; where their rows then share
    keys, ``merge`` makes one table of them.
    """

    table: Table
    reads: str
    build: Callable[[ibis.Table, Dialect], ibis.Table]
    is_per_life: bool = False
    merge: Callable[[ibis.Table], ibis.Table] | None = None


_TABLES = read_declarations(Path(__file__).with_name("derived.columns"), TABLES.values())


def _levels(attempts: ibis.Table, dialect: Dialect) -> ibis.Table:
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
