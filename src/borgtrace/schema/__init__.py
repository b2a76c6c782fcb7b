"""Tables, columns, enumerations, trace formats, time and reason codes: data only, no input or output."""

from borgtrace.schema.dialects import (
    DIALECTS,
    EVENTS_FROM_TIMES,
    Absent,
    AnomalyRate,
    Citation,
    Conversion,
    Dialect,
    Flattened,
    PriorityTier,
    Publication,
    RawField,
    RawTable,
    check_dialect,
    dialect,
)
from borgtrace.schema.enums import ENUMS, TERMINAL_EVENTS, UPDATE_EVENTS
from borgtrace.schema.tables import (
    DISTRIBUTIONS,
    PERCENTILES,
    TABLES,
    TRACE_TABLES,
    with_percentiles,
)
from borgtrace.schema.types import Column, Table

__all__ = [
    "DIALECTS",
    "DISTRIBUTIONS",
    "ENUMS",
    "EVENTS_FROM_TIMES",
    "PERCENTILES",
    "TABLES",
    "TERMINAL_EVENTS",
    "TRACE_TABLES",
    "UPDATE_EVENTS",
    "Absent",
    "Citation",
    "Column",
    "Conversion",
    "Dialect",
    "Flattened",
    "PriorityTier",
    "Publication",
    "AnomalyRate",
    "RawField",
    "RawTable",
    "Table",
    "check_dialect",
    "dialect",
    "with_percentiles",
]
