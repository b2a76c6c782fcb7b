"""What happened to each job and alloc set."""

from borgtrace.schema.checks import INTEGER_NOT_NEGATIVE
from borgtrace.schema.tables.shared_columns import PROVENANCE, STATE, TIME, WORKLOAD
from borgtrace.schema.types import Column, Table

COLLECTION_EVENTS = Table(
    name="collection_events",
    grain="event of a collection",
    key=("collection_id", "time", "source_part", "source_row"),
    columns=(
        Column(
            "collection_id",
            "int64",
            "id",
            "The collection: a job or an alloc set.",
            nullable=False,
            checks=(INTEGER_NOT_NEGATIVE,),
        ),
        TIME,
        *STATE,
        Column(
            "collection_name",
            "string",
            "id",
            "Name of the collection (hash).",
        ),
        Column(
            "collection_logical_name",
            "string",
            "id",
            "Name without its run-specific parts (hash); runs of one program share it.",
        ),
        *WORKLOAD,
        Column(
            "alloc_collection_id",
            "int64",
            "id",
            "Alloc set that the job runs in.",
            checks=(INTEGER_NOT_NEGATIVE,),
        ),
        Column(
            "parent_collection_id",
            "int64",
            "id",
            "Collection whose end also ends this one.",
            checks=(INTEGER_NOT_NEGATIVE,),
        ),
        Column(
            "start_after_collection_ids",
            "list<int64>",
            "id",
            "Collections that must finish before this one starts.",
        ),
        Column(
            "max_per_machine",
            "int32",
            "1",
            "Most instances allowed on one machine.",
            checks=(INTEGER_NOT_NEGATIVE,),
        ),
        Column(
            "max_per_switch",
            "int32",
            "1",
            "Most instances allowed under one switch.",
            checks=(INTEGER_NOT_NEGATIVE,),
        ),
        Column(
            "vertical_scaling",
            "enum",
            "enum",
            "Whether Autopilot may change the requests.",
            enum="vertical_scaling",
        ),
        Column(
            "scheduler",
            "enum",
            "enum",
            "Which scheduler handles it.",
            enum="scheduler",
        ),
        *PROVENANCE,
    ),
)
