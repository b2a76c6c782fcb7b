"""Tables as a task of Spark sees them with DuckDB: those in a bucket, and those that its process has computed of them.

A task opens the bucket by its URL, with the credentials of the environment in which it runs; no plan holds any.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from borgtrace.engine.embedded import raw_connection
from borgtrace.engine.guard import lock
from borgtrace.engine.identifiers import number, quoted
from borgtrace.storage.remote import RemotePath, translate_bucket_errors

KEY = "collection_id"
"""Column by which tables are divided into ranges."""


@dataclass(frozen=True)
class RemoteTable:
    """A table in a bucket.

    Attributes
    ----------
    files
        URLs of its Parquet files, at least one.
    columns_sql
        SQL that makes its columns of those of the files.
    key
        How its column `KEY` is called in the files; None where it has none, so that each range has all of its rows.
    """

    files: tuple[str, ...]
    columns_sql: str
    key: str | None


@dataclass(frozen=True)
class HeldTable:
    """Rows that each Python process of Spark computes when it first needs them.

    Attributes
    ----------
    sql
        The query of DuckDB that yields them.
    tables
        Tables in a bucket that it reads, by name.
    sent
        Tables that are sent to it, by name.
    has_key
        Whether `KEY` is among the columns; otherwise each range has all rows.
    stored_name
        Name of the rows in the process: other rows have another one.
    """

    sql: str
    tables: Mapping[str, RemoteTable]
    sent: Mapping[str, pa.Table]
    has_key: bool
    stored_name: str


@dataclass(frozen=True)
class CollectionRange:
    """A range of collections.

    Attributes
    ----------
    first, last
        Least and greatest collection; None without a bound.
    files
        Files that may hold some of its rows, by table; at least one of each.
    """

    first: int | None
    last: int | None
    files: Mapping[str, tuple[str, ...]]


_EVERYTHING = CollectionRange(None, None, {})


@cache
def connection_of_task(memory: str) -> duckdb.DuckDBPyConnection:
    """Return the connection of this process, which computes many parts: opening one takes as long as a small part."""
    # A task has one core.  Rows come from the bucket by way of Arrow: no query reaches a file.
    connection = raw_connection(memory, threads=1)
    lock(connection)
    return connection


def compute_held(
    connection: duckdb.DuckDBPyConnection, tables: Mapping[str, HeldTable], kept: Collection[str]
) -> None:
    """Compute the rows of tables that this process does not have yet.

    Parameters
    ----------
    connection
        From `connection_of_task`.
    tables
        By name; each reads no others but those before it.
    kept
        Stored names of tables that may be asked for again; others are dropped.
    """
    listing = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    present = {name for (name,) in listing}
    for stored_name in present.difference(kept):
        connection.execute(f"DROP TABLE {quoted(stored_name)}")
    before: dict[str, HeldTable] = {}
    for name, table in tables.items():
        if table.stored_name not in present:
            with connection.cursor() as cursor:
                show_held(cursor, before, _EVERYTHING)
                show_sent(cursor, table.sent, _EVERYTHING)
                for remote_name, remote in table.tables.items():
                    show_remote(cursor, remote_name, remote, remote.files, _EVERYTHING)
                with reading(table.tables.values()):
                    cursor.execute(f"CREATE TABLE {quoted(table.stored_name)} AS {table.sql}")
        before[name] = table


def reading(tables: Iterable[RemoteTable]) -> AbstractContextManager[None]:
    """Name a file of some tables in errors of the bucket; where there are none, none is read."""
    for table in tables:
        return translate_bucket_errors(RemotePath(table.files[0]))
    return nullcontext()


def show_held(
    cursor: duckdb.DuckDBPyConnection,
    tables: Mapping[str, HeldTable],
    collections: CollectionRange,
) -> None:
    """Make views of the rows that tables from `compute_held` have in a range."""
    for name, table in tables.items():
        rows_sql = f"FROM {quoted(table.stored_name)}"
        _create_view(cursor, name, rows_sql, collections if table.has_key else _EVERYTHING)


def show_sent(
    cursor: duckdb.DuckDBPyConnection,
    tables: Mapping[str, pa.Table],
    collections: CollectionRange,
) -> None:
    """Make views of the rows that tables from the driver have in a range."""
    for name, rows in tables.items():
        rows_view = f"{name}_rows"
        cursor.register(rows_view, rows)
        is_divided = KEY in rows.column_names
        _create_view(
            cursor, name, f"FROM {quoted(rows_view)}", collections if is_divided else _EVERYTHING
        )


def show_remote(
    cursor: duckdb.DuckDBPyConnection,
    name: str,
    table: RemoteTable,
    files: Sequence[str],
    collections: CollectionRange,
) -> None:
    """Make a view of the rows that a table has in a range.

    Parameters
    ----------
    cursor
        Of the connection of the process.
    name
        Name of the view.
    table
        The table.
    files
        Those of its files that may have some of the rows.
    collections
        The range.
    """
    paths = [RemotePath(file) for file in files]
    with translate_bucket_errors(paths[0]):
        filesystem, _ = paths[0].located
        keys = [path.located[1] for path in paths]
        files_view = f"{name}_files"
        cursor.register(files_view, ds.dataset(keys, filesystem=filesystem, format="parquet"))
        rows_sql = f"SELECT {table.columns_sql} FROM {quoted(files_view)}"
        is_divided = table.key is not None
        _create_view(cursor, name, rows_sql, collections if is_divided else _EVERYTHING)


def _create_view(
    cursor: duckdb.DuckDBPyConnection, name: str, rows_sql: str, collections: CollectionRange
) -> None:
    if collections.first is not None:
        rows_sql = f"FROM ({rows_sql}) WHERE {quoted(KEY)} >= {number(collections.first)}"
    if collections.last is not None:
        rows_sql = f"FROM ({rows_sql}) WHERE {quoted(KEY)} <= {number(collections.last)}"
    cursor.execute(f"CREATE OR REPLACE TEMP VIEW {quoted(name)} AS {rows_sql}")
