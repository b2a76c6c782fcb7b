"""What a row of a converted file is: usage, the life of a task, or a machine, in base units and with its own names.

Files of these are staged row by row like those of Google's traces; `borgtrace.ingest.convert.conversion` then makes
canonical rows of all of them together, since ids, shares of a request and derived events need more than one row.
"""

from collections.abc import Mapping
from pathlib import Path

from borgtrace.schema.data_files import read_rows
from borgtrace.schema.tables import TABLES, read_declarations
from borgtrace.schema.types import Table

RECORDS: dict[str, Table] = read_declarations(Path(__file__).with_name("records.columns"))
"""Kinds of rows of converted files, by name."""
_ROWS = read_rows(Path(__file__).with_name("fills.csv"))
FILLS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    table: {row["column"]: tuple(row["fills"].split()) for row in _ROWS if row["table"] == table}
    for table in dict.fromkeys(row["table"] for row in _ROWS)
}
"""Which columns of such rows give a canonical column, by its table; the first that a format has is named."""


def row_of(name: str) -> Table:
    """Return what a row of a raw table is: a canonical table, or a kind of rows that are converted.

    Parameters
    ----------
    name
        Of the table, as a raw table names it.

    Examples
    --------
    >>> row_of("usage_rows").grain, row_of("machine_events").grain
    ('measurement of a task', 'machine event')
    """
    return RECORDS[name] if name in RECORDS else TABLES[name]
