"""What an instance used in one measurement window."""

from borgtrace.schema.checks import AMOUNT_NOT_NEGATIVE, Check, at_most_maximum
from borgtrace.schema.tables.columns import (
    COLLECTION_ID,
    COLLECTION_TYPE,
    INSTANCE_INDEX,
    ON_DEDICATED_MACHINE,
    PROVENANCE,
    amount,
    number,
    time,
)
from borgtrace.schema.time import WINDOW
from borgtrace.schema.types import Column, Table

CPU_AT_MOST_1 = Check("cpu_above_1", "at_most", 1)


def _percentiles(name: str, which: str, length: int) -> Column:
    doc = f"CPU rate at the percentiles {which} of the window."
    checks = (AMOUNT_NOT_NEGATIVE, Check("percentiles_empty", "not_empty"), Check("percentiles_unordered", "ascending"))
    return Column(name, "list<float32>", "fraction", doc, length=length, checks=checks)


INSTANCE_USAGE = Table(
    "instance_usage",
    "instance and measurement window",
    ("collection_id", "instance_index", "start_time", "source_part", "source_row"),
    (
        COLLECTION_ID,
        INSTANCE_INDEX,
        time("start_time", "Start of the window, on the trace's clock."),
        time(
            "end_time",
            "End of the window, at most 300 s after its start.",
            Check("end_before_start", "at_least", minus="start_time"),
            Check("window_over_300s", "at_most", WINDOW, minus="start_time"),
        ),
        number("machine_id", "int64", "id", "Machine the instance ran on."),
        ON_DEDICATED_MACHINE,
        number("alloc_collection_id", "int64", "id", "Alloc set that the instance runs in."),
        # int64 here and int32 in the events: so the proto declares them.
        number("alloc_instance_index", "int64", "id", "Alloc instance that the instance runs in."),
        COLLECTION_TYPE,
        amount("average_cpu", "Mean CPU rate over the window.", CPU_AT_MOST_1, at_most_maximum("maximum_cpu")),
        amount("maximum_cpu", "Largest CPU rate among the window's 1-second samples.", CPU_AT_MOST_1),
        amount(
            "sampled_cpu",
            "CPU rate of one random second of the window.",
            CPU_AT_MOST_1,
            Check("sample_out_of_range", "at_most", minus="maximum_cpu"),
        ),
        amount(
            "average_memory", "Mean memory over the window (canonical memory usage).", at_most_maximum("maximum_memory")
        ),
        amount("maximum_memory", "Largest memory among the window's samples."),
        amount("assigned_memory", "Memory the container was given, the limit it ran under."),
        amount("page_cache_memory", "Mean page cache memory of the container."),
        amount("unmapped_page_cache_memory", "Mean page cache memory that no process maps."),
        amount(
            "mean_disk_io_time",
            "Disk time per second, all disks together.",
            at_most_maximum("maximum_disk_io_time"),
            unit="s/s",
        ),
        amount("maximum_disk_io_time", "Largest disk time per second in the window.", unit="s/s"),
        amount("mean_disk_space", "Mean local disk space used."),
        amount("cycles_per_instruction", "Mean CPU cycles per instruction (CPI).", unit="1"),
        amount("memory_accesses_per_instruction", "Mean memory accesses per instruction (MAI).", unit="1"),
        # Two columns, since they are two things: 2011 defines expected ÷ observed samples, v3 samples per second.
        amount("sample_portion", "Ratio of expected to observed samples.", unit="1"),
        amount("sample_rate", "Samples taken per second.", unit="1/s"),
        # It decides how bad a mean above its maximum is: a sum of maxima of sub-containers is no bound for the mean.
        Column("aggregation_type", "bool", "1", "Whether maxima are sums of the maxima of sub-containers."),
        _percentiles("cpu_usage_distribution", "0, 10, …, 100", 11),
        _percentiles("tail_cpu_usage_distribution", "91, 92, …, 99", 9),
        *PROVENANCE,
    ),
)
