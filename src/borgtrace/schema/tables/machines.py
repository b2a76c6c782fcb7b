"""What happened to machines."""

from borgtrace.schema.tables.columns import MACHINE_ID, PROVENANCE, TIME, amount, code, key, time
from borgtrace.schema.types import Column, Table

MACHINE_EVENTS = Table(
    "machine_events",
    "machine event",
    ("time", "machine_id", "source_part", "source_row"),
    (
        TIME,
        MACHINE_ID,
        code("type", "machine_event_type", "What happened: ADD, REMOVE or UPDATE.", nullable=False),
        Column("switch_id", "string", "id", "The network switch of the machine (hash)."),
        Column("platform_id", "string", "id", "Microarchitecture and chipset of the machine (hash)."),
        # May be NULL: 32 ADD events of 2011 have neither capacity.
        amount("cpu_capacity", "CPU of the machine, as a fraction of the largest."),
        amount("memory_capacity", "Memory of the machine, as a fraction of the largest."),
        code("missing_data_reason", "missing_data_reason", "Why the event is uncertain, NULL when it is not."),
        *PROVENANCE,
    ),
)

MACHINE_ATTRIBUTES = Table(
    "machine_attributes",
    "attribute change",
    ("time", "machine_id", "name", "source_part", "source_row"),
    (
        time("time", "When the attribute changed, on the trace's clock."),
        MACHINE_ID,
        key("name", "string", "id", "Name of the attribute (hash)."),
        Column("value", "string", "1", "Value of the attribute, a hash or a rank from 1, as text."),
        key("is_deleted", "bool", "1", "Whether the machine lost the attribute."),
        *PROVENANCE,
    ),
)
