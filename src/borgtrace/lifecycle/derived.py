"""How the derived tables that several questions share are built."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import ibis

from borgtrace.lifecycle.attempts import attempts, key_of
from borgtrace.lifecycle.derived_tables import (
    COLLECTION_ATTEMPTS,
    COLLECTION_OCCUPANCY,
    COLLECTION_TRANSITIONS,
    INSTANCE_ATTEMPTS,
    INSTANCE_OCCUPANCY,
    INSTANCE_TRANSITIONS,
)
from borgtrace.lifecycle.occupancy import occupancy
from borgtrace.lifecycle.order import in_order
from borgtrace.schema import Dialect, Table
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
    # The sort carries all columns: keep only those that the order and the count need.
    columns = (*key, "time", "type", "collection_type", "source_part", "source_row")
    ordered, order = in_order(events.select(*columns), key, dialect)
    life = ibis.window(group_by=list(key), order_by=list(order))
    pairs = ordered.mutate(
        from_type=ordered.type.lag().over(life),
        # Windows of 300 s: the finest step of any question; all other steps are multiples of it.
        step_time=ordered.time // WINDOW * WINDOW,
    )
    grouped = pairs.group_by("collection_type", "step_time", "from_type", to_type=pairs.type)
    return grouped.aggregate(n=pairs.count())


def add_up_transitions(parts: ibis.Table) -> ibis.Table:
    """Add up the counts of several sets of lives."""
    grouped = parts.group_by("collection_type", "step_time", "from_type", "to_type")
    return grouped.aggregate(n=parts.n.sum())


@dataclass(frozen=True, slots=True)
class Derived:
    """A derived table and how it is built.

    Attributes
    ----------
    table
        Its declaration.
    reads
        The table it is built from.
    build
        Builds it from that table and the dialect.
    is_per_life
        Whether pieces of whole lives may be built one by one.
    merge
        Combines the rows of such pieces where they share keys; None where they do not.
    """

    table: Table
    reads: str
    build: Callable[[ibis.Table, Dialect], ibis.Table]
    is_per_life: bool = False
    merge: Callable[[ibis.Table], ibis.Table] | None = None


def occupancy_of_attempts(attempts: ibis.Table, dialect: Dialect) -> ibis.Table:
    """Build occupancy with the arguments that every derived table has; attempts need no dialect.

    Parameters
    ----------
    attempts
        Attempts of collections or of instances.
    dialect
        Not used.
    """
    return occupancy(attempts)


_ALL = (
    Derived(INSTANCE_ATTEMPTS, "instance_events", attempts, is_per_life=True),
    Derived(COLLECTION_ATTEMPTS, "collection_events", attempts, is_per_life=True),
    # A window holds events of many lives, so that pieces share keys: their counts are added.
    Derived(
        INSTANCE_TRANSITIONS,
        "instance_events",
        transitions,
        is_per_life=True,
        merge=add_up_transitions,
    ),
    Derived(
        COLLECTION_TRANSITIONS,
        "collection_events",
        transitions,
        is_per_life=True,
        merge=add_up_transitions,
    ),
    # A level is a sum over all lives: it cannot be built piece by piece.
    Derived(INSTANCE_OCCUPANCY, "instance_attempts", occupancy_of_attempts),
    Derived(COLLECTION_OCCUPANCY, "collection_attempts", occupancy_of_attempts),
)

DERIVED: Mapping[str, Derived] = {derived.table.name: derived for derived in _ALL}
"""Derived tables by name."""
