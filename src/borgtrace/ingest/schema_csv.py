"""The trace's own ``schema.csv``, where it lies beside the data, held against our layout."""

from __future__ import annotations

import csv
from pathlib import Path

from borgtrace.errors import SchemaError
from borgtrace.schema.dialects import GOOGLE_2011


def check_schema_csv(path: Path) -> None:
    """Compare a ``schema.csv`` with the declared 2011 tables.

    Raises
    ------
    SchemaError
        Naming every line that differs.
    """
    expected = {
        (raw.name, number): (field.name, field.format, "YES" if field.is_mandatory else "NO")
        for raw in GOOGLE_2011.tables.values()
        for number, field in enumerate(raw.fields, 1)
    }
    with path.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    found = {
        (row[0].split("/")[0], int(row[1])): tuple(cell.strip() for cell in row[2:5])
        for row in rows
        if len(row) >= 5 and row[1].isdecimal()
    }
    v20 = ("task_usage", 20)
    differing = [
        f"{table} field {number}: {found.get((table, number))} is not {expected.get((table, number))}"
        for table, number in sorted({*expected, *found})
        if found.get((table, number)) != expected.get((table, number))
        and not ((table, number) == v20 and v20 not in found)
    ]
    if differing:
        raise SchemaError(
            str(path),
            "schema.csv differs from the layout borgtrace reads",
            got="; ".join(differing),
            way_out="fetch schema.csv again, or remove it to ingest all the same",
        )
