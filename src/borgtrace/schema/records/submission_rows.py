"""Jobs in formats that are converted, where a table of its own says who submitted them."""

from borgtrace.schema.records.shared_columns import TIME
from borgtrace.schema.types import Column, Table

SUBMISSION_ROWS = Table(
    name="submission_rows",
    grain="job of several tasks",
    key=(),
    columns=(
        Column(
            "job",
            "string",
            "id",
            "Name of the job.",
            nullable=False,
        ),
        Column(
            "user",
            "string",
            "id",
            "Who submitted it.",
        ),
        Column(
            "submit",
            "int64",
            "us",
            "When it was submitted.",
            checks=TIME,
        ),
    ),
)
