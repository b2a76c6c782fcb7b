"""Enumerations, stored by name.

Codes shift between traces (SCHEDULE is 1 in 2011 and 3 in 2019), so a code is never stored; which code means which name
is the dialect's (:mod:`borgtrace.schema.dialects`).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Enum:
    """The names of an enumeration, in canonical order."""

    name: str
    doc: str
    names: tuple[str, ...]


def _enum(name: str, doc: str, names: str) -> Enum:
    return Enum(name, doc, tuple(names.split()))


# v3's order, that of the life cycle: where shards are unordered it breaks ties between equal times.
EVENT_TYPE = _enum(
    "event_type",
    "What happened to a collection or an instance.",
    "SUBMIT QUEUE ENABLE SCHEDULE EVICT FAIL FINISH KILL LOST UPDATE_PENDING UPDATE_RUNNING",
)

ENUMS: dict[str, Enum] = {
    enum.name: enum
    for enum in (
        EVENT_TYPE,
        # Only v3 has the unknown one.
        _enum("machine_event_type", "What happened to a machine.", "ADD REMOVE UPDATE EVENT_TYPE_UNKNOWN"),
        # "Nothing is missing" is no name here: it becomes NULL.  The last two exist in v3 only.
        _enum(
            "missing_type",
            "Why an event had to be synthesized, or is uncertain.",
            "SNAPSHOT_BUT_NO_TRANSITION NO_SNAPSHOT_OR_TRANSITION EXISTS_BUT_NO_CREATION TRANSITION_MISSING_STEP "
            "TOO_MANY_EVENTS",
        ),
        _enum("missing_data_reason", "Why a machine event is uncertain.", "SNAPSHOT_BUT_NO_TRANSITION"),
        _enum("collection_type", "Whether a collection is a job or an alloc set.", "JOB ALLOC_SET"),
        _enum(
            "vertical_scaling",
            "Whether Autopilot may change the requests.",
            "VERTICAL_SCALING_SETTING_UNKNOWN OFF CONSTRAINED FULLY_AUTOMATED",
        ),
        _enum("scheduler", "Which scheduler handles the collection.", "DEFAULT BATCH"),
        _enum(
            "relation",
            "How a constraint compares a machine attribute with its value.",
            "EQUAL NOT_EQUAL LESS_THAN GREATER_THAN LESS_THAN_EQUAL GREATER_THAN_EQUAL PRESENT NOT_PRESENT",
        ),
    )
}

TERMINAL_EVENTS = ("EVICT", "FAIL", "FINISH", "KILL", "LOST")
UPDATE_EVENTS = ("UPDATE_PENDING", "UPDATE_RUNNING")
