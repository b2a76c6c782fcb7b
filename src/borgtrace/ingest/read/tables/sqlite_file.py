"""SQLite databases, read by Python's own library: read-only, and as one that nobody writes to."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa

from borgtrace.engine.identifiers import quoted
from borgtrace.ingest.read.tables.kind import Columns, TableKind, damaged_table

_MAGIC = b"SQLite format 3\x00"
ROWS_PER_BATCH = 1 << 16


def _open(path: Path) -> sqlite3.Connection:
    # Immutable: it is not locked, and no journal beside it is looked for.
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)


def _columns(path: Path) -> Columns:
    try:
        with closing(_open(path)) as database:
            tables = database.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
            ).fetchall()
            return {name: _names(database, name) for (name,) in tables}
    except sqlite3.Error as error:
        raise damaged_table(path, "SQLite", error) from error


def _names(database: sqlite3.Connection, table: str) -> list[str]:
    described = database.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return [name for (name,) in described]


def _batches(path: Path, table: str) -> Iterator[pa.RecordBatch]:
    try:
        with closing(_open(path)) as database:
            names = _names(database, table)
            rows = database.execute(f"SELECT * FROM {quoted(table)}")
            while block := rows.fetchmany(ROWS_PER_BATCH):
                yield _batch(names, block)
    except sqlite3.Error as error:
        raise damaged_table(path, "SQLite", error) from error


def _batch(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> pa.RecordBatch:
    # A column of SQLite may hold values of several types: as texts they are read like those of any other file.
    columns = []
    for values in zip(*rows, strict=True):
        texts = [None if value is None else _text(value) for value in values]
        columns.append(pa.array(texts, pa.string()))
    return pa.RecordBatch.from_arrays(columns, names=list(names))


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


KIND = TableKind(
    name="SQLite",
    recognizes=lambda head: head.startswith(_MAGIC),
    columns=_columns,
    batches=_batches,
)
