"""The trace's own ``schema.csv``, where it lies beside the data: it decides the order of the fields."""

import csv
import io
from collections import defaultdict
from pathlib import Path

from borgtrace.errors import SchemaError
from borgtrace.ingest.files.limits import read_side_file
from borgtrace.schema import RawTable
from borgtrace.schema.dialects import GOOGLE_2011

_TABLES = GOOGLE_2011.tables  # the one trace that describes itself so

FieldsByNumber = dict[int, tuple[str, ...]]
"""Content, format and whether it is mandatory, of each field by its number."""


def read_schema_csv(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the fields of each raw table in the order that a ``schema.csv`` gives.

    Raises
    ------
    SchemaError
        Where a table has other fields than those declared, naming every line that differs.
    """
    described: dict[str, FieldsByNumber] = defaultdict(dict)
    for row in _rows(path)[1:]:
        if len(row) >= 5 and row[1].isdecimal():
            table = row[0].split("/")[0]
            described[table][int(row[1])] = tuple(cell.strip() for cell in row[2:5])
    orders = {}
    differences: list[str] = []
    for table in sorted({*_TABLES, *described}):
        fields = described[table]
        declared = _declared_fields(_TABLES.get(table), len(fields))
        # The same fields in another order are no fault: stating that order is what the file is for.
        if sorted(fields.values()) == sorted(declared.values()):
            orders[table] = tuple(fields[number][0] for number in sorted(fields))
        else:
            differences += _differences(table, fields, declared)
    if differences:
        raise SchemaError(
            str(path),
            "schema.csv differs from the layout borgtrace reads",
            got="; ".join(differences),
            way_out="fetch schema.csv again, or remove it to ingest all the same",
        )
    return orders


def _rows(path: Path) -> list[list[str]]:
    text = read_side_file(path).decode("utf-8", "replace")
    try:
        return list(csv.reader(io.StringIO(text, newline="")))
    # It describes no field, and the message names the missing ones.
    except csv.Error:
        return []


def _declared_fields(raw: RawTable | None, n_described: int) -> FieldsByNumber:
    if raw is None:
        return {}
    fields = raw.fields
    # Version 2.0 describes one field of task_usage less.
    if n_described in raw.field_counts:
        fields = fields[:n_described]
    declared: FieldsByNumber = {}
    for number, field in enumerate(fields, 1):
        is_mandatory = "YES" if field.is_mandatory else "NO"
        declared[number] = (field.name, field.format, is_mandatory)
    return declared


def _differences(table: str, fields: FieldsByNumber, declared: FieldsByNumber) -> list[str]:
    differences = []
    for number in sorted({*declared, *fields}):
        described_field = fields.get(number)
        declared_field = declared.get(number)
        if described_field != declared_field:
            differences.append(f"{table} field {number}: {described_field} is not {declared_field}")
    return differences
