"""Which event followed which, how often, when."""

import ibis
import ibis.expr.types as ir

from borgtrace.lifecycle.attempts import key_of
from borgtrace.lifecycle.order import in_order
from borgtrace.schema import Dialect
from borgtrace.schema.time import WINDOW


def transitions(events: ir.Table, dialect: Dialect) -> ir.Table:
    """Count, per grid window of 300 s, the pairs (event, next event) of each thing.

    Parameters
    ----------
    events
        ``collection_events`` or ``instance_events``; UPDATE_* events count like all others.
    dialect
        Says how equal times are settled.

    Returns
    -------
    ir.Table
        ``collection_type``, ``step_time`` (start of the window of the later event, µs), ``from_type``
        (NULL for the first event of a life), ``to_type``, ``n``.
    """
    key = key_of(events)
    # The sort carries what it is given: nothing but what the order and the count need.
    columns = (*key, "time", "type", "collection_type", "source_part", "source_row")
    ordered, order = in_order(events.select(*columns), key, dialect)
    life = ibis.window(group_by=list(key), order_by=list(order))
    # Windows of 300 s: the finest step a question may ask for; all others are multiples of it.
    pairs = ordered.mutate(from_type=ordered.type.lag().over(life), step_time=ordered.time // WINDOW * WINDOW)
    counted = pairs.group_by("collection_type", "step_time", "from_type", to_type=pairs.type)
    return counted.aggregate(n=pairs.count())


def added(parts: ir.Table) -> ir.Table:
    """Add up the counts of several sets of lives."""
    return parts.group_by("collection_type", "step_time", "from_type", "to_type").aggregate(n=parts.n.sum())
