"""Kinds of tasks in formats that are converted, where a table of its own says what each of them requests."""

from borgtrace.schema.records.shared_columns import BYTES, CORES
from borgtrace.schema.types import Column, Table

TYPE_ROWS = Table(
    name="type_rows",
    grain="kind of task on a kind of machine",
    key=(),
    columns=(
        Column(
            "kind",
            "string",
            "id",
            "Name of the kind of task.",
            nullable=False,
        ),
        Column(
            "platform",
            "string",
            "id",
            "Kind of machine.",
        ),
        Column(
            "cpu",
            "float64",
            "cores",
            "CPU that such a task requests there.",
            checks=CORES,
        ),
        Column(
            "memory",
            "float64",
            "bytes",
            "Memory that it requests there.",
            checks=BYTES,
        ),
    ),
)
