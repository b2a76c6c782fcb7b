"""Index, array and checks of one file of a sorted table, in a thread of this machine or a task of Spark.

A store in a bucket may be larger than the disk of any machine that works on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import duckdb

from borgtrace.engine.identifiers import quoted
from borgtrace.ingest.build.crosschecks import FILE, count_in_file, count_repeated_usage
from borgtrace.ingest.build.file_ranges import SortedFiles
from borgtrace.ingest.build.task_index import write_tasks
from borgtrace.ingest.build.usage_index import index_usage
from borgtrace.ingest.build.written_usage import WrittenUsage
from borgtrace.schema import TABLES, TRACE_TABLES, Dialect, Table
from borgtrace.schema.time import AFTER_TRACE
from borgtrace.storage import replacing
from borgtrace.store.columns import write_array
from borgtrace.store.content import Sums, file_sums
from borgtrace.store.digest import file_digest
from borgtrace.store.layout import Layout, part_name


@dataclass(frozen=True)
class SortedTables:
    """The sorted tables of a store, and the work on one file of them: on this machine, or as a task.

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
    written
        What was made of usage while it was written; None where its files are read for it.
    """

    files: Mapping[str, SortedFiles]
    dialect: Dialect
    connect: Callable[[], duckdb.DuckDBPyConnection]
    out: Path
    written: WrittenUsage | None = None

    def task_file(self, number: int) -> Path:
        """Return the index of the tasks in a file of usage."""
        return self.out / "tasks" / part_name(number)

    def index(self, number: int) -> int:
        """Index a file of usage; return how many of its rows repeat an earlier one."""
        windows = self.files["instance_usage"]
        path = windows.paths[number] if windows.paths else None
        if self.written and path:
            tasks, suspects = self.written.take_index(path)
        else:
            tasks, suspects = index_usage(path, windows.first_row(number))
        with self.connect() as connection:
            write_tasks(connection, tasks, self.files, self.dialect, self.task_file(number), number)
            return count_repeated_usage(connection, windows, number, suspects)

    def make_array(self, column: str) -> str:
        """Make the array of a trace column and return its SHA-256."""
        if self.written:
            return file_digest(Layout(self.out).array(column))
        with replacing(Layout(self.out).array(column)) as draft:
            write_array(draft, self.files["instance_usage"].paths, column)
            return file_digest(draft)

    def summarize(self, item: FileToSummarize) -> FileFacts:
        """Return the facts of a file."""
        files = self.files[item.table]
        table = TABLES[item.table]
        path = files.paths[item.number]
        digest = item.digest or file_digest(path)
        sums = file_sums(table, path, files.first_row(item.number))
        if item.table not in TRACE_TABLES:
            return FileFacts(digest, sums)
        with self.connect() as connection:
            counts = count_in_file(connection, self.files, item.table, item.number)
            return FileFacts(digest, sums, counts, time_span(connection, table))


class FileToSummarize(NamedTuple):
    """A file of a table: its table, its number there, and its digest where that is known."""

    table: str
    number: int
    digest: str | None


@dataclass(frozen=True)
class FileFacts:
    """Facts of a file: its SHA-256, the sums of its content, rows that break a rule, its first and last time."""

    digest: str
    sums: Sums
    counts: Mapping[str, int] = field(default_factory=dict)
    span: Sequence[int | None] = ()


def time_span(connection: duckdb.DuckDBPyConnection, table: Table) -> Sequence[int | None]:
    """Return the first and the last time of a file, None where there is none; nothing of a table without times."""
    first = table.time
    if not first:
        return ()
    last = "end_time" if first == "start_time" else first
    first_sql = quoted(first)
    last_sql = quoted(last)
    # The sentinel for "after the trace" is no time, and would hide the last one.
    query_sql = f"""
        SELECT min({first_sql}), max({last_sql}) FILTER ({last_sql} < {AFTER_TRACE})
        FROM {quoted(FILE)}
    """
    (span,) = connection.execute(query_sql).fetchall()
    return list(span)


def whole_span(facts: Sequence[FileFacts]) -> list[int]:
    """Return the first and the last time of a table from those of its files; nothing where either is missing."""
    spans = [file_facts.span for file_facts in facts if file_facts.span]
    firsts = [first for first, _ in spans if first is not None]
    lasts = [last for _, last in spans if last is not None]
    if not (firsts and lasts):
        return []
    return [min(firsts), max(lasts)]
