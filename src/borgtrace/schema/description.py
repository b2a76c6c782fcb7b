"""A declared table as plain data, for programs that read no Python."""

from dataclasses import asdict
from typing import Any

from borgtrace.schema import Absent, Table
from borgtrace.schema.dialects import PUBLISHED


def describe_table(table: Table) -> dict[str, Any]:
    """Return a table as plain data, with where each published trace has each column."""
    described = asdict(table)
    for column in described["columns"]:
        # A column itself does not know where it comes from: its dialects do.
        column["source"] = {}
        for dialect in PUBLISHED:
            source = dialect.source(table.name, column["name"])
            plain = asdict(source) if isinstance(source, Absent) else source
            column["source"][dialect.name] = plain
    return described
