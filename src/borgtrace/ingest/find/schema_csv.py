"""The trace's own ``schema.csv``, where it lies beside the data: it decides the order of the fields."""

import csv
import io
from collections import defaultdict
from pathlib import Path

from borgtrace.errors import SchemaError
from borgtrace.schema import RawTable
from borgtrace.schema.dialects import GOOGLE_2011

_TABLES = GOOGLE_2011.tables  # the one trace that describes itself so

Described = dict[int, tuple[str, ...]]
"""Content, format and whether it is mandatory, of each field by its number."""


def read_schema_csv(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the fields of each raw table in the order that a ``schema.csv`` gives.

    Raises
    ------
    SchemaError
        Where a table has other fields than those declared, naming every line that differs.
    """
    found: dict[str, Described] = defaultdict(dict)
    for row in _rows(path)[1:]:
        if len(row) >= 5 and row[1].isdecimal():
            found[row[0].split("/")[0]][int(row[1])] = tuple(cell.strip() for cell in row[2:5])
    orders, differing = {}, []
    for name in sorted({*_TABLES, *found}):
        expected = _described(_TABLES.get(name), len(found[name]))
        # The same fields in another order are no fault: that order is what the file is there to say.
        if sorted(found[name].values()) == sorted(expected.values()):
            orders[name] = tuple(content for _, (content, *_) in sorted(found[name].items()))
        else:
            differing += _differences(name, found[name], expected)
    if differing:
        raise SchemaError(
            str(path),
            "schema.csv differs from the layout borgtrace reads",
            got="; ".join(differing),
            way_out="fetch schema.csv again, or remove it to ingest all the same",
        )
    return orders


def _rows(path: Path) -> list[list[str]]:
    try:
        return list(
            csv.reader(io.StringIO(path.read_bytes().decode("utf-8", "replace"), newline=""))
        )
    # Whatever it is: it describes no field, and the message says which are missing.
    except csv.Error:
        return []


def _described(raw: RawTable | None, n_found: int) -> Described:
    # Version 2.0 describes one field of task_usage less.
    fields = raw.fields[: n_found if n_found in raw.field_counts else None] if raw else ()
    return {
        number: (field.name, field.format, "YES" if field.is_mandatory else "NO")
        for number, field in enumerate(fields, 1)
    }


def _differences(table: str, found: Described, expected: Described) -> list[str]:
    return [
        f"{table} field {number}: {found.get(number)} is not {expected.get(number)}"
        for number in sorted({*expected, *found})
        if found.get(number) != expected.get(number)
    ]
