"""Columns that several kinds of rows of converted formats have."""

from borgtrace.schema.checks import (
    AMOUNT_NOT_NEGATIVE,
    FURTHEST_TIME,
    INTEGER_NOT_NEGATIVE,
    ColumnCheck,
    amount_at_most,
)
from borgtrace.schema.types import Column

TIME = (INTEGER_NOT_NEGATIVE, ColumnCheck("integer_out_of_range", "at_most", FURTHEST_TIME))
"""Rules of an instant, and of a length of time."""
LENGTHS = ("wait", "run", "length")
"""Columns of times that are lengths, not instants."""
MOST_CORES = 10**9
"""All supercomputers together have fewer cores."""
MOST_BYTES = 2**60
"""1 EiB, below what stands for "unlimited" (2⁶³)."""
CORES = (AMOUNT_NOT_NEGATIVE, amount_at_most(MOST_CORES))
"""Rules of an amount of CPU."""
BYTES = (AMOUNT_NOT_NEGATIVE, amount_at_most(MOST_BYTES))
"""Rules of an amount of memory."""
CPU_SECONDS = (AMOUNT_NOT_NEGATIVE, amount_at_most(10**15))
"""Rules of CPU time since the start of a task: a million cores for 31 years."""
SHARE = (AMOUNT_NOT_NEGATIVE, amount_at_most(10**6))
"""Rules of an amount that is a share of a request or of a machine."""
MEGAHERTZ = (AMOUNT_NOT_NEGATIVE, amount_at_most(10**14))
"""Rules of the clock of all cores together."""
COUNT = (AMOUNT_NOT_NEGATIVE, amount_at_most(10**9))
"""Rules of a number of devices, a share in thousandths and a ratio."""

TASK_OF_ROW = (
    Column(
        "task",
        "string",
        "id",
        "Name of the container, VM or job.",
        nullable=False,
    ),
    Column(
        "instance",
        "int32",
        "id",
        "Index of the task in its job; 0 where it is alone.",
        checks=(INTEGER_NOT_NEGATIVE,),
    ),
    Column(
        "machine",
        "string",
        "id",
        "Name of the machine.",
    ),
)
"""Which task a row is about, and where that was."""

WORKLOAD_OF_ROW = (
    Column(
        "cluster",
        "string",
        "id",
        "Cluster of the container.",
    ),
    Column(
        "namespace",
        "string",
        "id",
        "Namespace of the container.",
    ),
    Column(
        "pod",
        "string",
        "id",
        "Pod of the container.",
    ),
    Column(
        "container",
        "string",
        "id",
        "Name of the container in its pod.",
    ),
    Column(
        "owner_kind",
        "string",
        "id",
        "Kind of its application, such as Deployment.",
    ),
)
"""Where in a cluster of Kubernetes a row's task belongs: beside its name, which is of one piece."""
