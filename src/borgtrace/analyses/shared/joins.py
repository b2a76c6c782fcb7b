"""Left joins with one copy of the key, and the last row per key."""

from collections.abc import Sequence

import ibis

from borgtrace.lifecycle.order import SOURCE_ORDER


def lookup(rows: ibis.Table, index: ibis.Table, key: Sequence[str]) -> ibis.Table:
    """Add the columns of `index` to `rows` by `key`; NULL where `index` does not know it.

    Parameters
    ----------
    rows
        Rows, all of which are kept.
    index
        At most one row per key, else rows multiply.
    key
        Columns of both.
    """
    joined = rows.left_join(index, list(key))
    second_keys = [f"{name}_right" for name in key]
    return joined.drop(*(name for name in second_keys if name in joined.columns))


def last_of(events: ibis.Table, key: Sequence[str]) -> ibis.Table:
    """Keep the last event per key, in the order of the raw files.

    Parameters
    ----------
    events
        Events with their times and places in the raw files.
    key
        Columns of which each combination keeps one row.
    """
    latest_first = [events[name].desc() for name in SOURCE_ORDER]
    place = ibis.row_number().over(group_by=list(key), order_by=latest_first)
    placed = events.mutate(place=place)
    return placed.filter(placed.place == 0).drop("place")


def last_known(events: ibis.Table, column: str) -> ibis.Table:
    """Return ``collection_id`` and a column of the last event in which it is not NULL.

    Parameters
    ----------
    events
        ``collection_events``.
    column
        A column that events may change, and that some leave out.
    """
    known = events.filter(events[column].notnull())
    return last_of(known, ["collection_id"]).select("collection_id", column)
