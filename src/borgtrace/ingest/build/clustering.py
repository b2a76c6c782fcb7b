"""Clustering: staged parts → one table sorted by its key, in files cut at collections.

Each file is made on its own, in memory: its range of collections is read, sorted and written.  What is read is sorted
in runs (see `StagedWriter`), so that a range is found by the statistics of row groups, and nothing is spilled but a
collection that is larger than a file.
"""

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa

from borgtrace.engine import SparkTasks
from borgtrace.ingest.build.freed_rows import FreedRows
from borgtrace.ingest.build.sorted_relation import (
    NO_FILES,
    PlannedFile,
    PresentFiles,
    RelationOfTasks,
    SortedRelation,
    UnsortedRows,
)
from borgtrace.ingest.build.sorting_limits import (
    WORTH_SHARING,
    most_rows_of_file,
    reach_of,
    writers,
)
from borgtrace.ingest.build.table_files import NO_HOOKS, Rows, WriteHooks, write_rows
from borgtrace.schema import Table
from borgtrace.storage import RemotePath


def cluster(
    connection: duckdb.DuckDBPyConnection,
    table: Table,
    rows: UnsortedRows,
    folder: Path,
    progress: Callable[[int], None] = lambda n_rows: None,
    present: PresentFiles = NO_FILES,
    spark: SparkTasks | None = None,
    hooks: WriteHooks = NO_HOOKS,
    freed: FreedRows | None = None,
) -> list[Path]:
    """Sort rows by the table's key into Parquet files in `folder`, and return these in order.

    Parameters
    ----------
    connection
        From `sorting_connection`.
    table
        The canonical table.
    rows
        All its rows, with those of files that may stay.
    folder
        Where the files go; made here.
    progress
        Called with the number of rows written, after each file.
    present
        Files that may stay.
    spark
        Where each file is made by a task; here where None.
    hooks
        What is done with the rows of files that are written here.
    freed
        What frees rows of coded parts, where it is to be done; a killed build may have finished some files.
    """
    folder.mkdir(parents=True, exist_ok=freed is not None)
    source = SortedRelation(connection, table, rows)
    n_writers, memory = writers(connection)
    most_rows = most_rows_of_file(connection)
    files: Iterable[PlannedFile] = source.plan(most_rows, WORTH_SHARING, folder, present, freed)
    if spark is None:
        _write_files(source, files, n_writers, progress, hooks, freed)
    else:
        there = RelationOfTasks(table, rows, f"{memory}B", reach_of(connection))
        if isinstance(folder, RemotePath):
            # The collections of all parts would come here, to be dropped when the ranges are known.
            (files,) = spark.map(partial(there.plan, most_rows, WORTH_SHARING), [folder])
        for n_rows in spark.map(there.make, files):
            progress(n_rows)
    return sorted(folder.glob("part-*.parquet"))


def _write_files(
    source: SortedRelation,
    files: Iterable[PlannedFile],
    n_writers: int,
    progress: Callable[[int], None],
    hooks: WriteHooks,
    freed: FreedRows | None,
) -> None:
    """Sort the rows of files here, one file at a time, and write some files at once."""

    def write(file: PlannedFile, rows: Rows) -> int:
        n_rows = write_rows(file.path, file.first_row, source.table, rows, hooks)
        if freed:
            freed.finish(file.number)
        return n_rows

    pending: deque[Future[int]] = deque()
    # The connection stays with this thread: one of a pool may outlive the work and keep its DuckDB results alive.
    with ThreadPoolExecutor(n_writers) as pool:
        for file in files:
            if freed and freed.is_finished(file.number):
                progress(file.n_rows)
                continue
            rows = source.read(file)
            pending.append(pool.submit(write, file, rows))
            # A file is read while others are written; what DuckDB sorts has to be written before it is used again.
            is_streamed = isinstance(rows, pa.RecordBatchReader)
            while len(pending) >= n_writers or (pending and is_streamed):
                progress(pending.popleft().result())
        for future in pending:
            progress(future.result())
