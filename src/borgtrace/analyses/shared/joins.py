"""Joins that keep one copy of the key, and the last row per key."""

from collections.abc import Sequence

import ibis

from borgtrace.lifecycle.order import SOURCE_ORDER


def lookup(rows: ibis.Table, index: ibis.Table, key: Sequence[str]) -> ibis.Table:
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


def last_of(events: ibis.Table, key: Sequence[str]) -> ibis.Table:
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


def last_known(events: ibis.Table, column: str) -> ibis.Table:
    """Return ``collection_id`` and what the last event that tells a column says of it.

    Parameters
    ----------
    events
        ``collection_events``.
    column
        A column that events may change, and that some leave out.
    """
    return last_of(events.filter(events[column].notnull()), ["collection_id"]).select(
        "collection_id", column
    )
