"""Rows that are made up after a trace format, and what becomes of them when they are ingested."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from borgtrace.engine.csv_text import csv_text
from borgtrace.errors import BorgtraceError
from borgtrace.ingest import IngestOptions, IngestResult, ingest
from borgtrace.schema import Dialect
from borgtrace.schema.dialects import RawField, RawTable
from borgtrace.schema.records import row_of
from borgtrace.schema.time import TRACE_START, WINDOW
from borgtrace.schema.types import Column

_N_ROWS = 2
_STARTS = ("time", "start_time", "submit", "at")
"""Columns that are the beginning of a row; other times are a window later."""
_AMOUNTS = {"cores": 1.0, "bytes": 2.0**30, "fraction": 0.25, "MHz": 2000.0}
_DATE = datetime(2024, 3, 1, tzinfo=UTC)
_SHARE = 0.25
_CAPACITY = "8cores,16000MHz,32GiB"


def faults_of_reading(dialect: Dialect) -> Iterator[str]:
    """Yield what is wrong with rows made up after a format, one sentence each.

    Parameters
    ----------
    dialect
        A format that fits the tables of a store.  Nothing is said of one whose fields have patterns or spellings that
        rows cannot be made up after.
    """
    if not _can_be_made_up(dialect):
        return
    with TemporaryDirectory() as folder:
        raw = Path(folder, "raw")
        raw.mkdir()
        n_rows = _write(dialect, raw)
        try:
            result = _ingested(dialect, raw, Path(folder, "store"))
        except BorgtraceError as error:
            # The rows are ours, so its way out is none.
            fault = type(error)(error.where, error.what, expected=error.expected, got=error.got)
            text = str(fault).replace(f"{raw}/", "")
            yield f"files with made-up rows cannot be ingested: {text}"
            return
    yield from _faults_of(result, n_rows)


def _can_be_made_up(dialect: Dialect) -> bool:
    """Whether files of the format are plain: CSV with a header or JSON lines, of fields that anything may stand in."""
    fields = [field for raw in dialect.tables.values() for field in raw.fields]
    is_special = any(
        field.pattern or field.spelling or field.joined or field.date_form in ("excel", "compact")
        for field in fields
    )
    tables = dialect.tables.values()
    is_plain = not any(raw.is_positional or raw.lists or raw.task_file for raw in tables)
    conversion = dialect.conversion
    is_joined = conversion is not None and (conversion.is_scattered or conversion.n_narrower != 0)
    is_text = dialect.formats[0] in ("csv", "json")
    return is_plain and is_text and not (is_special or is_joined or dialect.flattened)


def _write(dialect: Dialect, folder: Path) -> dict[str, int]:
    """Write a file for each table, and return the number of its rows."""
    n_rows = {}
    for raw in dialect.tables.values():
        rows = [_row(dialect, raw, number) for number in range(_N_ROWS)]
        suffix = dialect.formats[0]
        text = _lines_of(rows) if suffix == "json" else _csv_of(rows)
        (folder / f"{raw.name}.{suffix}").write_text(text, encoding="utf-8")
        n_rows[raw.name] = len(rows)
    return n_rows


def _lines_of(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def _csv_of(rows: list[dict[str, Any]]) -> str:
    return csv_text([list(rows[0]), *(list(row.values()) for row in rows)], raw=True)


def _row(dialect: Dialect, raw: RawTable, number: int) -> dict[str, Any]:
    """Return one row as its file has it."""
    columns = row_of(raw.table)
    row: dict[str, Any] = {}
    for field in raw.fields:
        value: Any = ""
        if field.column:
            value = _written(dialect, field, columns.column(field.column), number)
        inner = row
        path = field.path if dialect.formats[0] == "json" else (field.name,)
        for name in path[:-1]:
            inner = inner.setdefault(name, {})
        inner[path[-1]] = value
    return row


def _written(dialect: Dialect, field: RawField, column: Column, number: int) -> Any:
    """Return a value of a column as a field writes it."""
    if column.unit == "us":
        return _time(dialect, field, column, number)
    if column.enum is not None:
        codes = list(dialect.codes[column.enum])
        return codes[min(number, len(codes) - 1)]
    if column.type == "string":
        return "a1"
    amount = _AMOUNTS.get(column.unit, 1.0)
    if _is_share(dialect, column):
        amount = _SHARE
    return _number((amount - field.offset) / field.scale)


def _is_share(dialect: Dialect, column: Column) -> bool:
    """Whether an amount is a share of something, though rows of other formats have cores and bytes there."""
    if dialect.conversion is None:
        return False
    shares = (*dialect.conversion.shares, *dialect.conversion.share_of)
    return any(resource in column.name for resource in shares)


def _time(dialect: Dialect, field: RawField, column: Column, number: int) -> Any:
    """Return a time of a row: the row's window begins so many windows after the start of the trace."""
    conversion = dialect.conversion
    step = (conversion.step if conversion else None) or WINDOW
    if column.name == "length":
        return _number((step - field.offset) / field.scale)
    windows = number if column.name in _STARTS else number + 1
    if field.zone or field.date_form:
        instant = _DATE + timedelta(microseconds=windows * step)
        return instant.strftime(field.date_form) if field.date_form else instant.isoformat()
    if conversion is None:
        start = TRACE_START
    elif conversion.clock == "epoch":
        start = int(_DATE.timestamp()) * 1_000_000
    else:
        start = conversion.zero
    return _number((start + windows * step - field.offset) / field.scale)


def _number(value: float) -> int | float:
    """Return a number as programs write it."""
    return int(value) if value == int(value) else value


def _ingested(dialect: Dialect, raw: Path, store: Path) -> IngestResult:
    conversion = dialect.conversion
    is_local = conversion is not None and conversion.is_local
    options = IngestOptions(
        jobs=1,
        dialect=dialect,
        capacity=_CAPACITY if conversion else "",
        time_zone="UTC" if is_local else "",
    )
    return ingest([raw], store, options)


def _faults_of(result: IngestResult, n_rows: dict[str, int]) -> Iterator[str]:
    for fault in result.faults:
        yield f"files with made-up rows cannot be ingested: {fault}"
    for entry in result.staged:
        for refusal in entry.refusals:
            yield (
                f"a made-up row of {entry.raw_table} is refused ({refusal.reason}): column "
                f"{refusal.column}, expected {refusal.expected}, got {refusal.value!r}"
            )
    read = {entry.raw_table for entry in result.staged}
    for name in n_rows:
        if name not in read:
            yield f"a file with the columns of {name} is not recognized as one of it"
