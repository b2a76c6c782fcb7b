"""What happened to collections (jobs, alloc sets) and to their instances (tasks)."""

from borgtrace.schema.checks import Check
from borgtrace.schema.tables.columns import (
    COLLECTION_ID,
    COLLECTION_TYPE,
    INSTANCE_INDEX,
    ON_DEDICATED_MACHINE,
    PROVENANCE,
    TIME,
    amount,
    code,
    key,
    number,
    time,
)
from borgtrace.schema.types import Column, Table

_STATE = (
    code("type", "event_type", "What happened, a step of the life cycle.", nullable=False),
    code("missing_type", "missing_type", "Why the event was synthesized; NULL if nothing is missing."),
    COLLECTION_TYPE,
    number(
        # A number, not an enumeration: it is an order, and all papers write "class 3".
        "scheduling_class",
        "int32",
        "class",
        "How latency-sensitive it is, 0 (least) to 3 (most).",
        Check("unknown_enum_code", "at_most", 3),
    ),
    # Raw, since its meaning is the dialect's: its tiers, and 2011's ranks, are asked for there.
    number("priority", "int32", "rank", "Priority: 0 to 11 in 2011, raw 0 to 450 in 2019."),
    Column("user", "string", "id", "Who submitted it (hash)."),
)
"""What every event of a collection or an instance says first."""

COLLECTION_EVENTS = Table(
    "collection_events",
    "event of a collection",
    ("collection_id", "time", "source_part", "source_row"),
    (
        key("collection_id", "int64", "id", "The collection: a job or an alloc set."),
        TIME,
        *_STATE,
        Column("collection_name", "string", "id", "Name of the collection (hash)."),
        Column(
            "collection_logical_name",
            "string",
            "id",
            "Name without its run-specific parts (hash); runs of one program share it.",
        ),
        number("alloc_collection_id", "int64", "id", "Alloc set that the job runs in."),
        number("parent_collection_id", "int64", "id", "Collection whose end also ends this one."),
        Column(
            "start_after_collection_ids", "list<int64>", "id", "Collections that must finish before this one starts."
        ),
        number("max_per_machine", "int32", "1", "Most instances allowed on one machine."),
        number("max_per_switch", "int32", "1", "Most instances allowed under one switch."),
        code("vertical_scaling", "vertical_scaling", "Whether Autopilot may change the requests."),
        code("scheduler", "scheduler", "Which scheduler handles it."),
        *PROVENANCE,
    ),
)

INSTANCE_EVENTS = Table(
    "instance_events",
    "event of an instance",
    ("collection_id", "instance_index", "time", "source_part", "source_row"),
    (
        COLLECTION_ID,
        INSTANCE_INDEX,
        TIME,
        *_STATE,
        # NULL for a SUBMIT after time 0 and for 38 % of KILLs of 2011: such an instance is on no machine.
        number("machine_id", "int64", "id", "Machine the instance is on."),
        ON_DEDICATED_MACHINE,
        number("alloc_collection_id", "int64", "id", "Alloc set that the instance runs in."),
        number("alloc_instance_index", "int32", "id", "Alloc instance that the instance runs in."),
        amount("cpu_request", "Requested CPU, as a fraction of the largest machine."),
        amount("memory_request", "Requested memory, as a fraction of the largest machine."),
        amount("disk_request", "Requested local disk space, as a fraction of the largest machine."),
        Column(
            "needs_different_machine",
            "bool",
            "1",
            "Whether it must run on another machine than all other tasks of its job.",
        ),
        *PROVENANCE,
    ),
)

INSTANCE_CONSTRAINTS = Table(
    "instance_constraints",
    "constraint of an event",
    ("collection_id", "instance_index", "time", "name", "source_part", "source_row", "position"),
    (
        COLLECTION_ID,
        INSTANCE_INDEX,
        time("time", "When the event that carries the constraint happened."),
        key("name", "string", "id", "Name of the machine attribute (hash)."),
        code("relation", "relation", "How attribute and value are compared.", nullable=False),
        Column("value", "string", "1", "Value to compare with; empty text is a value, not NULL."),
        key("position", "int32", "id", "Place, from 0, in the event's list of constraints."),
        *PROVENANCE,
    ),
)
