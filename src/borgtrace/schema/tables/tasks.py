"""The index of a store: one row per instance, derived from usage and events at ingest."""

from borgtrace.schema.enums import EVENT_TYPE
from borgtrace.schema.tables.columns import COLLECTION_TYPE, code, key
from borgtrace.schema.types import Column, Table

STATISTICS_COLUMNS = ("average_cpu", "sampled_cpu", "average_memory")
"""Usage columns whose mean, deviation, maximum and time-weighted mean each task carries."""


def _statistics(column: str) -> tuple[Column, ...]:
    """What is said of one usage column: over rows, NULLs skipped, ddof 0."""
    return (
        Column(f"mean_{column}", "float64", "fraction", f"Mean of {column} over the windows, unweighted."),
        Column(f"std_{column}", "float64", "fraction", f"Standard deviation of {column} over the windows (ddof 0)."),
        Column(f"max_{column}", "float64", "fraction", f"Largest {column} of a window."),
        Column(
            f"weighted_mean_{column}", "float64", "fraction", f"Mean of {column} weighted by the length of the windows."
        ),
    )


def _counts() -> tuple[Column, ...]:
    return tuple(key(f"n_{name.lower()}", "int32", "count", f"Number of {name} events.") for name in EVENT_TYPE.names)


TASKS = Table(
    "tasks",
    "instance seen in usage or in events",
    ("collection_id", "instance_index"),
    (
        key("collection_id", "int64", "id", "The collection the instance belongs to."),
        key("instance_index", "int32", "id", "Position of the instance in its collection."),
        COLLECTION_TYPE,
        key("first_row", "int64", "row", "First row of the instance in instance_usage."),
        key("n_windows", "int32", "count", "Number of usage rows, may be 0."),
        key("n_gaps", "int32", "count", "Number of times a window starts after the end of all windows before it."),
        key("n_machines", "int32", "count", "Number of distinct machines in usage."),
        key("seconds", "float64", "s", "Sum of the lengths of the windows."),
        Column("first_time", "int64", "us", "Earliest start of a window, or earliest event without usage."),
        Column("last_time", "int64", "us", "Latest end of a window, or latest event without usage."),
        *(column for name in STATISTICS_COLUMNS for column in _statistics(name)),
        # Those of the last SCHEDULE: in 2011, 37,313 tasks at time 0 carry other requests on SUBMIT, and the published
        # stocks use those of SCHEDULE.
        Column("priority", "int32", "rank", "Priority on the last SCHEDULE, else the last known."),
        Column("scheduling_class", "int32", "class", "Class on the last SCHEDULE, else the last known."),
        Column("cpu_request", "float32", "fraction", "CPU request on the last SCHEDULE, else the last known."),
        Column("memory_request", "float32", "fraction", "Memory request on the last SCHEDULE, else the last known."),
        Column("disk_request", "float32", "fraction", "Disk request on the last SCHEDULE, else the last known."),
        Column("user", "string", "id", "Who submitted it (hash)."),
        Column("collection_logical_name", "string", "id", "Logical name of its collection (hash)."),
        *_counts(),
        code("end_type", "event_type", "Type of the last event if that is terminal, else NULL."),
    ),
)
