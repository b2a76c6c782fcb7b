"""From clustered tables to a finished store: index, arrays, cross-checks, digests, time range.

Each file is looked at on its own: by threads of this machine, or by tasks of Spark where a store is in a bucket that
no machine reads whole.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from borgtrace._version import __version__
from borgtrace.engine import SparkTasks
from borgtrace.engine.processes import Run, map_threads
from borgtrace.ingest.clustering import sorting_connection, writers
from borgtrace.ingest.crosschecks import FILE, count_in_file, count_repeated_usage
from borgtrace.ingest.file_ranges import SortedFiles
from borgtrace.ingest.progress import Progress
from borgtrace.ingest.task_index import write_tasks
from borgtrace.ingest.trace_arrays import KINDS, TraceArrays
from borgtrace.ingest.usage_index import index_usage
from borgtrace.schema import TABLES, TRACE_TABLES, Dialect, Table
from borgtrace.schema.evolution import schema_digest
from borgtrace.schema.time import AFTER_TRACE
from borgtrace.storage import new_folder, place
from borgtrace.store.content import Sums, digest_of_sums, file_sums, store_digest
from borgtrace.store.digest import file_digest, file_digests
from borgtrace.store.layout import FORMAT_VERSION, Layout, part_name
from borgtrace.store.manifest import Manifest


@contextmanager
def new_store(out: str | Path, memory: str, threads: int | None) -> Iterator[tuple[duckdb.DuckDBPyConnection, Path]]:
    """Yield a connection that sorts and the folder of a store that is made of others: `out`, once the block ends.

    Parameters
    ----------
    out
        A new folder, here or in a bucket.
    memory, threads
        Budget of the sort.

    Raises
    ------
    UsageError
        When `out` holds something.
    """
    with new_folder(place(out)) as work:
        spill = Layout(work).spill
        with sorting_connection(memory, threads, spill) as connection:
            yield connection, work
        shutil.rmtree(spill, ignore_errors=True)


@dataclass(frozen=True)
class _Facts:
    """What a file says: its SHA-256, the sums of its content, rows that break a rule, its first and last time."""

    digest: str
    sums: Sums
    counts: Mapping[str, int] = field(default_factory=dict)
    span: Sequence[int | None] = ()


@dataclass(frozen=True)
class _Sorted:
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

    def index(self, arrays: TraceArrays, number: int) -> int:
        """Index a file of usage; return how many of its rows repeat an earlier one."""
        windows = self.files["instance_usage"]
        path = windows.paths[number] if windows.paths else None
        with arrays.part(number) as part, self.connect() as connection:
            tasks, suspects = index_usage(path, sum(windows.rows[:number]), part)
            write_tasks(connection, tasks, self.files, self.dialect, self.task_file(number), number)
            return count_repeated_usage(connection, windows, number, suspects)

    def look_at(self, item: tuple[str, int, str | None]) -> _Facts:
        """Return what a file says: its table, its number and its digest, if that is known."""
        name, number, known = item
        files, table = self.files[name], TABLES[name]
        path = files.paths[number]
        digest, sums = known or file_digest(path), file_sums(table, path, sum(files.rows[:number]))
        if name not in TRACE_TABLES:
            return _Facts(digest, sums)
        with self.connect() as connection:
            counts = count_in_file(connection, self.files, name, number)
            return _Facts(digest, sums, counts, _span(connection, table))


def finish(
    connection: duckdb.DuckDBPyConnection,
    files: Mapping[str, Sequence[Path]],
    dialect: Dialect,
    work: Path,
    progress: Progress,
    held: Manifest | None = None,
    spark: SparkTasks | None = None,
    out: Path | None = None,
) -> dict[str, Any]:
    """Write ``tasks`` and ``traces`` and return the fields of the manifest that say what the tables hold.

    Parameters
    ----------
    connection
        DuckDB with its limits set.
    files
        Clustered Parquet files of every trace table.
    dialect
        Decides how ties in time are broken.
    work
        The new version of the store.
    held
        The version before, some of whose files the new one may keep.
    spark
        Where the work on each file is a task; threads of this machine where None.
    out
        Where tables and arrays are, if that is in a bucket; else in `work`.
    """
    workers, memory = writers(connection)
    run: Run = spark.map if spark else partial(map_threads, workers=workers)
    connect = partial(sorting_connection, f"{memory}B", 1) if spark else connection.cursor
    tables = {name: SortedFiles.of(files[name]) for name in TRACE_TABLES}
    ranges = tables["instance_usage"].rows or (0,)
    store = _Sorted(tables, dialect, connect, out or work)
    arrays = TraceArrays(store.out / "traces", ranges, in_pieces=spark is not None)
    arrays.begin()
    progress.begin("index tasks", sum(ranges), "rows")
    repeated = 0
    for rows, found in zip(ranges, run(partial(store.index, arrays), range(len(ranges))), strict=True):
        repeated += found
        progress.advance("index tasks", rows)
    tables |= {"tasks": SortedFiles.of([store.task_file(number) for number in range(len(ranges))])}
    digests = {f"traces/{name}.npy": digest for name, digest in zip(KINDS, run(arrays.digest, KINDS), strict=True)}
    refused = Layout(work).quarantine.glob("*/*.parquet")
    digests |= file_digests({path.relative_to(work).as_posix(): path for path in refused})
    facts = _facts(replace(store, files=tables), run, work, progress, held)
    content = {}
    for name, table in TABLES.items():
        is_kept = all(_stays(path, work) for path in tables[name].paths)
        known = held.content.get(name) if held and is_kept else None
        content[name] = known or digest_of_sums(table, sum(tables[name].rows), [one.sums for one in facts[name]])
        digests |= {_name(path): one.digest for path, one in zip(tables[name].paths, facts[name], strict=True)}
    counts = {name: sum((Counter(one.counts) for one in found), Counter()) for name, found in facts.items()}
    counts["instance_usage"] += Counter(exact_duplicate=repeated)
    return {
        "code_version": __version__,
        "format_version": FORMAT_VERSION,
        "schema": schema_digest(TABLES.values()),
        "digest": store_digest(content),
        "content": content,
        "files": digests,
        # Power is published apart: most stores lack its tables, as those of earlier versions do.
        "tables": {
            name: sum(tables[name].rows)
            for name, table in TABLES.items()
            if tables[name].paths or not table.is_of_cells
        },
        "quality": {name: dict(found) for name, found in counts.items() if found},
        "time_range": {name: span for name, found in facts.items() if (span := _whole_span(found))},
    }


def _facts(store: _Sorted, run: Run, work: Path, progress: Progress, held: Manifest | None) -> dict[str, list[_Facts]]:
    """Look at every file, and return what those of each table say."""
    # Files that stay keep the digests they got when they were written: one that has been damaged since still shows.
    known = held.files if held else {}
    items = [
        (name, number, known.get(_name(path)) if _stays(path, work) else None)
        for name, files in store.files.items()
        for number, path in enumerate(files.paths)
    ]
    progress.begin("check and digest", sum(sum(files.rows) for files in store.files.values()), "rows")
    facts: dict[str, list[_Facts]] = {name: [] for name in store.files}
    for (name, number, _), found in zip(items, run(store.look_at, items), strict=True):
        facts[name].append(found)
        progress.advance("check and digest", store.files[name].rows[number])
    return facts


def _name(path: Path) -> str:
    """Return what a file of a table is called in its store."""
    return f"{path.parent.name}/{path.name}"


def _stays(path: Path, work: Path) -> bool:
    """Whether a file is one of the version before."""
    return work not in path.parents


def count_rows(files: Sequence[Path]) -> int:
    """Return the rows of Parquet files, from their footers."""
    return sum(SortedFiles.of(files).rows)


def _span(connection: duckdb.DuckDBPyConnection, table: Table) -> Sequence[int | None]:
    """Return the first and the last time of a file, None where there is none; nothing of a table without times."""
    if not (first := table.time):
        return ()
    last = "end_time" if first == "start_time" else first
    # The sentinel for "after the trace" is no time, and would hide the last one.
    query = f"SELECT min({first}), max({last}) FILTER ({last} < {AFTER_TRACE}) FROM {FILE}"
    (span,) = connection.execute(query).fetchall()
    return list(span)


def _whole_span(facts: Sequence[_Facts]) -> list[int]:
    """Return the first and the last time of a table; nothing where either is missing."""
    known = [[time for time in times if time is not None] for times in zip(*(one.span for one in facts), strict=True)]
    return [min(known[0]), max(known[1])] if known and all(known) else []
