"""What a row of a converted file is: usage, the life of a task, a machine …, in base units and with its own names.

Such rows are staged one by one like those of Google's traces. `borgtrace.ingest.convert` then makes rows of the
store out of all of them together, since ids, shares of a request and derived events need more than one row.

Times have no "after the trace", which only Google's files know. Amounts are float64: the bytes of a machine have more
digits than a float32 holds.
"""

from borgtrace.schema.records.fills import FILLS, FILLS_OF_WHOLE_LIVES, USE_OF_WHOLE_LIVES
from borgtrace.schema.records.machine_rows import MACHINE_ROWS
from borgtrace.schema.records.submission_rows import SUBMISSION_ROWS
from borgtrace.schema.records.task_rows import TASK_ROWS
from borgtrace.schema.records.type_rows import TYPE_ROWS
from borgtrace.schema.records.usage_rows import USAGE_ROWS
from borgtrace.schema.tables import TABLES
from borgtrace.schema.types import Table

RECORDS: dict[str, Table] = {
    USAGE_ROWS.name: USAGE_ROWS,
    TASK_ROWS.name: TASK_ROWS,
    MACHINE_ROWS.name: MACHINE_ROWS,
    SUBMISSION_ROWS.name: SUBMISSION_ROWS,
    TYPE_ROWS.name: TYPE_ROWS,
}
"""Kinds of rows of converted files, by name."""


def row_of(name: str) -> Table:
    """Return what a row of a raw table is: a table of the store, or a kind of rows that are converted.

    Parameters
    ----------
    name
        Name of the table, as a raw table gives it.

    Examples
    --------
    >>> row_of("usage_rows").grain, row_of("machine_events").grain
    ('measurement of a task', 'machine event')
    """
    return RECORDS[name] if name in RECORDS else TABLES[name]


__all__ = [
    "FILLS",
    "FILLS_OF_WHOLE_LIVES",
    "MACHINE_ROWS",
    "RECORDS",
    "SUBMISSION_ROWS",
    "TASK_ROWS",
    "TYPE_ROWS",
    "USE_OF_WHOLE_LIVES",
    "USAGE_ROWS",
    "row_of",
]
