"""Staging: raw files → checked Parquet parts, a single-threaded process per core, a task of Spark, or in place if few.

A container has fast readers, tried in order, and a way to take its lines apart; anything that a fast reader does not
understand or that must be refused sends the whole file to the validating reader.
"""

import csv
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa

from borgtrace.engine import SparkTasks
from borgtrace.engine.processes import map_processes
from borgtrace.errors import EngineError, SourceError, first_line
from borgtrace.ingest.build.counted_machines import write_counted_machines
from borgtrace.ingest.build.flattened import stage_flattened
from borgtrace.ingest.build.series_staging import stage_series
from borgtrace.ingest.build.staged import (
    STAGED_TABLES,
    StagedOutput,
    StagedPaths,
    make_entry,
    read_entry,
    write_entry,
)
from borgtrace.ingest.convert.canonical import canonical_chunk
from borgtrace.ingest.files.raw_layout import NeedsValidation, RawLayout, layout_of
from borgtrace.ingest.files.sources import SERIES, Format, Source
from borgtrace.ingest.files.streams import source_digest
from borgtrace.ingest.files.task_files import task_of_file
from borgtrace.ingest.read.delimited import delimited_lines, read_delimited, read_plain_numbers
from borgtrace.ingest.read.flat_records import read_listed_records
from borgtrace.ingest.read.json_lines import read_json_lines
from borgtrace.ingest.read.line_numbers import line_numbers
from borgtrace.ingest.read.logs import log_blocks
from borgtrace.ingest.read.logs.sacct_chunks import read_sacct
from borgtrace.ingest.read.number_reader import NotPlainNumbers
from borgtrace.ingest.read.parquet import parquet_blocks, read_parquet
from borgtrace.ingest.read.records import json_lines
from borgtrace.ingest.read.tables import table_blocks
from borgtrace.ingest.read.validating_reader import LineFormat, line_blocks, validate
from borgtrace.storage import (
    DISK_FULL,
    NOT_WRITABLE,
    RemotePath,
    disk_full,
    refuse_shortage,
    shortage_behind,
    uploading,
)
from borgtrace.storage.sparse_copy import local_copy
from borgtrace.store.manifest import SourceEntry

Reader = Callable[[Source, RawLayout], Iterator[pa.Table]]


@dataclass(frozen=True)
class Container:
    """How files of one container are read: fast, or line by line."""

    readers: tuple[Reader, ...]
    blocks: Callable[[Source], Iterator[pa.Table]]
    lines: Callable[[RawLayout], LineFormat]


CONTAINERS: dict[Format, Container] = {
    "csv": Container((read_plain_numbers, read_delimited), line_blocks, delimited_lines),
    "swf": Container((read_delimited,), line_blocks, delimited_lines),
    "log": Container((read_sacct,), log_blocks, json_lines),
    "json": Container((read_json_lines,), line_blocks, json_lines),
    "parquet": Container((read_parquet,), parquet_blocks, json_lines),
    "table": Container((read_listed_records,), table_blocks, json_lines),
}


def stage(source: Source, staging: Path) -> SourceEntry:
    """Stage one raw file, unless it is staged already, and return its ledger entry.

    Parameters
    ----------
    source
        The file.
    staging
        The staging area of the store.

    Raises
    ------
    SourceError
        When the file cannot be read to its end; nothing of it is kept.
    StoreError
        When it is one of a bucket, which has changed since it was listed, or cannot be fetched.
    """
    paths = StagedPaths.of(staging, source.name)
    # Another run, or one that was killed, has finished this file: it is not read again.
    if paths.entry.exists():
        return read_entry(paths.entry)
    # Arrow would start a thread for each core in each of the workers.
    pa.set_cpu_count(1)
    # For a bucket the files are made on this machine, and copied when they are whole.
    place = uploading(staging) if isinstance(staging, RemotePath) else nullcontext(staging)
    with place as folder, local_copy(source.path, source.version) as copy:
        here = replace(source, copy=copy)
        is_shared = isinstance(staging, RemotePath)
        paths_here = StagedPaths.of(folder, source.name, is_shared=is_shared)
        # Files of the same name from a run that was killed, maybe of other content: not each of them is written again.
        paths_here.discard()
        for table in STAGED_TABLES:
            paths_here.table(table).parent.mkdir(parents=True, exist_ok=True)
        entry = _stager(source)(here, paths_here)
    write_entry(paths.entry, entry)
    return entry


def _stager(source: Source) -> Callable[[Source, StagedPaths], SourceEntry]:
    """Return what stages a file: one of a single table, of several that are joined, or of series."""
    if source.dialect.flattened:
        return stage_flattened
    return stage_series if source.table == SERIES else _stage


def _stage(source: Source, paths: StagedPaths) -> SourceEntry:
    layout = layout_of(source)
    container = CONTAINERS[source.format]
    # Before it is parsed: rows of a file that changes meanwhile must not be filed under the digest of its new content.
    sha256 = source_digest(source)
    with StagedOutput(paths, layout, task_of_file(source)) as output:
        if not _read_fast(source, container, output):
            _read_validating(source, container, output)
    if source.machines:
        write_counted_machines(source.machines, paths.table("machine_rows"))
    # The files have their names before the ledger entry is written: with the entry, all of them are there.
    return make_entry(source, output, sha256)


def _read_validating(source: Source, container: Container, output: StagedOutput) -> None:
    layout = output.layout
    for block in validate(container.blocks(source), layout, container.lines(layout)):
        output.write(block.rows)
        output.counters["unknown_field"] += block.n_odd
        if block.refused.num_rows:
            refused_rows = block.refused.column("source_row").to_pylist()
            output.refuse(source, block.refused, line_numbers(source, refused_rows))


def _read_fast(source: Source, container: Container, output: StagedOutput) -> bool:
    """Return whether a fast reader could read the whole file."""
    for reader in container.readers:
        try:
            # Closed before the next reader begins: one left half-way would keep its pipe and its connection.
            with closing(reader(source, output.layout)) as chunks:  # type: ignore[type-var]
                for chunk in chunks:
                    output.write(canonical_chunk(output.layout, chunk))
            return True
        except NotPlainNumbers:
            # Another fast reader may still understand the file.
            output.restart()
        except NeedsValidation:
            output.restart()
            return False
    return False


WORTH_A_PROCESS = 32_000_000
"""Bytes beside the largest file below which starting processes costs more than it saves."""
WORTH_A_TASK = 8_000_000
"""Bytes of raw files below which several are one task of Spark: of a trace in thousands of parts most are smaller."""

Outcome = SourceEntry | SourceError


def stage_all(
    sources: Sequence[Source],
    staging: Path,
    jobs: int | SparkTasks,
) -> Iterator[tuple[Source, Outcome]]:
    """Stage files and yield each, as it is done, with its ledger entry or the error that names it.

    Parameters
    ----------
    sources
        Raw files.
    staging
        The staging area of the store.
    jobs
        Most processes at a time; or tasks of Spark, whose workers see `sources` and `staging` under the same names.

    Raises
    ------
    StoreError
        When the disk is full or a worker was killed; what was staged stays.
    EngineError
        When Spark gave up, or its workers do not write to the folder that is seen here.
    """
    attempt = partial(_attempt, staging=staging)
    if isinstance(jobs, SparkTasks):
        largest_first = sorted(sources, key=lambda source: -source.size)
        sizes = [source.size for source in largest_first]
        staged = jobs.map_together(attempt, largest_first, sizes, worth=WORTH_A_TASK, ordered=False)
        for source, outcome in staged:
            if isinstance(outcome, SourceEntry):
                _require_staged(source, staging)
            yield source, outcome
        return
    sizes = [source.size for source in sources]
    is_small = sum(sizes) - max(sizes, default=0) < WORTH_A_PROCESS
    # Largest first, so that no core is left with one long file at the end.
    ordered = sources if is_small or jobs == 1 else sorted(sources, key=lambda source: -source.size)
    yield from map_processes(
        attempt,
        ordered,
        1 if is_small else jobs,
        place=str(staging.parent),
        way_out="run again with fewer --jobs; staged files are kept",
        ordered=False,
    )


def _require_staged(source: Source, staging: Path) -> None:
    if not StagedPaths.of(staging, source.name).entry.exists():
        raise EngineError(
            str(staging),
            "what the workers staged is not there",
            way_out="put the store in a bucket, or on a disk that all of them share",
        )


def _attempt(source: Source, staging: Path) -> tuple[Source, Outcome]:
    try:
        return source, stage(source, staging)
    # Handed back, not raised: one bad file must not end the work on the others.
    except SourceError as fault:
        return source, fault
    except OSError as error:
        # The machine's, not this file's: every other file would fail as well.
        refuse_staging_shortage(error, staging.parent)
        return source, SourceError(str(source.path), f"cannot be read ({error.strerror or error})")
    # Errors of libraries on bytes that no reader foresaw.
    except (duckdb.Error, pa.ArrowException, csv.Error, RecursionError, MemoryError) as error:
        refuse_staging_shortage(error, staging.parent)
        return source, SourceError(
            str(source.path),
            f"cannot be read ({first_line(error)})",
            way_out="fetch it again",
        )


def refuse_staging_shortage(error: BaseException, store: Path) -> None:
    """Raise what the machine was short of while a store was made, where that is why it failed.

    Parameters
    ----------
    error
        What failed.
    store
        The store; what is staged stays.

    Raises
    ------
    StoreError
        The disk is full, or permission is lacking.
    EngineError
        Memory or open files were short.
    """
    number = shortage_behind(error)
    if number in DISK_FULL:
        raise disk_full(store, number, kept="staged files are kept") from error
    # A file that may not be read is a fault of this file.
    if number is not None and number not in NOT_WRITABLE:
        refuse_shortage(error, store)
