"""Measurements of tasks in formats that are converted."""

from borgtrace.schema.checks import INTEGER_NOT_NEGATIVE, not_before
from borgtrace.schema.records.shared_columns import (
    BYTES,
    CORES,
    COUNT,
    CPU_SECONDS,
    MEGAHERTZ,
    TASK_OF_ROW,
    TIME,
    WORKLOAD_OF_ROW,
)
from borgtrace.schema.types import Column, Table

CPU_PERCENTILES = tuple(range(0, 101, 10))
"""Percentiles of CPU in a window that 2019 publishes, from the least to the largest value."""
CPU_TAIL_PERCENTILES = tuple(range(91, 100))
"""Those of its upper end."""


def percentile_column(percentile: int) -> str:
    """Return the name of the column of a percentile of CPU in a window.

    Examples
    --------
    >>> percentile_column(99)
    'cpu_p99'
    """
    return f"cpu_p{percentile}"


USAGE_ROWS = Table(
    name="usage_rows",
    grain="measurement of a task",
    key=(),
    columns=(
        *TASK_OF_ROW,
        Column(
            "job",
            "string",
            "id",
            "Job that it is a task of.",
        ),
        Column(
            "instance_name",
            "string",
            "id",
            "Name of the instance in its task, over whose life the row is a mean.",
        ),
        Column(
            "time",
            "int64",
            "us",
            "When it was measured: the start of its window, or the end where the format says so.",
            checks=TIME,
        ),
        Column(
            "end",
            "int64",
            "us",
            "End of its window.",
            checks=(*TIME, not_before("time")),
        ),
        Column(
            "length",
            "int64",
            "us",
            "Length of its window.",
            checks=TIME,
        ),
        Column(
            "average_cpu",
            "float64",
            "cores",
            "Mean CPU over the window.",
            checks=CORES,
        ),
        Column(
            "instant_cpu",
            "float64",
            "cores",
            "CPU at one instant.",
            checks=CORES,
        ),
        Column(
            "counter_cpu",
            "float64",
            "s",
            "CPU time since the task began.",
            checks=CPU_SECONDS,
        ),
        Column(
            "maximum_cpu",
            "float64",
            "cores",
            "Largest CPU in the window.",
            checks=CORES,
        ),
        Column(
            "average_memory",
            "float64",
            "bytes",
            "Mean memory over the window.",
            checks=BYTES,
        ),
        Column(
            "instant_memory",
            "float64",
            "bytes",
            "Memory at one instant.",
            checks=BYTES,
        ),
        Column(
            "maximum_memory",
            "float64",
            "bytes",
            "Largest memory in the window.",
            checks=BYTES,
        ),
        Column(
            "cycles_per_instruction",
            "float64",
            "1",
            "Mean CPU cycles per instruction (CPI).",
            checks=COUNT,
        ),
        Column(
            "assigned_memory",
            "float64",
            "bytes",
            "Memory that the task may use.",
            checks=BYTES,
        ),
        Column(
            "sample_rate",
            "float64",
            "1",
            "Share of the seconds of the window that were sampled.",
            checks=COUNT,
        ),
        Column(
            "app",
            "string",
            "id",
            "Application or deployment of the task, which other tasks share.",
        ),
        *WORKLOAD_OF_ROW,
        Column(
            "user",
            "string",
            "id",
            "Who submitted the task.",
        ),
        Column(
            "priority",
            "int32",
            "rank",
            "Priority of the task.",
            checks=(INTEGER_NOT_NEGATIVE,),
        ),
        Column(
            "cpu_request",
            "float64",
            "cores",
            "CPU that the task requested at that time.",
            checks=CORES,
        ),
        Column(
            "cpu_clock",
            "float64",
            "MHz",
            "Clock of all its cores together at that time.",
            checks=MEGAHERTZ,
        ),
        Column(
            "memory_request",
            "float64",
            "bytes",
            "Memory that the task requested at that time.",
            checks=BYTES,
        ),
        Column(
            "cpu_limit",
            "float64",
            "cores",
            "Most CPU that the task might take at that time.",
        ),
        Column(
            "memory_limit",
            "float64",
            "bytes",
            "Most memory that the task might take at that time.",
        ),
        *(
            Column(
                percentile_column(percentile),
                "float64",
                "cores",
                f"Percentile {percentile} of CPU in the window.",
                checks=CORES,
            )
            for percentile in (*CPU_PERCENTILES, *CPU_TAIL_PERCENTILES)
        ),
    ),
)
