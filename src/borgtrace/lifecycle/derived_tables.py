"""The derived tables that several questions share: attempts, transitions and occupancy, as frozen data."""

from borgtrace.schema import TABLES, Column, Table

_COLLECTION_EVENTS = {column.name: column for column in TABLES["collection_events"].columns}
_INSTANCE_EVENTS = {column.name: column for column in TABLES["instance_events"].columns}

_ATTEMPT = Column(
    "attempt",
    "int32",
    "count",
    "Number of the attempt in its life, from 1.",
    nullable=False,
)
_TIMES = (
    Column(
        "begin_time",
        "int64",
        "us",
        "First event of the attempt.",
        nullable=False,
    ),
    Column("submit_time", "int64", "us", "SUBMIT, NULL where it is lost."),
    Column("submit_priority", "int32", "1", "Priority that SUBMIT asked for."),
    Column("queue_time", "int64", "us", "First QUEUE."),
    Column("enable_time", "int64", "us", "Last ENABLE."),
    Column("schedule_time", "int64", "us", "SCHEDULE, NULL where it never ran."),
    Column(
        "end_time",
        "int64",
        "us",
        "EVICT, FAIL, FINISH, KILL or LOST; NULL where none is known.",
    ),
    Column(
        "end_type",
        "enum",
        "enum",
        "How it ended.",
        enum="event_type",
    ),
    Column(
        "left_time",
        "int64",
        "us",
        "End, or begin of the next attempt where the end is lost; NULL while alive.",
    ),
    Column("next_time", "int64", "us", "First event after the end, NULL where there is none."),
    Column(
        "wait",
        "int64",
        "us",
        "SCHEDULE minus SUBMIT; NULL where either is unknown, before the trace or made up.",
    ),
    Column(
        "run",
        "int64",
        "us",
        "End minus SCHEDULE; NULL where either is unknown, outside the trace or made up.",
    ),
    Column(
        "is_left_censored",
        "bool",
        "1",
        "Whether it began before the trace.",
        nullable=False,
    ),
    Column(
        "is_right_censored",
        "bool",
        "1",
        "Whether it was alive at the end of the trace.",
        nullable=False,
    ),
)

INSTANCE_ATTEMPTS = Table(
    name="instance_attempts",
    grain="attempt to run an instance",
    key=("collection_id", "instance_index", "attempt"),
    columns=(
        _INSTANCE_EVENTS["collection_id"],
        _INSTANCE_EVENTS["instance_index"],
        _ATTEMPT,
        _INSTANCE_EVENTS["collection_type"],
        _INSTANCE_EVENTS["priority"],
        _INSTANCE_EVENTS["scheduling_class"],
        _INSTANCE_EVENTS["cpu_request"],
        _INSTANCE_EVENTS["memory_request"],
        _INSTANCE_EVENTS["needs_different_machine"],
        _INSTANCE_EVENTS["alloc_collection_id"],
        _INSTANCE_EVENTS["machine_id"],
        *_TIMES,
    ),
)

COLLECTION_ATTEMPTS = Table(
    name="collection_attempts",
    grain="attempt to run a collection",
    key=("collection_id", "attempt"),
    columns=(
        _COLLECTION_EVENTS["collection_id"],
        _ATTEMPT,
        _COLLECTION_EVENTS["collection_type"],
        _COLLECTION_EVENTS["priority"],
        _COLLECTION_EVENTS["scheduling_class"],
        _COLLECTION_EVENTS["alloc_collection_id"],
        *_TIMES,
    ),
)

_KEY_OF_TRANSITIONS = ("collection_type", "step_time", "from_type", "to_type")
_TRANSITION = (
    _INSTANCE_EVENTS["collection_type"],
    Column(
        "step_time",
        "int64",
        "us",
        "Start of the window in which the later event happened.",
        nullable=False,
    ),
    Column(
        "from_type",
        "enum",
        "enum",
        "The earlier event; NULL for the first event of a task.",
        enum="event_type",
    ),
    Column(
        "to_type",
        "enum",
        "enum",
        "The later event.",
        nullable=False,
        enum="event_type",
    ),
    Column(
        "n",
        "int64",
        "count",
        "Number of such transitions.",
        nullable=False,
    ),
)

INSTANCE_TRANSITIONS = Table(
    name="instance_transitions",
    grain="kind of transition of instances and window of 300 s",
    key=_KEY_OF_TRANSITIONS,
    columns=_TRANSITION,
)

COLLECTION_TRANSITIONS = Table(
    name="collection_transitions",
    grain="kind of transition of collections and window of 300 s",
    key=_KEY_OF_TRANSITIONS,
    columns=_TRANSITION,
)


def _occupancy_of(things: str) -> Table:
    """Declare the occupancy of instances or collections."""
    return Table(
        name=f"{things.removesuffix('s')}_occupancy",
        grain=f"instant at which the number of {things} in a state changes",
        key=("collection_type", "time"),
        columns=(
            _INSTANCE_EVENTS["collection_type"],
            Column(
                "time",
                "int64",
                "us",
                "From when on the numbers hold.",
                nullable=False,
            ),
            Column(
                "pending",
                "int64",
                "count",
                f"Number of {things} submitted and not running.",
                nullable=False,
            ),
            Column(
                "queued",
                "int64",
                "count",
                f"Number of {things} pending and held back between QUEUE and ENABLE.",
                nullable=False,
            ),
            Column(
                "running",
                "int64",
                "count",
                f"Number of {things} running.",
                nullable=False,
            ),
        ),
    )


INSTANCE_OCCUPANCY = _occupancy_of("instances")
COLLECTION_OCCUPANCY = _occupancy_of("collections")
