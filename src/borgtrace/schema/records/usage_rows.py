"""Measurements of tasks in formats that are converted."""

from borgtrace.schema.checks import not_before
from borgtrace.schema.records.shared_columns import (
    BYTES,
    CORES,
    COUNT,
    CPU_SECONDS,
    TASK_OF_ROW,
    TIME,
)
from borgtrace.schema.types import Column, Table

USAGE_ROWS = Table(
    name="usage_rows",
    grain="measurement of a task",
    key=(),
    columns=(
        *TASK_OF_ROW,
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
    ),
)
