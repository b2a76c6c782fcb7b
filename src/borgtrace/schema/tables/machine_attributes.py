"""What attributes each machine has, and since when."""

from borgtrace.schema.checks import INTEGER_NOT_NEGATIVE, NOT_AFTER_TRACE
from borgtrace.schema.tables.shared_columns import MACHINE_ID, PROVENANCE
from borgtrace.schema.types import Column, Table

MACHINE_ATTRIBUTES = Table(
    name="machine_attributes",
    grain="attribute change",
    key=("time", "machine_id", "name", "source_part", "source_row"),
    columns=(
        Column(
            "time",
            "int64",
            "us",
            "When the attribute changed, on the trace's clock.",
            nullable=False,
            checks=(INTEGER_NOT_NEGATIVE, NOT_AFTER_TRACE),
        ),
        MACHINE_ID,
        Column(
            "name",
            "string",
            "id",
            "Name of the attribute (hash).",
            nullable=False,
        ),
        Column(
            "value",
            "string",
            "1",
            "Value of the attribute, a hash or a rank from 1, as text.",
        ),
        Column(
            "is_deleted",
            "bool",
            "1",
            "Whether the machine lost the attribute.",
            nullable=False,
        ),
        *PROVENANCE,
    ),
)
