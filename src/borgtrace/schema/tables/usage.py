"""What an instance used in one measurement window."""

from __future__ import annotations

from borgtrace.schema.tables.columns import (
    FLAG,
    IMPLICIT_JOB,
    NO_ALLOCS,
    NOT_IN_2011,
    NOT_IN_2019,
    PROVENANCE,
    column,
    key,
)
from borgtrace.schema.types import Column, Source, Table


def _measured(name: str, unit: str, doc: str, in_2011: Source, in_2019: Source) -> Column:
    """Declare one measured number."""
    return column(name, "float32", unit, doc, in_2011, in_2019)


def _usage(field: int) -> str:
    return f"task_usage.{field}"


def _v3(path: str) -> str:
    return f"instance_usage.{path}"


INSTANCE_USAGE = Table(
    "instance_usage",
    "instance and measurement window",
    ("collection_id", "instance_index", "start_time", "source_part", "source_row"),
    (
        key("collection_id", "int64", "id", "The collection the instance belongs to.", _usage(3), _v3("collection_id")),
        key(
            "instance_index",
            "int32",
            "id",
            "Position of the instance in its collection, from 0.",
            _usage(4),
            _v3("instance_index"),
        ),
        key("start_time", "int64", "us", "Start of the window, on the trace's clock.", _usage(1), _v3("start_time")),
        key("end_time", "int64", "us", "End of the window, at most 300 s after its start.", _usage(2), _v3("end_time")),
        column("machine_id", "int64", "id", "Machine the instance ran on.", _usage(5), _v3("machine_id")),
        key(
            "is_on_dedicated_machine",
            "bool",
            "1",
            "Whether the machine is a dedicated one, which has no id.",
            FLAG,
            FLAG,
        ),
        column(
            "alloc_collection_id",
            "int64",
            "id",
            "Alloc set that the instance runs in.",
            NO_ALLOCS,
            _v3("alloc_collection_id"),
        ),
        column(
            "alloc_instance_index",
            "int64",
            "id",
            "Alloc instance that the instance runs in.",
            NO_ALLOCS,
            _v3("alloc_instance_index"),
        ),
        column(
            "collection_type",
            "enum",
            "enum",
            "JOB or ALLOC_SET.",
            IMPLICIT_JOB,
            _v3("collection_type"),
            nullable=False,
            enum="collection_type",
        ),
        _measured("average_cpu", "fraction", "Mean CPU rate over the window.", _usage(6), _v3("average_usage.cpus")),
        _measured(
            "maximum_cpu",
            "fraction",
            "Largest CPU rate among the window's 1-second samples.",
            _usage(14),
            _v3("maximum_usage.cpus"),
        ),
        _measured(
            "sampled_cpu",
            "fraction",
            "CPU rate of one random second of the window.",
            _usage(20),
            _v3("random_sample_usage.cpus"),
        ),
        _measured(
            "average_memory",
            "fraction",
            "Mean memory over the window (canonical memory usage).",
            _usage(7),
            _v3("average_usage.memory"),
        ),
        _measured(
            "maximum_memory",
            "fraction",
            "Largest memory among the window's samples.",
            _usage(11),
            _v3("maximum_usage.memory"),
        ),
        _measured(
            "assigned_memory",
            "fraction",
            "Memory the container was given, the limit it ran under.",
            _usage(8),
            _v3("assigned_memory"),
        ),
        _measured(
            "page_cache_memory",
            "fraction",
            "Mean page cache memory of the container.",
            _usage(10),
            _v3("page_cache_memory"),
        ),
        _measured(
            "unmapped_page_cache_memory",
            "fraction",
            "Mean page cache memory that no process maps.",
            _usage(9),
            NOT_IN_2019,
        ),
        _measured("mean_disk_io_time", "s/s", "Disk time per second, all disks together.", _usage(12), NOT_IN_2019),
        _measured(
            "maximum_disk_io_time", "s/s", "Largest disk time per second in the window.", _usage(15), NOT_IN_2019
        ),
        _measured("mean_disk_space", "fraction", "Mean local disk space used.", _usage(13), NOT_IN_2019),
        _measured(
            "cycles_per_instruction",
            "1",
            "Mean CPU cycles per instruction (CPI).",
            _usage(16),
            _v3("cycles_per_instruction"),
        ),
        _measured(
            "memory_accesses_per_instruction",
            "1",
            "Mean memory accesses per instruction (MAI).",
            _usage(17),
            _v3("memory_accesses_per_instruction"),
        ),
        _measured("sample_portion", "1", "Ratio of expected to observed samples.", _usage(18), NOT_IN_2019),
        _measured("sample_rate", "1/s", "Samples taken per second.", NOT_IN_2011, _v3("sample_rate")),
        column(
            "aggregation_type",
            "bool",
            "1",
            "Whether maxima are sums of the maxima of sub-containers.",
            _usage(19),
            NOT_IN_2019,
        ),
        column(
            "cpu_usage_distribution",
            "list<float32>",
            "fraction",
            "CPU rate at the percentiles 0, 10, …, 100 of the window.",
            NOT_IN_2011,
            _v3("cpu_usage_distribution"),
            length=11,
        ),
        column(
            "tail_cpu_usage_distribution",
            "list<float32>",
            "fraction",
            "CPU rate at the percentiles 91, 92, …, 99 of the window.",
            NOT_IN_2011,
            _v3("tail_cpu_usage_distribution"),
            length=9,
        ),
        *PROVENANCE,
    ),
)
