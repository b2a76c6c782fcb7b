"""Ranges of collections of tables in a bucket, on which tasks of Spark compute parts of an expression with DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.engine.compressed import compress_rows
from borgtrace.engine.settling import settle
from borgtrace.engine.stored import footers
from borgtrace.engine.task_tables import (
    CollectionRange,
    HeldTable,
    RemoteTable,
    compute_held,
    connection_of_task,
    reading,
    show_held,
    show_remote,
    show_sent,
)
from borgtrace.storage import as_path

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
class RangeQuery:
    """What tasks compute.

    Attributes
    ----------
    sql
        The query of DuckDB.
    tables
        Tables in the bucket that it reads, by name.
    sent
        Tables that are sent to it, by name.
    held
        Tables that processes compute, by name: those that it reads, and before each what that is computed of.
    kept
        Stored names of all tables that processes keep.
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
    sent: Mapping[str, pa.Table]
    held: Mapping[str, HeldTable]
    kept: Collection[str]
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
        connection = connection_of_task(self.memory)
        compute_held(connection, self.held, self.kept)
        with connection.cursor() as cursor:
            show_held(cursor, self.held, collections)
            show_sent(cursor, self.sent, collections)
            for name, table in self.tables.items():
                show_remote(cursor, name, table, collections.files[name], collections)
            with reading(self.tables.values()):
                reader = cursor.sql(self.sql).to_arrow_reader(_ROWS_OF_BATCH)
                if self.function is None:
                    yield from reader
                else:
                    yield from self.function(reader.read_all()).to_batches()


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
