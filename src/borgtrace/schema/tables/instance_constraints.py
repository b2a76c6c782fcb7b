"""Which machines each task accepts."""

from borgtrace.schema.checks import INTEGER_NOT_NEGATIVE, NOT_AFTER_TRACE
from borgtrace.schema.tables.shared_columns import INSTANCE, PROVENANCE
from borgtrace.schema.types import Column, Table

INSTANCE_CONSTRAINTS = Table(
    name="instance_constraints",
    grain="constraint of an event",
    key=(
        "collection_id",
        "instance_index",
        "time",
        "name",
        "source_part",
        "source_row",
        "position",
    ),
    columns=(
        *INSTANCE,
        Column(
            "time",
            "int64",
            "us",
            "When the event that carries the constraint happened.",
            nullable=False,
            checks=(INTEGER_NOT_NEGATIVE, NOT_AFTER_TRACE),
        ),
        Column(
            "name",
            "string",
            "id",
            "Name of the machine attribute (hash).",
            nullable=False,
        ),
        Column(
            "relation",
            "enum",
            "enum",
            "How attribute and value are compared.",
            nullable=False,
            enum="relation",
        ),
        Column(
            "value",
            "string",
            "1",
            "Value to compare with; empty text is a value, not NULL.",
        ),
        Column(
            "position",
            "int32",
            "id",
            "Place, from 0, in the event's list of constraints.",
            nullable=False,
            checks=(INTEGER_NOT_NEGATIVE,),
        ),
        *PROVENANCE,
    ),
)
