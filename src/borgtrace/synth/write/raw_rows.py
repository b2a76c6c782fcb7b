"""Canonical rows as a dialect spells them: fields in its order, codes for names, sentinels for NULL."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from borgtrace.schema import TABLES, Dialect, RawField, RawTable
from borgtrace.synth.write.event_rows import Row

Record = dict[str, Any]
_WITH_SENTINELS = ("alloc_collection_id", "alloc_instance_index")
"""Columns whose NULL the published files write as a number; the others leave the field out."""


class FieldSpelling(NamedTuple):
    """How one field is written.

    Attributes
    ----------
    path
        Names from the record's root to the value.
    column
        The canonical column.
    codes
        The code of each name, where names are written as codes.
    sentinel
        What stands for NULL.
    """

    path: tuple[str, ...]
    column: str
    codes: Mapping[str, int] | None
    sentinel: int | None

    def value(self, row: Row) -> Any:
        """Return what is written for a row."""
        value = row.get(self.column)
        if value is None:
            return self.sentinel
        return self.codes[value] if self.codes else value


class RawRows:
    r"""Spells the rows of one raw table.

    Parameters
    ----------
    dialect, raw
        The trace format, and one of its tables.

    Examples
    --------
    >>> from borgtrace.schema.dialects import GOOGLE_2011, GOOGLE_2019
    >>> row = {"time": 5, "machine_id": 7, "name": "a", "is_deleted": True}
    >>> RawRows(GOOGLE_2011, GOOGLE_2011.tables["machine_attributes"]).csv_line(row)
    '5,7,a,,1\n'
    >>> RawRows(GOOGLE_2019, GOOGLE_2019.tables["machine_attributes"]).json_line(row)
    '{"time":"5","machine_id":"7","name":"a","deleted":true}\n'
    """

    def __init__(self, dialect: Dialect, raw: RawTable) -> None:
        self._fields = [_spelling(dialect, raw, field) for field in raw.fields]
        self._lists = {inner.name: RawRows(dialect, inner) for inner in raw.lists}

    def csv_line(self, row: Row) -> str:
        """Return a line of comma-separated fields, numbers with four digits."""
        texts = [csv_text(field.value(row)) for field in self._fields]
        return ",".join(texts) + "\n"

    def record(self, row: Row) -> Record:
        """Return a record with nested records and lists; NULLs are left out."""
        record: Record = {}
        for field in self._fields:
            value = field.value(row)
            if value is not None:
                is_nested = len(field.path) > 1
                parent = record.setdefault(field.path[0], {}) if is_nested else record
                parent[field.path[-1]] = value
        for name, spelling in self._lists.items():
            if "constraints" in row:
                record[name] = [spelling.record(item) for item in row["constraints"]]
        return record

    def json_line(self, row: Row) -> str:
        """Return a line of JSON as BigQuery exports it: integers and codes are strings."""
        exported = _exported(self.record(row))
        return json.dumps(exported, separators=(",", ":")) + "\n"


def _spelling(
    dialect: Dialect,
    raw: RawTable,
    field: RawField,
) -> FieldSpelling:
    codes: dict[str, int] | None = None
    sentinel: int | None = None
    if field.column:
        enum = TABLES[raw.table].column(field.column).enum
        if enum:
            codes = {name: code for code, name in dialect.codes[enum].items()}
        if field.column in _WITH_SENTINELS:
            # The first of several constants is what the published files have (0 and −1 for the alloc fields of 2019).
            sentinel = dialect.none.get(field.column, (None,))[0]
    return FieldSpelling(field.path, field.column, codes, sentinel)


def csv_text(value: Any) -> str:
    """Return a value as a field of a CSV file.

    Examples
    --------
    >>> [csv_text(value) for value in (None, True, 7, 1 / 3)]
    ['', '1', '7', '0.3333']
    """
    match value:
        case None:
            return ""
        case bool():
            return str(int(value))
        case float():
            return f"{value:.4g}"
        case _:
            return str(value)


def _exported(value: Any) -> Any:
    """Return a value as BigQuery exports it to JSON."""
    match value:
        # Before int, because True is an int.
        case bool() | float() | str():
            return value
        # As a string, because numbers in JSON have only 53 bits.
        case int():
            return str(value)
        case dict():
            return {name: _exported(item) for name, item in value.items()}
        case _:
            return [_exported(item) for item in value]
