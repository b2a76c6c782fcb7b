"""When each machine was added, removed or changed, and its capacity then."""

from borgtrace.schema.checks import AMOUNT_NOT_NEGATIVE
from borgtrace.schema.tables.shared_columns import MACHINE_ID, PROVENANCE, TIME
from borgtrace.schema.types import Column, Table

MACHINE_EVENTS = Table(
    name="machine_events",
    grain="machine event",
    key=("time", "machine_id", "source_part", "source_row"),
    columns=(
        TIME,
        MACHINE_ID,
        Column(
            "type",
            "enum",
            "enum",
            "What happened: ADD, REMOVE or UPDATE.",
            nullable=False,
            enum="machine_event_type",
        ),
        Column(
            "switch_id",
            "string",
            "id",
            "The network switch of the machine (hash).",
        ),
        Column(
            "platform_id",
            "string",
            "id",
            "Microarchitecture and chipset of the machine (hash).",
        ),
        # May be NULL: 32 ADD events of 2011 have neither capacity.
        Column(
            "cpu_capacity",
            "float32",
            "fraction",
            "CPU of the machine, as a fraction of the largest.",
            checks=(AMOUNT_NOT_NEGATIVE,),
        ),
        Column(
            "memory_capacity",
            "float32",
            "fraction",
            "Memory of the machine, as a fraction of the largest.",
            checks=(AMOUNT_NOT_NEGATIVE,),
        ),
        Column(
            "gpu_capacity",
            "float32",
            "count",
            "GPUs of the machine, shared ones too.",
            checks=(AMOUNT_NOT_NEGATIVE,),
        ),
        Column(
            "missing_data_reason",
            "enum",
            "enum",
            "Why the event is uncertain, NULL when it is not.",
            enum="missing_data_reason",
        ),
        *PROVENANCE,
    ),
)
