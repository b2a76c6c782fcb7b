"""What happened to each task and alloc instance, and what it requested."""

from borgtrace.schema.checks import AMOUNT_NOT_NEGATIVE, INTEGER_NOT_NEGATIVE
from borgtrace.schema.tables.shared_columns import (
    INSTANCE,
    ON_DEDICATED_MACHINE,
    PROVENANCE,
    STATE,
    TIME,
)
from borgtrace.schema.types import Column, Table

INSTANCE_EVENTS = Table(
    name="instance_events",
    grain="event of an instance",
    key=("collection_id", "instance_index", "time", "source_part", "source_row"),
    columns=(
        *INSTANCE,
        TIME,
        *STATE,
        # NULL for a SUBMIT after time 0 and for 38 % of KILLs of 2011: such an instance is on no machine.
        Column(
            "machine_id",
            "int64",
            "id",
            "Machine the instance is on.",
            checks=(INTEGER_NOT_NEGATIVE,),
        ),
        ON_DEDICATED_MACHINE,
        Column(
            "alloc_collection_id",
            "int64",
            "id",
            "Alloc set that the instance runs in.",
            checks=(INTEGER_NOT_NEGATIVE,),
        ),
        Column(
            "alloc_instance_index",
            "int32",
            "id",
            "Alloc instance that the instance runs in.",
            checks=(INTEGER_NOT_NEGATIVE,),
        ),
        Column(
            "cpu_request",
            "float32",
            "fraction",
            "Requested CPU, as a fraction of the largest machine.",
            checks=(AMOUNT_NOT_NEGATIVE,),
        ),
        Column(
            "memory_request",
            "float32",
            "fraction",
            "Requested memory, as a fraction of the largest machine.",
            checks=(AMOUNT_NOT_NEGATIVE,),
        ),
        Column(
            "disk_request",
            "float32",
            "fraction",
            "Requested local disk space, as a fraction of the largest machine.",
            checks=(AMOUNT_NOT_NEGATIVE,),
        ),
        Column(
            "gpu_request",
            "float32",
            "1/1000",
            "Requested GPUs in thousandths of a device, all of its devices together.",
            checks=(AMOUNT_NOT_NEGATIVE,),
        ),
        Column(
            "cpu_limit",
            "float32",
            "fraction",
            "Most CPU that it may take, as a fraction of the largest machine; what Google calls a limit is a request.",
            checks=(AMOUNT_NOT_NEGATIVE,),
        ),
        Column(
            "memory_limit",
            "float32",
            "fraction",
            "Most memory that it may take, as a fraction of the largest machine.",
            checks=(AMOUNT_NOT_NEGATIVE,),
        ),
        Column(
            "end_reason",
            "string",
            "id",
            "Why it ended, in the words of its source, such as OOMKilled.",
        ),
        Column(
            "needs_different_machine",
            "bool",
            "1",
            "Whether it must run on another machine than all other tasks of its job.",
        ),
        *PROVENANCE,
    ),
)
