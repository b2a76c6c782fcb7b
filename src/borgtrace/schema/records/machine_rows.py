"""Machines in formats that are converted."""

from borgtrace.schema.records.shared_columns import BYTES, CORES, COUNT, TIME
from borgtrace.schema.types import Column, Table

MACHINE_ROWS = Table(
    name="machine_rows",
    grain="machine",
    key=(),
    columns=(
        Column(
            "machine",
            "string",
            "id",
            "Name of the machine.",
            nullable=False,
        ),
        Column(
            "time",
            "int64",
            "us",
            "When it was added; before the trace where it is not said.",
            checks=TIME,
        ),
        Column(
            "cpu",
            "float64",
            "cores",
            "Its CPU.",
            checks=CORES,
        ),
        Column(
            "memory",
            "float64",
            "bytes",
            "Its memory.",
            checks=BYTES,
        ),
        Column(
            "platform",
            "string",
            "id",
            "Its kind.",
        ),
        Column(
            "gpus",
            "float64",
            "1",
            "Its GPUs.",
            checks=COUNT,
        ),
        Column(
            "gpu_model",
            "string",
            "id",
            "Their model.",
        ),
    ),
)
