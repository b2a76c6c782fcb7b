"""The derived tables that several questions share: their declaration and how each is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import ibis.expr.types as ir

from borgtrace.lifecycle.attempts import attempts
from borgtrace.lifecycle.occupancy import occupancy
from borgtrace.lifecycle.transitions import added, transitions
from borgtrace.schema import TABLES, Column, Table


@dataclass(frozen=True, slots=True)
class Derived:
    """A derived table: its declaration, the table it reads, and ``build(table, generation)``.

    ``is_per_life`` says that pieces of whole lives may be built one by one; where their rows then share
    keys, ``merge`` makes one table of them.
    """

    table: Table
    reads: str
    build: Callable[[ir.Table, str], ir.Table]
    is_per_life: bool = False
    merge: Callable[[ir.Table], ir.Table] | None = None


_COLLECTION = TABLES["collection_events"]
_INSTANCE = TABLES["instance_events"]


def _time(name: str, doc: str, *, nullable: bool = True) -> Column:
    return Column(name, "int64", "us", doc, nullable)


_ATTEMPT = Column("attempt", "int32", "count", "Number of the attempt in its life, from 1.", nullable=False)
_TIMES = (
    _time("begin_time", "First event of the attempt.", nullable=False),
    _time("submit_time", "SUBMIT, NULL where it is lost."),
    _time("queue_time", "First QUEUE."),
    _time("enable_time", "Last ENABLE."),
    _time("schedule_time", "SCHEDULE, NULL where it never ran."),
    _time("end_time", "EVICT, FAIL, FINISH, KILL or LOST; NULL where none is known."),
    Column("end_type", "enum", "enum", "How it ended.", enum="event_type"),
    _time("left_time", "End, or begin of the next attempt where the end is lost; NULL while alive."),
    _time("next_time", "First event after the end, NULL where there is none."),
    _time("wait", "SCHEDULE minus SUBMIT; NULL where either is unknown or before the trace."),
    _time("run", "End minus SCHEDULE; NULL where either is unknown or outside the trace."),
    Column("is_left_censored", "bool", "1", "Whether it began before the trace.", nullable=False),
    Column("is_right_censored", "bool", "1", "Whether it was alive at the end of the trace.", nullable=False),
)
_COLLECTION_CARRIED = ("collection_type", "priority", "scheduling_class", "alloc_collection_id")
_INSTANCE_CARRIED = (
    "collection_type",
    "priority",
    "scheduling_class",
    "cpu_request",
    "memory_request",
    "alloc_collection_id",
    "machine_id",
)

INSTANCE_ATTEMPTS = Table(
    "instance_attempts",
    "attempt to run an instance",
    ("collection_id", "instance_index", "attempt"),
    (
        _INSTANCE.column("collection_id"),
        _INSTANCE.column("instance_index"),
        _ATTEMPT,
        *(_INSTANCE.column(name) for name in _INSTANCE_CARRIED),
        *_TIMES,
    ),
)
COLLECTION_ATTEMPTS = Table(
    "collection_attempts",
    "attempt to run a collection",
    ("collection_id", "attempt"),
    (
        _COLLECTION.column("collection_id"),
        _ATTEMPT,
        *(_COLLECTION.column(name) for name in _COLLECTION_CARRIED),
        *_TIMES,
    ),
)


def _transitions(name: str, what: str) -> Table:
    return Table(
        name,
        f"kind of transition of {what} and window of 300 s",
        ("collection_type", "step_time", "from_type", "to_type"),
        (
            _INSTANCE.column("collection_type"),
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
            _INSTANCE.column("collection_type"),
            _time("time", "From when on the numbers hold.", nullable=False),
            *(Column(state, "int64", "count", f"Number of {what} {doc}.", nullable=False) for state, doc in states),
        ),
    )


DERIVED: Mapping[str, Derived] = {
    derived.table.name: derived
    for derived in (
        Derived(INSTANCE_ATTEMPTS, "instance_events", attempts, is_per_life=True),
        Derived(COLLECTION_ATTEMPTS, "collection_events", attempts, is_per_life=True),
        Derived(_transitions("instance_transitions", "instances"), "instance_events", transitions, True, added),
        Derived(_transitions("collection_transitions", "collections"), "collection_events", transitions, True, added),
        Derived(_occupancy("instance_occupancy", "instances"), "instance_attempts", occupancy),
        Derived(_occupancy("collection_occupancy", "collections"), "collection_attempts", occupancy),
    )
}
"""Derived tables by name."""
