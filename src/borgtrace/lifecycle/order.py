"""The order in which the events of one thing happened, with equal times settled explicitly.

By the order of the raw files (``source_part``, ``source_row``), where files are written in order: in 2011, 132,982
pairs SUBMIT and SCHEDULE share a timestamp, and only the files tell which came first.

By the life cycle, where shards are unordered (2019): first what is legal from the state
the thing is in, then onwards round the cycle SUBMIT, QUEUE, ENABLE, UPDATE_PENDING, SCHEDULE,
UPDATE_RUNNING, an end.  Several events of one kind at one time take turns round the cycle.  The state before
a tie is that after the event before it; if that is a tie too, it is settled first (ties that follow
each other without an untied event between are settled two deep).
"""

from collections.abc import Sequence

import ibis

from borgtrace.schema import TERMINAL_EVENTS, UPDATE_EVENTS, Dialect

CYCLE = (
    "SUBMIT",
    "QUEUE",
    "ENABLE",
    "UPDATE_PENDING",
    "SCHEDULE",
    "UPDATE_RUNNING",
    *TERMINAL_EVENTS,
)
"""Event types in the order of a life; after an end it begins anew."""
_POSITIONS = [(name, position) for position, name in enumerate(CYCLE)]

_ENTRY = {
    "SUBMIT": 1,
    "QUEUE": 2,
    "ENABLE": 1,
    "UPDATE_PENDING": 1,
    "SCHEDULE": 5,
    "UPDATE_RUNNING": 5,
}
"""Where in the cycle a life continues after an event; 0 (SUBMIT) after an end or none."""

SOURCE_ORDER = ("time", "source_part", "source_row")


def in_order(
    events: ibis.Table,
    key: Sequence[str],
    dialect: Dialect,
) -> tuple[ibis.Table, tuple[str, ...]]:
    """Return the events, and the names of the columns that order them within `key`.

    Parameters
    ----------
    events
        collection_events or instance_events, or some of their columns; ``time``, ``type``,
        ``source_part`` and ``source_row`` among them.
    key
        What identifies a thing: ``("collection_id",)`` or ``("collection_id", "instance_index")``.
    dialect
        Says whether equal times follow the order of the files or the life cycle.
    """
    if dialect.tie_order == "file":
        return events, SOURCE_ORDER
    position = events.type.cases(*_POSITIONS)
    placed = events.mutate(position=position.cast("int32"))
    # The second SUBMIT of one instant belongs to the second turn round the cycle: an end lies between the two.
    # Ends are of one kind: two of them at one time need a life between them.
    kind = placed.type.isin(TERMINAL_EVENTS).ifelse("END", placed.type)
    tie = ibis.window(
        group_by=[*key, "time", kind],
        order_by=["position", "source_part", "source_row"],
    )
    turns = placed.mutate(turn=ibis.row_number().over(tie))
    # Updates leave the state as it is: any number of them fits into the first turn.
    is_update = turns.type.isin(UPDATE_EVENTS)
    turn = is_update.ifelse(0, turns.turn).cast("int64")
    ranked = turns.mutate(turn=turn, rank=turns.position)
    order = ("time", "turn", "rank", "source_part", "source_row")
    # In the first pass the event before a tie may belong to a tie that is not settled yet; in the second it is.
    for _ in range(2):
        ranked = _rerank(ranked, key, order)
    return ranked.drop("position"), order


def _rerank(
    events: ibis.Table,
    key: Sequence[str],
    order: Sequence[str],
) -> ibis.Table:
    """Rank the events of each tie by their distance round the cycle from the state before the tie."""
    entry = events.type.cases(*_ENTRY.items(), else_=0).cast("int32")
    life = ibis.window(group_by=list(key), order_by=list(order))
    with_event_before = events.mutate(
        entry=entry.lag().over(life).fill_null(0),
        earlier=events.time.lag().over(life),
    )
    # Only the first event of a tie follows the state before the tie; max() skips the NULLs of the others.
    earlier = with_event_before.earlier
    is_first = earlier.isnull() | (earlier < with_event_before.time)
    entry_of_first = is_first.ifelse(with_event_before.entry, ibis.null("int32"))
    tie = ibis.window(group_by=[*key, "time"])
    entered = with_event_before.mutate(entry=entry_of_first.max().over(tie))
    size = len(CYCLE)
    # The remainder of a negative number is negative in SQL, hence the added size.
    distance = (entered.position - entered.entry + size) % size
    return entered.mutate(rank=distance.cast("int32")).drop("entry", "earlier")
