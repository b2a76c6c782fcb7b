"""From clustered tables to a finished store: index, arrays, cross-checks, digests, time range."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq

from borgtrace._version import __version__
from borgtrace.engine.embedded import files_sql
from borgtrace.ingest.clustering import setting, sorting_connection
from borgtrace.ingest.crosschecks import count_across
from borgtrace.ingest.progress import Progress
from borgtrace.ingest.task_index import write_tasks
from borgtrace.ingest.usage_index import index_usage
from borgtrace.schema import TABLES, TRACE_TABLES, Dialect
from borgtrace.schema.evolution import schema_digest
from borgtrace.schema.time import AFTER_TRACE
from borgtrace.storage import new_folder, place
from borgtrace.store.content import store_digest, table_digest
from borgtrace.store.digest import file_digests
from borgtrace.store.layout import FORMAT_VERSION, Layout, part_name
from borgtrace.store.manifest import Manifest

INDEXERS = 4
"""Most blocks of usage indexed at a time, whatever the number of cores: they are outside DuckDB's budget."""


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


def finish(
    connection: duckdb.DuckDBPyConnection,
    files: Mapping[str, Sequence[Path]],
    dialect: Dialect,
    work: Path,
    progress: Progress,
    held: Manifest | None = None,
) -> dict[str, Any]:
    """Write ``tasks`` and ``traces`` into `work` and return the fields of the manifest that say what the tables hold.

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
    """
    rows, threads = {name: count_rows(files[name]) for name in TRACE_TABLES}, int(setting(connection, "threads"))
    traces = Layout(work).traces
    traces.mkdir()
    progress.begin("index tasks", rows["instance_usage"], "rows")
    # Usage first: the index of tasks takes its rows and positions from there.
    usage, suspects = index_usage(
        files["instance_usage"],
        rows["instance_usage"],
        traces,
        min(threads, INDEXERS),
        lambda done: progress.advance("index tasks", done),
    )
    rows["tasks"] = write_tasks(connection, usage, files, dialect, work / "tasks")
    tasks = work / "tasks" / part_name(0)
    progress.begin("cross-check tables", len(TRACE_TABLES), "tables")
    quality = count_across(connection, files, tasks, suspects)
    progress.advance("cross-check tables", len(TRACE_TABLES))
    written = {**files, "tasks": [tasks]}
    progress.begin("digest", sum(rows.values()), "rows")
    paths = {f"{name}/{path.name}": path for name, parts in written.items() for path in parts}
    made = [*traces.glob("*.npy"), *Layout(work).quarantine.glob("*/*.parquet")]
    paths |= {path.relative_to(work).as_posix(): path for path in made}
    # Files that stay keep the digests they got when they were written: one that has been damaged since still shows.
    kept = {name: digest for name, digest in (held.files if held else {}).items() if _stays(paths.get(name), work)}
    digests = kept | file_digests({name: path for name, path in paths.items() if name not in kept}, threads)
    content = {}
    for name, table in TABLES.items():
        known = held.content.get(name) if held and all(_stays(path, work) for path in written[name]) else None
        content[name] = known or table_digest(table, written[name], threads, as_noted=True)
        progress.advance("digest", rows[name])
    return {
        "code_version": __version__,
        "format_version": FORMAT_VERSION,
        "schema": schema_digest(TABLES.values()),
        "digest": store_digest(content),
        "content": content,
        "files": digests,
        # Power is published apart: most stores lack its tables, as those of earlier versions do.
        "tables": {name: rows[name] for name, table in TABLES.items() if rows[name] or not table.is_of_cells},
        "quality": quality,
        "time_range": _time_range(connection, files),
    }


def _stays(path: Path | None, work: Path) -> bool:
    """Whether a file is one of the version before."""
    return path is not None and work not in path.parents


def count_rows(files: Sequence[Path]) -> int:
    """Return the rows of Parquet files, from their footers."""
    return sum(pq.read_metadata(path).num_rows for path in files)


def _time_range(connection: duckdb.DuckDBPyConnection, files: Mapping[str, Sequence[Path]]) -> dict[str, list[int]]:
    ranges = {}
    for name, paths in files.items():
        first = TABLES[name].time
        last = "end_time" if first == "start_time" else first
        # The sentinel for "after the trace" is no time, and would hide the last one.
        range_sql = f"SELECT min({first}), max({last}) FILTER ({last} < {AFTER_TRACE})"
        found = connection.execute(f"{range_sql} FROM {files_sql(paths)}").fetchone() if paths and first else None
        if found and None not in found:
            ranges[name] = list(map(int, found))
    return ranges
