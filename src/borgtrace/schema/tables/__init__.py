"""The tables of a store, one module each: readers, checks, docs and test strategies derive from them."""

from collections.abc import Iterable, Mapping

from borgtrace.schema.tables.collection_events import COLLECTION_EVENTS
from borgtrace.schema.tables.instance_constraints import INSTANCE_CONSTRAINTS
from borgtrace.schema.tables.instance_events import INSTANCE_EVENTS
from borgtrace.schema.tables.instance_usage import INSTANCE_USAGE
from borgtrace.schema.tables.machine_attributes import MACHINE_ATTRIBUTES
from borgtrace.schema.tables.machine_events import MACHINE_EVENTS
from borgtrace.schema.tables.machine_power_domains import MACHINE_POWER_DOMAINS
from borgtrace.schema.tables.power_measurements import POWER_MEASUREMENTS
from borgtrace.schema.tables.tasks import TASKS
from borgtrace.schema.types import Table

STATISTICS_COLUMNS = ("average_cpu", "sampled_cpu", "average_memory")
"""Usage columns whose mean, deviation, maximum and time-weighted mean each task carries."""

LAST_KNOWN_COLUMNS = (
    "priority",
    "scheduling_class",
    "cpu_request",
    "memory_request",
    "disk_request",
    "gpu_request",
    "cpu_limit",
    "memory_limit",
)
"""Columns of which each task carries what its last SCHEDULE says, else the last event that says anything."""

# In the order in which people read: machines, then collections, then instances.
_READ_FROM_FILES = (
    MACHINE_EVENTS,
    MACHINE_ATTRIBUTES,
    POWER_MEASUREMENTS,
    MACHINE_POWER_DOMAINS,
    COLLECTION_EVENTS,
    INSTANCE_EVENTS,
    INSTANCE_CONSTRAINTS,
    INSTANCE_USAGE,
)

TRACE_TABLES: dict[str, Table] = {table.name: table for table in _READ_FROM_FILES}
"""Tables that are read from raw files, whose rows say where they are from."""

TABLES: dict[str, Table] = {**TRACE_TABLES, TASKS.name: TASKS}
"""All tables of a store: the trace's own and the derived ``tasks``."""

DISTRIBUTIONS: Mapping[str, tuple[str, ...]] = {
    "cpu_usage_distribution": tuple(f"p{percent}" for percent in range(0, 101, 10)),
    "tail_cpu_usage_distribution": tuple(f"p{percent}" for percent in range(91, 100)),
}
"""Columns that hold the percentiles of a window's seconds, with the names of the series that their elements are."""

PERCENTILES: dict[str, tuple[str, int]] = {
    series: (column, place)
    for column, names in DISTRIBUTIONS.items()
    for place, series in enumerate(names)
}
"""Each such series: its column and its place there."""


def with_percentiles(names: Iterable[str]) -> tuple[str, ...]:
    """Put the names of its percentiles in the place of each distribution.

    Examples
    --------
    >>> with_percentiles(["average_cpu", "tail_cpu_usage_distribution"])[:3]
    ('average_cpu', 'p91', 'p92')
    """
    series: list[str] = []
    for name in names:
        series += DISTRIBUTIONS.get(name, (name,))
    return tuple(series)
