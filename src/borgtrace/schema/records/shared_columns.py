"""Columns that several kinds of rows of converted formats have."""

from borgtrace.schema.checks import INTEGER_NOT_NEGATIVE
from borgtrace.schema.types import Column

TASK_OF_ROW = (
    Column(
        "task",
        "string",
        "id",
        "Name of the container, VM or job.",
        nullable=False,
    ),
    Column(
        "instance",
        "int32",
        "id",
        "Index of the task in its job; 0 where it is alone.",
        checks=(INTEGER_NOT_NEGATIVE,),
    ),
    Column(
        "machine",
        "string",
        "id",
        "Name of the machine.",
    ),
)
"""Which task a row is about, and where that was."""
