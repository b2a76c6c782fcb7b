"""Canonical rows as a dialect spells them: fields in its order, codes for names, sentinels for nothing."""

import json
from collections.abc import Mapping
from typing import Any

from borgtrace.schema import TABLES, Dialect, RawField, RawTable
from borgtrace.synth.event_rows import Row

Record = dict[str, Any]
_SENTINELS = ("alloc_collection_id", "alloc_instance_index")
"""Columns whose "none" the published files write as a number; the others leave the field out."""


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
        self._fields = [
            (field.path, field.column, *_spelling(dialect, raw, field)) for field in raw.fields
        ]
        self._lists = [(inner.name, RawRows(dialect, inner)) for inner in raw.lists]

    def values(self, row: Row) -> list[Any]:
        """Return the values of the fields: names replaced by codes, nothing by None or its sentinel."""
        found = []
        for _, column, codes, sentinel in self._fields:
            value = row.get(column)
            found.append(sentinel if value is None else codes[value] if codes else value)
        return found

    def csv_line(self, row: Row) -> str:
        """Return a line of comma-separated fields, numbers with four digits."""
        return ",".join(map(_csv_text, self.values(row))) + "\n"

    def record(self, row: Row) -> Record:
        """Return a record with nested records and lists; what is NULL is left out."""
        record: Record = {}
        for (path, *_), value in zip(self._fields, self.values(row), strict=True):
            if value is not None:
                inner = record.setdefault(path[0], {}) if len(path) > 1 else record
                inner[path[-1]] = value
        for name, rows in self._lists:
            if "constraints" in row:
                record[name] = [rows.record(item) for item in row["constraints"]]
        return record

    def json_line(self, row: Row) -> str:
        """Return a line of JSON as BigQuery exports it: integers and codes are strings."""
        return json.dumps(_exported(self.record(row)), separators=(",", ":")) + "\n"


def _spelling(
    dialect: Dialect, raw: RawTable, field: RawField
) -> tuple[Mapping[str, int] | None, int | None]:
    """Return the code of each name of a field's column, and what stands for nothing."""
    if not field.column:
        return None, None
    enum = TABLES[raw.table].column(field.column).enum
    codes = {name: code for code, name in dialect.codes[enum].items()} if enum else None
    # The first of several constants is what the published files have (0 and −1 for the alloc fields of 2019).
    return codes, dialect.none.get(field.column, (None,))[0] if field.column in _SENTINELS else None


def _csv_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(int(value) if isinstance(value, bool) else value)


def _exported(value: Any) -> Any:
    # Before int, because True is an int; BigQuery writes integers as strings, as JSON's numbers have 53 bits only.
    if isinstance(value, bool | float | str):
        return value
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dict):
        return {name: _exported(item) for name, item in value.items()}
    return [_exported(item) for item in value]
