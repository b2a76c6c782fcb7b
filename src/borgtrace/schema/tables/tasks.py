"""The index of a store: one row per instance, derived from usage and events at ingest."""

from __future__ import annotations

from borgtrace.schema.enums import EVENT_TYPE
from borgtrace.schema.types import Absent, Column, ColumnType, Table

_DERIVED = {"2011": Absent("derived at ingest"), "2019": Absent("derived at ingest")}
STATISTICS_COLUMNS = ("average_cpu", "sampled_cpu", "average_memory")
"""Usage columns whose mean, deviation, maximum and time-weighted mean each task carries."""


def _column(
    name: str, type: ColumnType, unit: str, doc: str, *, nullable: bool = True, enum: str | None = None
) -> Column:
    return Column(name, type, unit, doc, nullable, _DERIVED, enum)


def _statistics(column: str) -> tuple[Column, ...]:
    """What is said of one usage column: over rows, NULLs skipped, ddof 0."""
    return (
        _column(f"mean_{column}", "float64", "fraction", f"Mean of {column} over the windows, unweighted."),
        _column(f"std_{column}", "float64", "fraction", f"Standard deviation of {column} over the windows (ddof 0)."),
        _column(f"max_{column}", "float64", "fraction", f"Largest {column} of a window."),
        _column(
            f"weighted_mean_{column}", "float64", "fraction", f"Mean of {column} weighted by the length of the windows."
        ),
    )


def _counts() -> tuple[Column, ...]:
    return tuple(
        _column(f"n_{name.lower()}", "int32", "count", f"Number of {name} events.", nullable=False)
        for name in EVENT_TYPE.names
    )


TASKS = Table(
    "tasks",
    "instance seen in usage or in events",
    ("collection_id", "instance_index"),
    (
        _column("collection_id", "int64", "id", "The collection the instance belongs to.", nullable=False),
        _column("instance_index", "int32", "id", "Position of the instance in its collection.", nullable=False),
        _column("collection_type", "enum", "enum", "JOB or ALLOC_SET.", nullable=False, enum="collection_type"),
        _column("first_row", "int64", "row", "First row of the instance in instance_usage.", nullable=False),
        _column("n_windows", "int32", "count", "Number of usage rows, may be 0.", nullable=False),
        _column(
            "n_gaps",
            "int32",
            "count",
            "Number of times a window starts after the end of all windows before it.",
            nullable=False,
        ),
        _column("n_machines", "int32", "count", "Number of distinct machines in usage.", nullable=False),
        _column("seconds", "float64", "s", "Sum of the lengths of the windows.", nullable=False),
        _column("first_time", "int64", "us", "Earliest start of a window, or earliest event without usage."),
        _column("last_time", "int64", "us", "Latest end of a window, or latest event without usage."),
        *(column for name in STATISTICS_COLUMNS for column in _statistics(name)),
        _column("priority", "int32", "rank", "Priority on the last SCHEDULE, else the last known."),
        _column("scheduling_class", "int32", "class", "Class on the last SCHEDULE, else the last known."),
        _column("cpu_request", "float32", "fraction", "CPU request on the last SCHEDULE, else the last known."),
        _column("memory_request", "float32", "fraction", "Memory request on the last SCHEDULE, else the last known."),
        _column("disk_request", "float32", "fraction", "Disk request on the last SCHEDULE, else the last known."),
        _column("user", "string", "id", "Who submitted it (hash)."),
        _column("collection_logical_name", "string", "id", "Logical name of its collection (hash)."),
        *_counts(),
        _column(
            "end_type", "enum", "enum", "Type of the last event if that is terminal, else NULL.", enum="event_type"
        ),
    ),
)
