"""Machines in formats that are converted."""

from borgtrace.schema.checks import AMOUNT_NOT_NEGATIVE, INTEGER_NOT_NEGATIVE
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
            checks=(INTEGER_NOT_NEGATIVE,),
        ),
        Column(
            "cpu",
            "float64",
            "cores",
            "Its CPU.",
            checks=(AMOUNT_NOT_NEGATIVE,),
        ),
        Column(
            "memory",
            "float64",
            "bytes",
            "Its memory.",
            checks=(AMOUNT_NOT_NEGATIVE,),
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
            checks=(AMOUNT_NOT_NEGATIVE,),
        ),
        Column(
            "gpu_model",
            "string",
            "id",
            "Their model.",
        ),
    ),
)
