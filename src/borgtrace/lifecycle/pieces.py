"""Large tables of events, cut into pieces that fit into memory.

A life never spans two collections, so what is derived per life is the same piece by piece, and a sort that
would spill becomes several that do not.
"""

import itertools

import ibis.expr.types as ir
import numpy as np

from borgtrace.engine import to_arrow

PIECE = 4_000_000
"""Events of one piece: sorting them with what they carry takes about a gigabyte."""


def pieces(events: ir.Table, size: int = PIECE) -> list[ir.Table]:
    """Cut events into ranges of ``collection_id`` of at least `size` events each, but for the last.

    Parameters
    ----------
    events
        Events with ``collection_id``, on an engine.
    size
        Least number of events of a piece.

    Returns
    -------
    list
        One expression per piece; `events` itself where one piece holds all.

    Examples
    --------
    >>> import ibis
    >>> events = ibis.memtable({"collection_id": [7, 7, 7, 8, 9]})
    >>> [piece.count().execute() for piece in pieces(events, 2)]
    [3, 2]
    """
    counted = to_arrow(events.group_by("collection_id").aggregate(n=events.count()))
    ids = counted["collection_id"].to_numpy()
    n = counted["n"].to_numpy()
    # An engine returns groups in any order.
    by_id = np.argsort(ids)
    starts = _starts_of_pieces(
        ids[by_id].tolist(),
        n[by_id].tolist(),
        size,
    )
    if not starts:
        return [events]
    collection_id = events.collection_id
    # Ranges, not lists of ids: a store is sorted by collection_id, and a range skips the row groups outside of it.
    ranges = [events.filter(collection_id < starts[0])]
    for begin, end in itertools.pairwise(starts):
        ranges.append(events.filter(collection_id >= begin, collection_id < end))
    ranges.append(events.filter(collection_id >= starts[-1]))
    return ranges


def _starts_of_pieces(
    ids: list[int],
    n_events: list[int],
    size: int,
) -> list[int]:
    """Return the ids at which pieces after the first begin."""
    starts = []
    n_in_piece = 0
    for collection_id, n in zip(ids, n_events, strict=True):
        if n_in_piece >= size:
            starts.append(collection_id)
            n_in_piece = 0
        n_in_piece += n
    return starts
