"""Enumerations, stored by name, and the code each generation gives to each name.

Codes shift between generations (SCHEDULE is 1 in 2011 and 3 in 2019), so a code is never
stored.  Sources: 2011 format document (schema of v2.1); ``clusterdata_trace_format_v3.proto``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from borgtrace.schema.types import Generation


@dataclass(frozen=True, slots=True)
class Enum:
    """The names of an enumeration in canonical order, and codes per generation.

    A code listed under ``null_codes`` means "nothing to say" and is stored as NULL.

    Examples
    --------
    >>> EVENT_TYPE.codes["2011"][1], EVENT_TYPE.codes["2019"][3]
    ('SCHEDULE', 'SCHEDULE')
    """

    name: str
    doc: str
    names: tuple[str, ...]
    codes: Mapping[Generation, Mapping[int, str]]
    null_codes: Mapping[Generation, tuple[int, ...]] = field(default_factory=dict)


def _codes(names: tuple[str, ...], start: int = 0) -> dict[int, str]:
    return dict(enumerate(names, start))


_EVENTS_2011 = ("SUBMIT", "SCHEDULE", "EVICT", "FAIL", "FINISH", "KILL", "LOST", "UPDATE_PENDING", "UPDATE_RUNNING")
_EVENTS_2019 = (
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
)
_MISSING_2011 = ("SNAPSHOT_BUT_NO_TRANSITION", "NO_SNAPSHOT_OR_TRANSITION", "EXISTS_BUT_NO_CREATION")
_MISSING_2019 = (*_MISSING_2011, "TRANSITION_MISSING_STEP", "TOO_MANY_EVENTS")
_MACHINE = ("ADD", "REMOVE", "UPDATE")
_RELATIONS = (
    "EQUAL",
    "NOT_EQUAL",
    "LESS_THAN",
    "GREATER_THAN",
    "LESS_THAN_EQUAL",
    "GREATER_THAN_EQUAL",
    "PRESENT",
    "NOT_PRESENT",
)
_SCALING = ("VERTICAL_SCALING_SETTING_UNKNOWN", "OFF", "CONSTRAINED", "FULLY_AUTOMATED")

EVENT_TYPE = Enum(
    "event_type",
    "What happened to a collection or an instance.",
    _EVENTS_2019,
    {"2011": _codes(_EVENTS_2011), "2019": _codes(_EVENTS_2019)},
)
MACHINE_EVENT_TYPE = Enum(
    "machine_event_type",
    "What happened to a machine.",
    (*_MACHINE, "EVENT_TYPE_UNKNOWN"),
    {"2011": _codes(_MACHINE), "2019": {0: "EVENT_TYPE_UNKNOWN", **_codes(_MACHINE, 1)}},
)
MISSING_TYPE = Enum(
    "missing_type",
    "Why an event had to be made up or is uncertain.",
    _MISSING_2019,
    {"2011": _codes(_MISSING_2011), "2019": _codes(_MISSING_2019, 1)},
    {"2019": (0,)},
)
MISSING_DATA_REASON = Enum(
    "missing_data_reason",
    "Why a machine event is uncertain.",
    ("SNAPSHOT_BUT_NO_TRANSITION",),
    {"2019": {1: "SNAPSHOT_BUT_NO_TRANSITION"}},
    {"2019": (0,)},
)
COLLECTION_TYPE = Enum(
    "collection_type",
    "Whether a collection is a job or an alloc set.",
    ("JOB", "ALLOC_SET"),
    {"2019": _codes(("JOB", "ALLOC_SET"))},
)
VERTICAL_SCALING = Enum(
    "vertical_scaling", "Whether Autopilot may change the requests.", _SCALING, {"2019": _codes(_SCALING)}
)
SCHEDULER = Enum(
    "scheduler", "Which scheduler handles the collection.", ("DEFAULT", "BATCH"), {"2019": _codes(("DEFAULT", "BATCH"))}
)
RELATION = Enum(
    "relation",
    "How a constraint compares a machine attribute with its value.",
    _RELATIONS,
    {"2011": _codes(_RELATIONS[:4]), "2019": _codes(_RELATIONS)},
)

ENUMS: dict[str, Enum] = {
    enum.name: enum
    for enum in (
        EVENT_TYPE,
        MACHINE_EVENT_TYPE,
        MISSING_TYPE,
        MISSING_DATA_REASON,
        COLLECTION_TYPE,
        VERTICAL_SCALING,
        SCHEDULER,
        RELATION,
    )
}

SCHEDULING_CLASSES = ("MOST_INSENSITIVE", "INSENSITIVE", "SENSITIVE", "MOST_SENSITIVE")
"""Names of scheduling classes 0 … 3.  The column keeps the number: it is an order that means the same
in both generations, and everybody who writes about the traces says "class 3"."""

TERMINAL_EVENTS = ("EVICT", "FAIL", "FINISH", "KILL", "LOST")
UPDATE_EVENTS = ("UPDATE_PENDING", "UPDATE_RUNNING")
