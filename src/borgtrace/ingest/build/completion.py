"""From clustered tables to a finished store: index, arrays, cross-checks, digests, time range."""

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from borgtrace._version import __version__
from borgtrace.engine import SparkTasks
from borgtrace.engine.processes import Run, map_threads
from borgtrace.ingest.build.clustering import sorting_connection, writers
from borgtrace.ingest.build.file_ranges import SortedFiles
from borgtrace.ingest.build.sorted_tables import FileFacts, SortedTables, whole_span
from borgtrace.ingest.progress import Progress
from borgtrace.schema import TABLES, TRACE_TABLES, Dialect
from borgtrace.schema.evolution import schema_digest
from borgtrace.storage import as_path, new_folder
from borgtrace.store.columns import DEFAULT_COLUMNS
from borgtrace.store.content import digest_of_sums, store_digest
from borgtrace.store.digest import file_digests
from borgtrace.store.layout import FORMAT_VERSION, Layout
from borgtrace.store.manifest import Manifest

Facts = Mapping[str, Sequence[FileFacts]]
"""What each file of each table says, in their order."""


@contextmanager
def new_store(
    out: str | Path, memory: str, threads: int | None
) -> Iterator[tuple[duckdb.DuckDBPyConnection, Path]]:
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
    with new_folder(as_path(out)) as work:
        spill = Layout(work).spill
        with sorting_connection(memory, threads, spill) as connection:
            yield connection, work
        shutil.rmtree(spill, ignore_errors=True)


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
    files_of = {name: SortedFiles.of(files[name]) for name in TRACE_TABLES}
    tables, repeated = _index(SortedTables(files_of, dialect, connect, out or work), run, progress)
    facts = _look_at_files(tables, run, work, progress, held)
    counts = {
        name: sum((Counter(one.counts) for one in found), Counter())
        for name, found in facts.items()
    }
    counts["instance_usage"] += Counter(exact_duplicate=repeated)
    content = _content(tables, facts, work, held)
    rows = {name: sum(tables.files[name].rows) for name in TABLES}
    return {
        "code_version": __version__,
        "format_version": FORMAT_VERSION,
        "schema": schema_digest(TABLES.values()),
        "digest": store_digest(content),
        "content": content,
        "files": _digests(tables, facts, run, work),
        # Power is published apart: most stores lack its tables, as those of earlier versions do.
        "tables": {
            name: rows[name]
            for name, table in TABLES.items()
            if rows[name] or not table.is_of_cells
        },
        "quality": {name: dict(found) for name, found in counts.items() if found},
        "time_range": {name: span for name, found in facts.items() if (span := whole_span(found))},
    }


def _index(tables: SortedTables, run: Run, progress: Progress) -> tuple[SortedTables, int]:
    """Index usage file by file; return the tables with the index of tasks, and how many rows of usage are repeated."""
    # Without usage there is one index of all events.
    ranges = tables.files["instance_usage"].rows or (0,)
    progress.begin("index tasks", sum(ranges), "rows")
    numbers, repeated = range(len(ranges)), 0
    for rows, found in zip(ranges, run(tables.index, numbers), strict=True):
        repeated += found
        progress.advance("index tasks", rows)
    tasks = SortedFiles.of([tables.task_file(number) for number in numbers])
    return replace(tables, files={**tables.files, "tasks": tasks}), repeated


def _look_at_files(
    tables: SortedTables, run: Run, work: Path, progress: Progress, held: Manifest | None
) -> Facts:
    # Files that stay keep the digests they got when they were written: one that has been damaged since still shows.
    known = held.files if held else {}
    items = [
        (name, number, known.get(_name(path)) if is_kept(path, work) else None)
        for name, files in tables.files.items()
        for number, path in enumerate(files.paths)
    ]
    progress.begin(
        "check and digest", sum(sum(files.rows) for files in tables.files.values()), "rows"
    )
    facts: dict[str, list[FileFacts]] = {name: [] for name in tables.files}
    for (name, number, _), found in zip(items, run(tables.look_at, items), strict=True):
        facts[name].append(found)
        progress.advance("check and digest", tables.files[name].rows[number])
    return facts


def _content(
    tables: SortedTables, facts: Facts, work: Path, held: Manifest | None
) -> dict[str, str]:
    """Return the content digest of each table; one whose files all stay keeps what it had."""
    content = {}
    for name, table in TABLES.items():
        files = tables.files[name]
        known = (
            held.content.get(name)
            if held and all(is_kept(path, work) for path in files.paths)
            else None
        )
        content[name] = known or digest_of_sums(
            table, sum(files.rows), (one.sums for one in facts[name])
        )
    return content


def _digests(tables: SortedTables, facts: Facts, run: Run, work: Path) -> dict[str, str]:
    """Make the trace arrays and return the SHA-256 of each file of the store by its name there."""
    of_tables = {
        _name(path): one.digest
        for name, files in tables.files.items()
        for path, one in zip(files.paths, facts[name], strict=True)
    }
    made = run(tables.make_array, DEFAULT_COLUMNS)
    of_arrays = {
        f"traces/{name}.npy": digest for name, digest in zip(DEFAULT_COLUMNS, made, strict=True)
    }
    refused = {
        path.relative_to(work).as_posix(): path
        for path in Layout(work).quarantine.glob("*/*.parquet")
    }
    return of_tables | of_arrays | file_digests(refused)


def _name(path: Path) -> str:
    """Return what a file of a table is called in its store."""
    return f"{path.parent.name}/{path.name}"


def is_kept(path: Path, work: Path) -> bool:
    """Whether a file is one of the version before."""
    return work not in path.parents


def count_rows(files: Sequence[Path]) -> int:
    """Return the rows of Parquet files, from their footers."""
    return sum(SortedFiles.of(files).rows)
