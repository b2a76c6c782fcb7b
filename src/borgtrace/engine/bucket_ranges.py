"""Ranges of collections of tables in a bucket, on which tasks of Spark compute parts of an expression with DuckDB.

A task opens the bucket by its URL, with the credentials of the environment in which it runs; no plan holds any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from borgtrace.engine.compressed import compress_rows
from borgtrace.engine.embedded import raw_connection
from borgtrace.engine.guard import lock
from borgtrace.engine.identifiers import number, quoted
from borgtrace.engine.settling import settle
from borgtrace.engine.stored import footers
from borgtrace.storage import as_path
from borgtrace.storage.remote import RemotePath, translate_bucket_errors

KEY = "collection_id"
"""Column by which tables are divided into ranges."""
_ROWS_OF_BATCH = 100_000


@dataclass(frozen=True)
class RowGroup:
    """A row group of a file, and the collections in it.

    Attributes
    ----------
    file
        Where it is.
    n_rows
        How many rows it has.
    first, last
        Least and greatest collection; None where the file does not say.
    """

    file: str
    n_rows: int
    first: int | None
    last: int | None


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


@dataclass(frozen=True)
class RangeQuery:
    """What tasks compute.

    Attributes
    ----------
    sql
        The query of DuckDB.
    tables
        Those that it reads, by name.
    ranges
        On which it runs.
    schema
        Of its rows.
    memory
        Budget of a task.
    function
        What is made of all rows of a range; the rows themselves where None.
    """

    sql: str
    tables: Mapping[str, RemoteTable]
    ranges: Sequence[CollectionRange]
    schema: pa.Schema
    memory: str
    function: Callable[[pa.Table], pa.Table] | None = None

    def compute(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the ranges whose numbers are in the first column of some batches."""
        for batch in batches:
            for place in batch.column(0).to_pylist():
                for rows in self.results_of(self.ranges[place]):
                    yield rows.cast(self.schema)
        settle()

    def compute_compressed(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows that `compute` yields as :data:`COMPRESSED_ROWS`, for the driver."""
        for rows in self.compute(batches):
            yield compress_rows(rows)

    def results_of(self, collections: CollectionRange) -> Iterator[pa.RecordBatch]:
        """Yield what is made of the rows of a range."""
        with connection_of_task(self.memory).cursor() as cursor:
            for name, table in self.tables.items():
                files = collections.files[name]
                with translate_bucket_errors(RemotePath(files[0])):
                    _show(cursor, name, table, files, collections)
            place = next(iter(collections.files.values()))[0]
            with translate_bucket_errors(RemotePath(place)):
                reader = cursor.sql(self.sql).to_arrow_reader(_ROWS_OF_BATCH)
                if self.function is None:
                    yield from reader
                else:
                    yield from self.function(reader.read_all()).to_batches()


@cache
def connection_of_task(memory: str) -> duckdb.DuckDBPyConnection:
    """Return the connection of this process, which computes many parts: opening one takes as long as a small part."""
    # A task has one core.  Rows come from the bucket by way of Arrow: no query reaches a file.
    connection = raw_connection(memory, threads=1)
    lock(connection)
    return connection


def _show(
    cursor: duckdb.DuckDBPyConnection,
    name: str,
    table: RemoteTable,
    files: Sequence[str],
    collections: CollectionRange,
) -> None:
    """Make a view of the rows that a table has in a range."""
    paths = [RemotePath(file) for file in files]
    filesystem, _ = paths[0].located
    keys = [path.located[1] for path in paths]
    files_view = f"{name}_files"
    cursor.register(files_view, ds.dataset(keys, filesystem=filesystem, format="parquet"))
    query_sql = f"SELECT {table.columns_sql} FROM {quoted(files_view)}"
    if table.key is not None and collections.first is not None:
        query_sql = f"FROM ({query_sql}) WHERE {quoted(KEY)} >= {number(collections.first)}"
    if table.key is not None and collections.last is not None:
        query_sql = f"FROM ({query_sql}) WHERE {quoted(KEY)} <= {number(collections.last)}"
    cursor.execute(f"CREATE OR REPLACE TEMP VIEW {quoted(name)} AS {query_sql}")


def row_groups(files: Sequence[str], key: str) -> list[RowGroup]:
    """Return the row groups of Parquet files, by the footers.

    Parameters
    ----------
    files
        URLs of the files.
    key
        How the collection is called there.
    """
    paths: list[Path] = [as_path(file) for file in files]
    groups = []
    for file, footer in zip(files, footers(paths), strict=True):
        position = footer.schema.to_arrow_schema().get_field_index(key)
        for place in range(footer.num_row_groups):
            group = footer.row_group(place)
            first, last = _bounds(group.column(position))
            groups.append(RowGroup(file, group.num_rows, first, last))
        if not footer.num_row_groups:
            groups.append(RowGroup(file, 0, None, None))
    return groups


def _bounds(column: pq.ColumnChunkMetaData) -> tuple[int | None, int | None]:
    statistics = column.statistics
    if statistics is None or not statistics.has_min_max:
        return None, None
    return statistics.min, statistics.max


def divide(groups: Mapping[str, Sequence[RowGroup]], n_ranges: int) -> list[CollectionRange]:
    """Divide all collections into ranges of about as many rows of the largest table.

    A range begins where a row group does, so that few are read twice.

    Parameters
    ----------
    groups
        Row groups of each table.
    n_ranges
        How many ranges are wanted; there are fewer where row groups are.

    Examples
    --------
    >>> groups = [RowGroup("a", 10, 1, 4), RowGroup("b", 10, 5, 5), RowGroup("b", 10, 5, 9)]
    >>> for one in divide({"usage": groups}, 2):
    ...     print(one.first, one.last, one.files["usage"])
    None 4 ('a',)
    5 None ('b',)
    """
    largest = max(groups.values(), key=lambda of_table: sum(group.n_rows for group in of_table))
    n_rows = sum(group.n_rows for group in largest)
    starts: list[int] = []
    n_before = 0
    for group in sorted(largest, key=lambda group: group.first or 0):
        is_due = n_before * n_ranges >= n_rows * (len(starts) + 1)
        if group.first is not None and is_due and group.first not in starts:
            starts.append(group.first)
        n_before += group.n_rows
    ranges = []
    for first, next_first in zip([None, *starts], [*starts, None], strict=True):
        last = None if next_first is None else next_first - 1
        files = {name: _files_of_range(of_table, first, last) for name, of_table in groups.items()}
        ranges.append(CollectionRange(first, last, files))
    return ranges


def _files_of_range(
    groups: Sequence[RowGroup], first: int | None, last: int | None
) -> tuple[str, ...]:
    """Return the files that may hold rows of a range, or one that gives no more than the columns."""
    files = []
    for group in groups:
        is_before = first is not None and group.last is not None and group.last < first
        is_after = last is not None and group.first is not None and group.first > last
        if not is_before and not is_after:
            files.append(group.file)
    return tuple(dict.fromkeys(files)) or (groups[0].file,)
