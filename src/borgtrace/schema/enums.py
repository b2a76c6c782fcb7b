"""Enumerations, stored by name.

Codes shift between traces (SCHEDULE is 1 in 2011 and 3 in 2019), so a code is never stored. Each trace format says
which code means which name (:mod:`borgtrace.schema.dialects`).
"""

from dataclasses import dataclass
from typing import Literal

EnumName = Literal[
    "event_type",
    "machine_event_type",
    "missing_type",
    "missing_data_reason",
    "collection_type",
    "vertical_scaling",
    "scheduler",
    "relation",
]


@dataclass(frozen=True, slots=True)
class Enum:
    """The names of an enumeration, in canonical order."""

    name: EnumName
    doc: str
    names: tuple[str, ...]


EVENT_TYPE = Enum(
    "event_type",
    "What happened to a collection or an instance.",
    # The order of v3 and of the life cycle: it breaks ties between equal times where shards are unordered.
    (
        "SUBMIT",
        "QUEUE",
        "ENABLE",
        "SCHEDULE",
        "EVICT",
        "FAIL",
        "FINISH",
        "KILL",
        "LOST",
        "UPDATE_PENDING",
        "UPDATE_RUNNING",
    ),
)
MACHINE_EVENT_TYPE = Enum(
    "machine_event_type",
    "What happened to a machine.",
    # Only v3 has the unknown one.
    ("ADD", "REMOVE", "UPDATE", "EVENT_TYPE_UNKNOWN"),
)
MISSING_TYPE = Enum(
    "missing_type",
    "Why an event had to be synthesized, or is uncertain.",
    # "Nothing is missing" has no name: it becomes NULL. Only v3 has the last two.
    (
        "SNAPSHOT_BUT_NO_TRANSITION",
        "NO_SNAPSHOT_OR_TRANSITION",
        "EXISTS_BUT_NO_CREATION",
        "TRANSITION_MISSING_STEP",
        "TOO_MANY_EVENTS",
    ),
)
MISSING_DATA_REASON = Enum(
    "missing_data_reason",
    "Why a machine event is uncertain.",
    ("SNAPSHOT_BUT_NO_TRANSITION",),
)
COLLECTION_TYPE = Enum(
    "collection_type",
    "Whether a collection is a job or an alloc set.",
    ("JOB", "ALLOC_SET"),
)
VERTICAL_SCALING = Enum(
    "vertical_scaling",
    "Whether Autopilot may change the requests.",
    ("VERTICAL_SCALING_SETTING_UNKNOWN", "OFF", "CONSTRAINED", "FULLY_AUTOMATED"),
)
SCHEDULER = Enum(
    "scheduler",
    "Which scheduler handles the collection.",
    ("DEFAULT", "BATCH"),
)
RELATION = Enum(
    "relation",
    "How a constraint compares a machine attribute with its value.",
    (
        "EQUAL",
        "NOT_EQUAL",
        "LESS_THAN",
        "GREATER_THAN",
        "LESS_THAN_EQUAL",
        "GREATER_THAN_EQUAL",
        "PRESENT",
        "NOT_PRESENT",
    ),
)

_ALL = (
    EVENT_TYPE,
    MACHINE_EVENT_TYPE,
    MISSING_TYPE,
    MISSING_DATA_REASON,
    COLLECTION_TYPE,
    VERTICAL_SCALING,
    SCHEDULER,
    RELATION,
)
ENUMS: dict[str, Enum] = {enum.name: enum for enum in _ALL}
"""All enumerations, by name."""

TERMINAL_EVENTS = ("EVICT", "FAIL", "FINISH", "KILL", "LOST")
UPDATE_EVENTS = ("UPDATE_PENDING", "UPDATE_RUNNING")
