"""From clustered tables to a finished store: index, arrays, cross-checks, digests, time range."""

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from borgtrace.engine import SparkTasks
from borgtrace.engine.processes import Run, map_threads
from borgtrace.ingest.build.file_ranges import SortedFiles
from borgtrace.ingest.build.sorted_tables import (
    FileFacts,
    FileToSummarize,
    SortedTables,
    whole_span,
)
from borgtrace.ingest.build.sorting_limits import (
    reach_of,
    sorting_connection,
    within_reach,
    writers,
)
from borgtrace.ingest.build.written_usage import WrittenUsage
from borgtrace.ingest.progress import Progress
from borgtrace.schema import TABLES, Dialect
from borgtrace.schema.evolution import schema_digest
from borgtrace.storage import as_path, new_folder
from borgtrace.store.columns import DEFAULT_COLUMNS
from borgtrace.store.content import digest_of_sums, store_digest
from borgtrace.store.digest import file_digests
from borgtrace.store.layout import FORMAT_VERSION, Layout
from borgtrace.store.manifest import Manifest
from borgtrace.version import __version__

WORTH_A_TASK = 1 << 20
"""Rows of sorted files below which several are checked by one task of Spark."""
Facts = Mapping[str, Sequence[FileFacts]]
"""Facts of each file of each table, in their order."""


@contextmanager
def new_store(
    out: str | Path,
    memory: str,
    threads: int | None,
    sources: Sequence[Path],
) -> Iterator[tuple[duckdb.DuckDBPyConnection, Path]]:
    """Yield a connection that sorts and the folder of a store that is made of others: `out`, once the block ends.

    Parameters
    ----------
    out
        A new folder, here or in a bucket.
    memory, threads
        Budget of the sort.
    sources
        The stores whose files it is made of.

    Raises
    ------
    UsageError
        When `out` holds something.
    """
    with new_folder(as_path(out)) as work:
        spill = Layout(work).spill
        folders = within_reach(work, *sources)
        with sorting_connection(memory, threads, folders, spill) as connection:
            yield connection, work
        shutil.rmtree(spill, ignore_errors=True)


def index_and_digest(
    connection: duckdb.DuckDBPyConnection,
    files: Mapping[str, SortedFiles],
    dialect: Dialect,
    work: Path,
    progress: Progress,
    previous: Manifest | None = None,
    spark: SparkTasks | None = None,
    out: Path | None = None,
    written: WrittenUsage | None = None,
) -> dict[str, Any]:
    """Write ``tasks`` and ``traces`` and return the fields of the manifest about the tables.

    Parameters
    ----------
    connection
        DuckDB with its limits set.
    files
        Those of every trace table, from `sorted_files`.
    dialect
        Decides how ties in time are broken.
    work
        The new version of the store.
    progress
        Receives progress.
    previous
        The version before, some of whose files the new one may keep.
    spark
        Where the work on each file is a task; threads of this machine where None.
    out
        Where tables and arrays are, if that is in a bucket; else in `work`.
    written
        What was made of usage while it was written.
    """
    n_workers, memory = writers(connection)
    run: Run = partial(map_threads, workers=n_workers)
    connect = connection.cursor
    if spark:
        run = spark.map
        connect = partial(sorting_connection, f"{memory}B", 1, reach_of(connection))
    tables = SortedTables(files, dialect, connect, out or work, written)
    completion = _Completion(tables, run, work, progress, previous, spark)
    fields = completion.manifest_fields()
    if written:
        written.end()
    return fields


@dataclass
class _Completion:
    """The last steps of a store, whose tables are sorted."""

    tables: SortedTables
    run: Run
    work: Path
    progress: Progress
    previous: Manifest | None
    spark: SparkTasks | None

    def manifest_fields(self) -> dict[str, Any]:
        n_repeated = self._index_usage()
        facts = self._summarize_files()
        content = self._content_digests(facts)
        return {
            "code_version": __version__,
            "format_version": FORMAT_VERSION,
            "schema": schema_digest(TABLES.values()),
            "digest": store_digest(content),
            "content": content,
            "files": self._file_digests(facts),
            "tables": self._rows_of_tables(),
            "quality": _quality(facts, n_repeated),
            "time_range": _time_ranges(facts),
        }

    def _index_usage(self) -> int:
        """Index usage file by file, and add the index of tasks; return how many rows of usage are repeated."""
        # Without usage there is one index of all events.
        rows_of_files = self.tables.files["instance_usage"].rows or (0,)
        self.progress.begin("index tasks", sum(rows_of_files), "rows")
        numbers = range(len(rows_of_files))
        n_repeated = 0
        indexed = self.run(self.tables.index, numbers)
        for rows, n_repeated_here in zip(rows_of_files, indexed, strict=True):
            n_repeated += n_repeated_here
            self.progress.advance("index tasks", rows)
        # Where the files are: of a bucket their footers would be most of what goes through the driver.
        (tasks,) = self.run(SortedFiles.of, [[self.tables.task_file(number) for number in numbers]])
        self.tables = replace(self.tables, files={**self.tables.files, "tasks": tasks})
        return n_repeated

    def _summarize_files(self) -> Facts:
        # Files that stay keep the digests they got when they were written: one that has been damaged since still shows.
        known_digests = self.previous.files if self.previous else {}
        items = []
        for name, files in self.tables.files.items():
            for number, path in enumerate(files.paths):
                digest = known_digests.get(_name_in_store(path)) if self._keeps(path) else None
                items.append(FileToSummarize(name, number, digest))
        total = sum(sum(files.rows) for files in self.tables.files.values())
        self.progress.begin("check and digest", total, "rows")
        facts: dict[str, list[FileFacts]] = {name: [] for name in self.tables.files}
        if self.spark:
            sizes = [self.tables.files[item.table].rows[item.number] for item in items]
            summaries = self.spark.map_together(
                self.tables.summarize, items, sizes, worth=WORTH_A_TASK
            )
        else:
            summaries = self.run(self.tables.summarize, items)
        for item, file_facts in zip(items, summaries, strict=True):
            facts[item.table].append(file_facts)
            rows = self.tables.files[item.table].rows[item.number]
            self.progress.advance("check and digest", rows)
        return facts

    def _content_digests(self, facts: Facts) -> dict[str, str]:
        """Return the content digest of each table; it stays the same if all files stay."""
        digests = {}
        for name, table in TABLES.items():
            files = self.tables.files[name]
            digest = None
            if self.previous and all(self._keeps(path) for path in files.paths):
                digest = self.previous.content.get(name)
            sums = (file_facts.sums for file_facts in facts[name])
            digests[name] = digest or digest_of_sums(table, sum(files.rows), sums)
        return digests

    def _file_digests(self, facts: Facts) -> dict[str, str]:
        """Make the trace arrays and return the SHA-256 of each file of the store by its name there."""
        digests = {}
        for name, files in self.tables.files.items():
            for path, file_facts in zip(files.paths, facts[name], strict=True):
                digests[_name_in_store(path)] = file_facts.digest
        array_digests = self.run(self.tables.make_array, DEFAULT_COLUMNS)
        for column, digest in zip(DEFAULT_COLUMNS, array_digests, strict=True):
            digests[f"traces/{column}.npy"] = digest
        refused = {}
        for path in Layout(self.work).quarantine.glob("*/*.parquet"):
            refused[path.relative_to(self.work).as_posix()] = path
        return digests | file_digests(refused)

    def _rows_of_tables(self) -> dict[str, int]:
        rows_of_tables = {}
        for name, table in TABLES.items():
            rows = sum(self.tables.files[name].rows)
            # Power is published apart: most stores lack its tables, as those of earlier versions do.
            if rows or not table.is_of_cells:
                rows_of_tables[name] = rows
        return rows_of_tables

    def _keeps(self, path: Path) -> bool:
        return is_kept(path, self.work)


def _quality(facts: Facts, n_repeated: int) -> dict[str, dict[str, int]]:
    """Return the faults that show only in whole tables, by table and reason."""
    quality = {}
    for name, facts_of_files in facts.items():
        counts: Counter[str] = Counter()
        for file_facts in facts_of_files:
            counts += Counter(file_facts.counts)
        if name == "instance_usage":
            counts += Counter(exact_duplicate=n_repeated)
        if counts:
            quality[name] = dict(counts)
    return quality


def _time_ranges(facts: Facts) -> dict[str, list[int]]:
    ranges = {name: whole_span(facts_of_files) for name, facts_of_files in facts.items()}
    return {name: span for name, span in ranges.items() if span}


def _name_in_store(path: Path) -> str:
    """Return the name of a table's file within its store."""
    return f"{path.parent.name}/{path.name}"


def is_kept(path: Path, work: Path) -> bool:
    """Whether a file is one of the version before.

    Parameters
    ----------
    path
        The file.
    work
        Folder of the new version.
    """
    return work not in path.parents


def count_rows(files: Sequence[Path]) -> int:
    """Return the rows of Parquet files, from their footers."""
    return sum(SortedFiles.of(files).rows)
