"""What an instance used in one measurement window."""

from __future__ import annotations

from borgtrace.schema.tables.columns import (
    COLLECTION_ID,
    COLLECTION_TYPE,
    INSTANCE_INDEX,
    ON_DEDICATED_MACHINE,
    PROVENANCE,
    amount,
    key,
)
from borgtrace.schema.types import Column, Table


def _percentiles(name: str, which: str, length: int) -> Column:
    doc = f"CPU rate at the percentiles {which} of the window."
    return Column(name, "list<float32>", "fraction", doc, length=length)


INSTANCE_USAGE = Table(
    "instance_usage",
    "instance and measurement window",
    ("collection_id", "instance_index", "start_time", "source_part", "source_row"),
    (
        COLLECTION_ID,
        INSTANCE_INDEX,
        key("start_time", "int64", "us", "Start of the window, on the trace's clock."),
        key("end_time", "int64", "us", "End of the window, at most 300 s after its start."),
        Column("machine_id", "int64", "id", "Machine the instance ran on."),
        ON_DEDICATED_MACHINE,
        Column("alloc_collection_id", "int64", "id", "Alloc set that the instance runs in."),
        Column("alloc_instance_index", "int64", "id", "Alloc instance that the instance runs in."),
        COLLECTION_TYPE,
        amount("average_cpu", "Mean CPU rate over the window."),
        amount("maximum_cpu", "Largest CPU rate among the window's 1-second samples."),
        amount("sampled_cpu", "CPU rate of one random second of the window."),
        amount("average_memory", "Mean memory over the window (canonical memory usage)."),
        amount("maximum_memory", "Largest memory among the window's samples."),
        amount("assigned_memory", "Memory the container was given, the limit it ran under."),
        amount("page_cache_memory", "Mean page cache memory of the container."),
        amount("unmapped_page_cache_memory", "Mean page cache memory that no process maps."),
        amount("mean_disk_io_time", "Disk time per second, all disks together.", "s/s"),
        amount("maximum_disk_io_time", "Largest disk time per second in the window.", "s/s"),
        amount("mean_disk_space", "Mean local disk space used."),
        amount("cycles_per_instruction", "Mean CPU cycles per instruction (CPI).", "1"),
        amount("memory_accesses_per_instruction", "Mean memory accesses per instruction (MAI).", "1"),
        amount("sample_portion", "Ratio of expected to observed samples.", "1"),
        amount("sample_rate", "Samples taken per second.", "1/s"),
        Column("aggregation_type", "bool", "1", "Whether maxima are sums of the maxima of sub-containers."),
        _percentiles("cpu_usage_distribution", "0, 10, …, 100", 11),
        _percentiles("tail_cpu_usage_distribution", "91, 92, …, 99", 9),
        *PROVENANCE,
    ),
)
