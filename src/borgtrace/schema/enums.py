"""Enumerations, stored by name.

Codes shift between traces (SCHEDULE is 1 in 2011 and 3 in 2019), so a code is never stored; which code means which name
is the dialect's (:mod:`borgtrace.schema.dialects`).
"""

from dataclasses import dataclass
from pathlib import Path

from borgtrace.schema.data_files import read_rows


@dataclass(frozen=True, slots=True)
class Enum:
    """The names of an enumeration, in canonical order."""

    name: str
    doc: str
    names: tuple[str, ...]


ENUMS: dict[str, Enum] = {
    row["name"]: Enum(row["name"], row["doc"], tuple(row["names"].split()))
    for row in read_rows(Path(__file__).with_name("enums.csv"))
}
EVENT_TYPE = ENUMS["event_type"]

TERMINAL_EVENTS = ("EVICT", "FAIL", "FINISH", "KILL", "LOST")
UPDATE_EVENTS = ("UPDATE_PENDING", "UPDATE_RUNNING")
