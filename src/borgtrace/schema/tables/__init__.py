"""The canonical tables, declared once: readers, checks, docs and strategies derive from them."""

from __future__ import annotations

from borgtrace.schema.tables.events import COLLECTION_EVENTS, INSTANCE_CONSTRAINTS, INSTANCE_EVENTS
from borgtrace.schema.tables.machines import MACHINE_ATTRIBUTES, MACHINE_EVENTS
from borgtrace.schema.tables.tasks import TASKS
from borgtrace.schema.tables.usage import INSTANCE_USAGE
from borgtrace.schema.types import Table

TRACE_TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        MACHINE_EVENTS,
        MACHINE_ATTRIBUTES,
        COLLECTION_EVENTS,
        INSTANCE_EVENTS,
        INSTANCE_CONSTRAINTS,
        INSTANCE_USAGE,
    )
}
"""Tables that are read from raw files."""

TABLES: dict[str, Table] = {**TRACE_TABLES, TASKS.name: TASKS}
"""All tables of a store: the trace's own and the derived ``tasks``."""

__all__ = ["TABLES", "TRACE_TABLES"]
