"""The derived tables that several questions share: their declaration and how each is built."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import ibis.expr.types as ir

from borgtrace.lifecycle.attempts import CARRIED, attempts
from borgtrace.lifecycle.occupancy import occupancy
from borgtrace.lifecycle.transitions import added, transitions
from borgtrace.schema import TABLES, Column, Dialect, Table


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


_TYPE = TABLES["instance_events"].column("collection_type")


def _time(name: str, doc: str, *, nullable: bool = True) -> Column:
    return Column(name, "int64", "us", doc, nullable)


_ATTEMPT = Column("attempt", "int32", "count", "Number of the attempt in its life, from 1.", nullable=False)
_TIMES = (
    _time("begin_time", "First event of the attempt.", nullable=False),
    _time("submit_time", "SUBMIT, NULL where it is lost."),
    Column("submit_priority", "int32", "1", "Priority that SUBMIT asked for."),
    _time("queue_time", "First QUEUE."),
    _time("enable_time", "Last ENABLE."),
    _time("schedule_time", "SCHEDULE, NULL where it never ran."),
    _time("end_time", "EVICT, FAIL, FINISH, KILL or LOST; NULL where none is known."),
    Column("end_type", "enum", "enum", "How it ended.", enum="event_type"),
    _time("left_time", "End, or begin of the next attempt where the end is lost; NULL while alive."),
    _time("next_time", "First event after the end, NULL where there is none."),
    _time("wait", "SCHEDULE minus SUBMIT; NULL where either is unknown, before the trace or made up."),
    _time("run", "End minus SCHEDULE; NULL where either is unknown, outside the trace or made up."),
    Column("is_left_censored", "bool", "1", "Whether it began before the trace.", nullable=False),
    Column("is_right_censored", "bool", "1", "Whether it was alive at the end of the trace.", nullable=False),
)


def _attempts(what: str, events: Table, key: tuple[str, ...]) -> Table:
    carried = [name for name in CARRIED if name in events.names]
    # Declared once, by the events: what an attempt carries has their types, units and words.
    columns = [events.column(name) for name in (*key, *carried)]
    return Table(
        f"{what}_attempts",
        f"attempt to run {'an' if what == 'instance' else 'a'} {what}",
        (*key, "attempt"),
        (*columns[: len(key)], _ATTEMPT, *columns[len(key) :], *_TIMES),
    )


INSTANCE_ATTEMPTS = _attempts("instance", TABLES["instance_events"], ("collection_id", "instance_index"))
COLLECTION_ATTEMPTS = _attempts("collection", TABLES["collection_events"], ("collection_id",))


def _transitions(name: str, what: str) -> Table:
    return Table(
        name,
        f"kind of transition of {what} and window of 300 s",
        ("collection_type", "step_time", "from_type", "to_type"),
        (
            _TYPE,
            _time("step_time", "Start of the window in which the later event happened.", nullable=False),
            Column(
                "from_type", "enum", "enum", "The earlier event; NULL for the first event of a task.", enum="event_type"
            ),
            Column("to_type", "enum", "enum", "The later event.", nullable=False, enum="event_type"),
            Column("n", "int64", "count", "Number of such transitions.", nullable=False),
        ),
    )


def _occupancy(name: str, what: str) -> Table:
    states = (
        ("pending", "submitted and not running"),
        ("queued", "pending and held back between QUEUE and ENABLE"),
        ("running", "running"),
    )
    return Table(
        name,
        f"instant at which the number of {what} in a state changes",
        ("collection_type", "time"),
        (
            _TYPE,
            _time("time", "From when on the numbers hold.", nullable=False),
            *(Column(state, "int64", "count", f"Number of {what} {doc}.", nullable=False) for state, doc in states),
        ),
    )


def _levels(attempts: ir.Table, dialect: Dialect) -> ir.Table:
    """Build as every derived table is built; attempts are of one shape, whatever the trace."""
    return occupancy(attempts)


DERIVED: Mapping[str, Derived] = {
    derived.table.name: derived
    for derived in (
        Derived(INSTANCE_ATTEMPTS, "instance_events", attempts, is_per_life=True),
        Derived(COLLECTION_ATTEMPTS, "collection_events", attempts, is_per_life=True),
        # A window holds events of many lives, so that pieces share keys: their counts are added.
        Derived(_transitions("instance_transitions", "instances"), "instance_events", transitions, True, added),
        Derived(_transitions("collection_transitions", "collections"), "collection_events", transitions, True, added),
        # A level is a sum over all lives: it cannot be built piece by piece.
        Derived(_occupancy("instance_occupancy", "instances"), "instance_attempts", _levels),
        Derived(_occupancy("collection_occupancy", "collections"), "collection_attempts", _levels),
    )
}
"""Derived tables by name."""
