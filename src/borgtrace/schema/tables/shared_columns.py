"""Columns that several tables of a store have."""

from borgtrace.schema.checks import INTEGER_NOT_NEGATIVE, NOT_AFTER_TRACE, code_at_most
from borgtrace.schema.types import Column

INSTANCE = (
    Column(
        "collection_id",
        "int64",
        "id",
        "The collection the instance belongs to.",
        nullable=False,
        checks=(INTEGER_NOT_NEGATIVE,),
    ),
    Column(
        "instance_index",
        "int32",
        "id",
        "Position of the instance in its collection, from 0.",
        nullable=False,
        checks=(INTEGER_NOT_NEGATIVE,),
    ),
)
"""What identifies an instance."""

WORKLOAD = (
    Column(
        "cluster",
        "string",
        "id",
        "Cluster of its container.",
    ),
    Column(
        "namespace",
        "string",
        "id",
        "Namespace of its container.",
    ),
    Column(
        "pod",
        "string",
        "id",
        "Pod of its container.",
    ),
    Column(
        "container",
        "string",
        "id",
        "Name of the container in its pod; NULL where a pod was measured as a whole.",
    ),
    Column(
        "owner_kind",
        "string",
        "id",
        "Kind of the workload that collection_logical_name names, such as Deployment.",
    ),
)
"""Where in a cluster of Kubernetes a collection belongs; NULL in all other traces."""

# 0, "before the trace", is legal and common: 277,321 of the 450,146 rows of the first part of task_events.
TIME = Column(
    "time",
    "int64",
    "us",
    "When it happened, on the trace's clock.",
    nullable=False,
    checks=(INTEGER_NOT_NEGATIVE, NOT_AFTER_TRACE),
)

MACHINE_ID = Column(
    "machine_id",
    "int64",
    "id",
    "The machine.",
    nullable=False,
    checks=(INTEGER_NOT_NEGATIVE,),
)

COLLECTION_TYPE = Column(
    "collection_type",
    "enum",
    "enum",
    "JOB or ALLOC_SET.",
    nullable=False,
    enum="collection_type",
)

ON_DEDICATED_MACHINE = Column(
    "is_on_dedicated_machine",
    "bool",
    "1",
    "Whether the machine is a dedicated one, which has no id.",
    nullable=False,
)

# Part of every key: 132,982 pairs of SUBMIT and SCHEDULE of 2011 share their microsecond, and only the order in
# the file tells which came first.
PROVENANCE = (
    Column(
        "source_part",
        "int32",
        "id",
        "Number in the raw file's name, else the rank of the file by content digest.",
        nullable=False,
        checks=(INTEGER_NOT_NEGATIVE,),
    ),
    Column(
        "source_row",
        "int64",
        "id",
        "Data row in the raw file, counted from 0.",
        nullable=False,
        checks=(INTEGER_NOT_NEGATIVE,),
    ),
)
"""Which raw file a row is from, and its place there."""

STATE = (
    Column(
        "type",
        "enum",
        "enum",
        "What happened, a step of the life cycle.",
        nullable=False,
        enum="event_type",
    ),
    Column(
        "missing_type",
        "enum",
        "enum",
        "Why the event was synthesized; NULL if nothing is missing.",
        enum="missing_type",
    ),
    COLLECTION_TYPE,
    # A number, not an enumeration: it is an order, and all papers write "class 3".
    Column(
        "scheduling_class",
        "int32",
        "class",
        "How latency-sensitive it is, 0 (least) to 3 (most).",
        checks=(INTEGER_NOT_NEGATIVE, code_at_most(3)),
    ),
    # Stored raw: the trace format says what tiers, and 2011's ranks, mean.
    Column(
        "priority",
        "int32",
        "rank",
        "Priority: 0 to 11 in 2011, raw 0 to 450 in 2019.",
        checks=(INTEGER_NOT_NEGATIVE,),
    ),
    Column(
        "user",
        "string",
        "id",
        "Who submitted it (hash).",
    ),
)
"""What every event of a collection or an instance says first."""

# Google publishes power beside the traces of its cells, and of cells that have no other trace too.
POWER_DOMAIN = (
    Column(
        "cell",
        "string",
        "id",
        "The cell that the domain is in: a to h as in the traces, i and j beside them.",
        nullable=False,
    ),
    Column(
        "pdu",
        "string",
        "id",
        "The power domain: a distribution unit (pdu6) or a medium voltage power plane (mvpp1).",
        nullable=False,
    ),
)
"""What identifies a power domain."""
