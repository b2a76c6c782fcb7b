"""What happened to machines."""

from __future__ import annotations

from borgtrace.schema.tables.columns import NOT_IN_2011, PROVENANCE, column, key
from borgtrace.schema.types import Table

_TIME = key("time", "int64", "us", "When it happened, on the trace's clock.", "machine_events.1", "machine_events.time")
_MACHINE = key("machine_id", "int64", "id", "The machine.", "machine_events.2", "machine_events.machine_id")

MACHINE_EVENTS = Table(
    "machine_events",
    "machine event",
    ("time", "machine_id", "source_part", "source_row"),
    (
        _TIME,
        _MACHINE,
        column(
            "type",
            "enum",
            "enum",
            "What happened: ADD, REMOVE or UPDATE.",
            "machine_events.3",
            "machine_events.type",
            nullable=False,
            enum="machine_event_type",
        ),
        column(
            "switch_id",
            "string",
            "id",
            "The network switch of the machine (hash).",
            NOT_IN_2011,
            "machine_events.switch_id",
        ),
        column(
            "platform_id",
            "string",
            "id",
            "Microarchitecture and chipset of the machine (hash).",
            "machine_events.4",
            "machine_events.platform_id",
        ),
        column(
            "cpu_capacity",
            "float32",
            "fraction",
            "CPU of the machine, as a fraction of the largest.",
            "machine_events.5",
            "machine_events.capacity.cpus",
        ),
        column(
            "memory_capacity",
            "float32",
            "fraction",
            "Memory of the machine, as a fraction of the largest.",
            "machine_events.6",
            "machine_events.capacity.memory",
        ),
        column(
            "missing_data_reason",
            "enum",
            "enum",
            "Why the event is uncertain, NULL when it is not.",
            NOT_IN_2011,
            "machine_events.missing_data_reason",
            enum="missing_data_reason",
        ),
        *PROVENANCE,
    ),
)

MACHINE_ATTRIBUTES = Table(
    "machine_attributes",
    "attribute change",
    ("time", "machine_id", "name", "source_part", "source_row"),
    (
        key(
            "time",
            "int64",
            "us",
            "When the attribute changed, on the trace's clock.",
            "machine_attributes.1",
            "machine_attributes.time",
        ),
        key("machine_id", "int64", "id", "The machine.", "machine_attributes.2", "machine_attributes.machine_id"),
        key("name", "string", "id", "Name of the attribute (hash).", "machine_attributes.3", "machine_attributes.name"),
        column(
            "value",
            "string",
            "1",
            "Value of the attribute, a hash or a rank from 1, as text.",
            "machine_attributes.4",
            "machine_attributes.value",
        ),
        key(
            "is_deleted",
            "bool",
            "1",
            "Whether the machine lost the attribute.",
            "machine_attributes.5",
            "machine_attributes.deleted",
        ),
        *PROVENANCE,
    ),
)
