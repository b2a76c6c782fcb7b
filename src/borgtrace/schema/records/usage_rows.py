"""Measurements of tasks in formats that are converted."""

from borgtrace.schema.checks import AMOUNT_NOT_NEGATIVE, INTEGER_NOT_NEGATIVE, not_before
from borgtrace.schema.records.shared_columns import TASK_OF_ROW
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
            checks=(INTEGER_NOT_NEGATIVE,),
        ),
        Column(
            "end",
            "int64",
            "us",
            "End of its window.",
            checks=(INTEGER_NOT_NEGATIVE, not_before("time")),
        ),
        Column(
            "length",
            "int64",
            "us",
            "Length of its window.",
            checks=(INTEGER_NOT_NEGATIVE,),
        ),
        Column(
            "average_cpu",
            "float64",
            "cores",
            "Mean CPU over the window.",
            checks=(AMOUNT_NOT_NEGATIVE,),
        ),
        Column(
            "instant_cpu",
            "float64",
            "cores",
            "CPU at one instant.",
            checks=(AMOUNT_NOT_NEGATIVE,),
        ),
        Column(
            "counter_cpu",
            "float64",
            "s",
            "CPU time since the task began.",
            checks=(AMOUNT_NOT_NEGATIVE,),
        ),
        Column(
            "maximum_cpu",
            "float64",
            "cores",
            "Largest CPU in the window.",
            checks=(AMOUNT_NOT_NEGATIVE,),
        ),
        Column(
            "average_memory",
            "float64",
            "bytes",
            "Mean memory over the window.",
            checks=(AMOUNT_NOT_NEGATIVE,),
        ),
        Column(
            "instant_memory",
            "float64",
            "bytes",
            "Memory at one instant.",
            checks=(AMOUNT_NOT_NEGATIVE,),
        ),
        Column(
            "maximum_memory",
            "float64",
            "bytes",
            "Largest memory in the window.",
            checks=(AMOUNT_NOT_NEGATIVE,),
        ),
        Column(
            "cycles_per_instruction",
            "float64",
            "1",
            "Mean CPU cycles per instruction (CPI).",
            checks=(AMOUNT_NOT_NEGATIVE,),
        ),
    ),
)
