"""What is done with one file of a sorted table, by a thread of this machine or a task of Spark.

A store in a bucket may be larger than the disk of any machine that works on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from borgtrace.ingest.build.crosschecks import FILE, count_in_file, count_repeated_usage
from borgtrace.ingest.build.file_ranges import SortedFiles
from borgtrace.ingest.build.task_index import write_tasks
from borgtrace.ingest.build.usage_index import index_usage
from borgtrace.schema import TABLES, TRACE_TABLES, Dialect, Table
from borgtrace.schema.time import AFTER_TRACE
from borgtrace.storage import replacing
from borgtrace.store.columns import write_array
from borgtrace.store.content import Sums, file_sums
from borgtrace.store.digest import file_digest
from borgtrace.store.layout import Layout, part_name


@dataclass(frozen=True)
class SortedTables:
    """The sorted tables of a store, and what is done with one file of them: on this machine, or as a task.

    Parameters
    ----------
    files
        Those of every table.
    dialect
        Decides how ties in time are broken.
    connect
        Opens a connection that sorts; on this machine a cursor, which shares memory and threads with others.
    out
        Folder of the new version, here or in a bucket.
    """

    files: Mapping[str, SortedFiles]
    dialect: Dialect
    connect: Callable[[], duckdb.DuckDBPyConnection]
    out: Path

    def task_file(self, number: int) -> Path:
        """Return the index of the tasks in a file of usage."""
        return self.out / "tasks" / part_name(number)

    def index(self, number: int) -> int:
        """Index a file of usage; return how many of its rows repeat an earlier one."""
        windows = self.files["instance_usage"]
        path = windows.paths[number] if windows.paths else None
        tasks, suspects = index_usage(path, windows.first_row(number))
        with self.connect() as connection:
            write_tasks(connection, tasks, self.files, self.dialect, self.task_file(number), number)
            return count_repeated_usage(connection, windows, number, suspects)

    def make_array(self, column: str) -> str:
        """Make the array of a trace column and return its SHA-256."""
        with replacing(Layout(self.out).array(column)) as draft:
            write_array(draft, self.files["instance_usage"].paths, column)
            return file_digest(draft)

    def look_at(self, item: tuple[str, int, str | None]) -> FileFacts:
        """Return what a file says; an item is its table, its number there, and its digest where that is known."""
        name, number, known = item
        files, table = self.files[name], TABLES[name]
        path = files.paths[number]
        digest, sums = known or file_digest(path), file_sums(table, path, files.first_row(number))
        if name not in TRACE_TABLES:
            return FileFacts(digest, sums)
        with self.connect() as connection:
            counts = count_in_file(connection, self.files, name, number)
            return FileFacts(digest, sums, counts, time_span(connection, table))


@dataclass(frozen=True)
class FileFacts:
    """What a file says: its SHA-256, the sums of its content, rows that break a rule, its first and last time."""

    digest: str
    sums: Sums
    counts: Mapping[str, int] = field(default_factory=dict)
    span: Sequence[int | None] = ()


def time_span(connection: duckdb.DuckDBPyConnection, table: Table) -> Sequence[int | None]:
    """Return the first and the last time of a file, None where there is none; nothing of a table without times."""
    if not (first := table.time):
        return ()
    last = "end_time" if first == "start_time" else first
    # The sentinel for "after the trace" is no time, and would hide the last one.
    query = f"SELECT min({first}), max({last}) FILTER ({last} < {AFTER_TRACE}) FROM {FILE}"
    (span,) = connection.execute(query).fetchall()
    return list(span)


def whole_span(facts: Sequence[FileFacts]) -> list[int]:
    """Return the first and the last time of a table from those of its files; nothing where either is missing."""
    known = [
        [time for time in times if time is not None]
        for times in zip(*(one.span for one in facts), strict=True)
    ]
    return [min(known[0]), max(known[1])] if known and all(known) else []
