"""Tables, columns, enumerations, units, time and reasons: data only, no input or output."""

from __future__ import annotations

from borgtrace.schema.enums import ENUMS, TERMINAL_EVENTS, UPDATE_EVENTS, Enum
from borgtrace.schema.raw2011 import RAW_2011, RawField, RawTable
from borgtrace.schema.tables import TABLES, TRACE_TABLES
from borgtrace.schema.tiers import RAW_PRIORITY_2011, TIERS, TIERS_2011, tier_of, tiers
from borgtrace.schema.types import GENERATIONS, Absent, Column, ColumnType, Generation, Table

__all__ = [
    "ENUMS",
    "GENERATIONS",
    "RAW_2011",
    "RAW_PRIORITY_2011",
    "TABLES",
    "TERMINAL_EVENTS",
    "TIERS",
    "TIERS_2011",
    "TRACE_TABLES",
    "UPDATE_EVENTS",
    "Absent",
    "Column",
    "ColumnType",
    "Enum",
    "Generation",
    "RawField",
    "RawTable",
    "Table",
    "tier_of",
    "tiers",
]
