"""Tables, columns, enumerations, units, time and reasons: data only, no input or output."""

from borgtrace.schema.dialects import DIALECTS, Absent, Dialect, RawField, RawTable, dialect
from borgtrace.schema.enums import ENUMS, TERMINAL_EVENTS, UPDATE_EVENTS
from borgtrace.schema.tables import TABLES, TRACE_TABLES
from borgtrace.schema.types import Column, Table

__all__ = ["DIALECTS", "ENUMS", "TABLES", "TERMINAL_EVENTS", "TRACE_TABLES", "UPDATE_EVENTS", "Absent", "Column"]
__all__ += ["Dialect", "RawField", "RawTable", "Table", "dialect"]
