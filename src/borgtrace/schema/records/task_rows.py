"""Lives of tasks in formats that are converted."""

from borgtrace.schema.checks import INTEGER_NOT_NEGATIVE
from borgtrace.schema.records.shared_columns import (
    BYTES,
    CORES,
    COUNT,
    MEGAHERTZ,
    TASK_OF_ROW,
    TIME,
)
from borgtrace.schema.types import Column, Table

TASK_ROWS = Table(
    name="task_rows",
    grain="attempt of a task",
    key=(),
    columns=(
        *TASK_OF_ROW,
        Column(
            "app",
            "string",
            "id",
            "Application or deployment, which other tasks share.",
        ),
        Column(
            "job",
            "string",
            "id",
            "Job that it is a task of; a row without an instance is about all of the task.",
        ),
        Column(
            "instance_name",
            "string",
            "id",
            "Name of the instance in its task, where it has no index.",
        ),
        Column(
            "user",
            "string",
            "id",
            "Who submitted it.",
        ),
        Column(
            "priority",
            "int32",
            "rank",
            "Its priority.",
            checks=(INTEGER_NOT_NEGATIVE,),
        ),
        Column(
            "submit",
            "int64",
            "us",
            "When it was submitted.",
            checks=TIME,
        ),
        Column(
            "wait",
            "int64",
            "us",
            "How long it waited.",
            checks=TIME,
        ),
        Column(
            "start",
            "int64",
            "us",
            "When it started.",
            checks=TIME,
        ),
        Column(
            "run",
            "int64",
            "us",
            "How long it ran.",
            checks=TIME,
        ),
        Column(
            "end",
            "int64",
            "us",
            "When it ended.",
            checks=TIME,
        ),
        Column(
            "status",
            "enum",
            "enum",
            "How it ended.",
            enum="event_type",
        ),
        Column(
            "cpu_request",
            "float64",
            "cores",
            "Requested CPU.",
            checks=CORES,
        ),
        Column(
            "cpu_clock",
            "float64",
            "MHz",
            "Clock of all its cores together.",
            checks=MEGAHERTZ,
        ),
        Column(
            "memory_request",
            "float64",
            "bytes",
            "Requested memory.",
            checks=BYTES,
        ),
        Column(
            "gpus",
            "float64",
            "1",
            "Requested GPUs, whole or shared.",
            checks=COUNT,
        ),
        Column(
            "gpu_share",
            "float64",
            "1",
            "Requested share of each, in thousandths of a device.",
            checks=COUNT,
        ),
        Column(
            "gpu_model",
            "string",
            "id",
            "GPU models that it accepts.",
        ),
    ),
)
