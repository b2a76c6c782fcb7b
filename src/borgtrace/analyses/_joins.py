"""Joins that keep one copy of the key, and the last row per key."""

from collections.abc import Sequence

import ibis
import ibis.expr.types as ir

from borgtrace.lifecycle.order import SOURCE_ORDER


def lookup(rows: ir.Table, index: ir.Table, key: Sequence[str]) -> ir.Table:
    """Add the columns of `index` to `rows` by `key`; NULL where `index` does not know it.

    Parameters
    ----------
    rows
        Rows that all stay.
    index
        At most one row per key, else rows multiply.
    key
        Columns of both.
    """
    joined = rows.left_join(index, list(key))
    return joined.drop(*(f"{name}_right" for name in key if f"{name}_right" in joined.columns))


def last_of(events: ir.Table, key: Sequence[str]) -> ir.Table:
    """Keep the last event per key, in the order of the raw files.

    Parameters
    ----------
    events
        Events with their times and places in the raw files.
    key
        Columns of which each combination keeps one row.
    """
    order = [events[name].desc() for name in SOURCE_ORDER]
    placed = events.mutate(place=ibis.row_number().over(group_by=list(key), order_by=order))
    return placed.filter(placed.place == 0).drop("place")


def last_known(events: ir.Table, column: str) -> ir.Table:
    """Return ``collection_id`` and what the last event that tells a column says of it.

    Parameters
    ----------
    events
        ``collection_events``.
    column
        A column that events may change, and that some leave out.
    """
    return last_of(events.filter(events[column].notnull()), ["collection_id"]).select("collection_id", column)
