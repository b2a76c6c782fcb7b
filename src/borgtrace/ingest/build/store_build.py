"""Staged parts (and the tables a store has) → the next version of the store."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from borgtrace.engine import SparkTasks
from borgtrace.engine.processes import Item, Result
from borgtrace.engine.stored import is_current
from borgtrace.ingest.build.build_inputs import BuildInputs, memory_of_build
from borgtrace.ingest.build.clustering import cluster
from borgtrace.ingest.build.coded_part import SUFFIX
from borgtrace.ingest.build.completion import count_rows, index_and_digest
from borgtrace.ingest.build.conservation import conserve, not_conserved, rows_of_table
from borgtrace.ingest.build.conversion_facts import basis_of, notes_on_time
from borgtrace.ingest.build.converted_build import convert, refuse_addition
from borgtrace.ingest.build.file_ranges import sorted_files
from borgtrace.ingest.build.freed_rows import FreedRows, can_free, has_freed_rows
from borgtrace.ingest.build.leftovers import remove_unfinished
from borgtrace.ingest.build.sorted_relation import NO_FILES, PresentFiles, UnsortedRows
from borgtrace.ingest.build.sorting_limits import (
    sorting_connection,
    within_reach,
)
from borgtrace.ingest.build.staged import StagedPaths
from borgtrace.ingest.build.staged_relation import (
    by_columns,
    present_relation,
    staged_relation,
)
from borgtrace.ingest.build.table_files import Watch, WriteHooks, nobody_watches
from borgtrace.ingest.build.written_usage import WrittenUsage
from borgtrace.ingest.files.staged_part import StagedPart
from borgtrace.ingest.progress import Progress
from borgtrace.schema import TABLES, TRACE_TABLES, Dialect, Table, dialect
from borgtrace.storage import RemotePath, download, remove
from borgtrace.store.integrity import check_unchanged
from borgtrace.store.layout import Layout, source_key
from borgtrace.store.manifest import Manifest, SourceEntry
from borgtrace.store.swap import commit_next


def build(
    layout: Layout,
    inputs: BuildInputs,
    memory: str,
    threads: int,
    progress: Progress,
    spark: SparkTasks | None = None,
) -> Manifest:
    """Cluster all tables that have new rows, rebuild the index, and put the result in place.

    Parameters
    ----------
    layout
        The store.
    inputs
        What it holds, and what is staged beside it.
    memory
        What DuckDB may hold before it spills.
    threads
        Its threads.
    progress
        Receives progress.
    spark
        Where files of sorted rows are made; here where None.

    Raises
    ------
    StoreError
        When rows went missing on the way (the law of conservation), which would be our fault, or a file
        of the store that is read has changed since it was written.
    """
    layout, shared = _fetch_staged(layout, inputs)
    work = layout.unfinished
    remove_unfinished(layout)
    work.mkdir(parents=True, exist_ok=True)
    folders = within_reach(layout.root, layout.staging)
    memory = memory_of_build(inputs.staged, memory, threads)
    with sorting_connection(memory, threads, folders, layout.spill) as connection:
        next_version = StoreBuild(
            layout,
            inputs,
            work,
            connection,
            threads,
            progress,
            spark,
            shared,
        )
        manifest = next_version.run()
    # Last into the new version: a folder without it is not whole.
    manifest.write(work / layout.manifest.name)
    commit_next(layout)
    shutil.rmtree(layout.spill, ignore_errors=True)
    return manifest


def _fetch_staged(layout: Layout, inputs: BuildInputs) -> tuple[Layout, RemotePath | None]:
    """Copy staged parts from a bucket as far as they are read here; return the local layout and the remote store.

    Formats that are converted are read and built here; of others only the refused rows come here.
    """
    here = Layout(layout.root)
    staging = layout.staging
    if not isinstance(staging, RemotePath):
        return here, None
    if dialect(inputs.identity.generation).conversion:
        download(staging, here.staging)
        return here, None
    download(staging / "quarantine", here.staging / "quarantine")
    # Files of a run that was killed, which may have planned others.
    for folder in (*TABLES, here.traces.name):
        remove(staging.parent / folder)
    return here, staging.parent


@dataclass
class StoreBuild:
    """The next version of a store while it is built.

    Parameters
    ----------
    layout
        The store.
    inputs
        What it holds, and what is staged beside it.
    work
        Folder of the new version.
    connection, threads
        DuckDB with its limits set.
    progress
        Receives progress.
    spark
        Where files of sorted rows are made; here where None.
    shared
        The store that is made, where its files and the staged parts are in a bucket.
    """

    layout: Layout
    inputs: BuildInputs
    work: Path
    connection: duckdb.DuckDBPyConnection
    threads: int
    progress: Progress
    spark: SparkTasks | None = None
    shared: RemotePath | None = None

    def run(self) -> Manifest:
        """Write the tables of the new version, and return its manifest."""
        identity = self.inputs.identity
        trace = dialect(identity.generation)
        facts = self._convert(trace) if trace.conversion else self._sort(trace)
        return Manifest(
            generation=trace.trace,
            cell=identity.cell,
            time_zone=identity.time_zone or trace.time_zone(identity.cell),
            synthetic=identity.synthetic,
            declaration=identity.declaration or {},
            **facts,
        )

    def _sort(self, trace: Dialect) -> dict[str, Any]:
        """Sort canonical rows into the store; return their fields of the manifest."""
        written = self._written_usage()
        files = {}
        for name in TRACE_TABLES:
            watch = written.watch if written and name == "instance_usage" else nobody_watches
            files[name] = self.cluster_table(name, watch)
        # Before anything is put in place: should rows have gone missing, the store stays as it was.
        tables = self._read_footers(sorted_files, files)
        rows_of_tables = {name: sum(table.rows) for name, table in tables.items()}
        conserve(self.layout.root, self.inputs.entries, rows_of_tables)
        self.move_quarantine()
        present = self.inputs.present
        facts = index_and_digest(
            self.connection,
            tables,
            trace,
            self.work,
            self.progress,
            present,
            self.spark,
            self.shared,
            written,
        )
        facts["sources"] = self.inputs.entries
        if present:
            facts["unknown"] = present.unknown
            facts["notes"] = present.notes
        return facts

    def _convert(self, trace: Dialect) -> dict[str, Any]:
        """Convert all files of a format together; return the fields of the manifest."""
        refuse_addition(self.layout, self.inputs.present, self.inputs.replaced)
        identity = self.inputs.identity
        converted = convert(
            self.connection,
            self.layout,
            self.inputs.entries,
            trace,
            identity.capacity,
            self.work,
            self.progress,
        )
        self.move_quarantine()
        tables = sorted_files(converted.files)
        facts = index_and_digest(
            self.connection,
            tables,
            trace,
            self.work,
            self.progress,
            written=converted.written,
        )
        return {
            **facts,
            "notes": (*converted.notes, *notes_on_time(trace, identity, converted.basis.zero)),
            "sources": converted.entries,
            "basis": basis_of(converted, identity),
            "quality": _merged_counters(facts["quality"], converted.quality),
        }

    def _written_usage(self) -> WrittenUsage | None:
        """Begin what is made of usage while it is written; None where files may stay, or tasks of Spark write them.

        Files that a killed build finished are read for it, as all others are then.
        """
        n_rows = sum(rows_of_table("instance_usage", entry) for entry in self.inputs.entries)
        if not self._is_made_here_anew or not n_rows or has_freed_rows(self.layout):
            return None
        written = WrittenUsage(self.work, n_rows)
        written.begin()
        return written

    @property
    def _is_made_here_anew(self) -> bool:
        return not (self.inputs.present or self.spark or self.shared)

    def _freed_rows(self, table: Table, coded: Sequence[StagedPart]) -> FreedRows | None:
        """Return what frees staged rows once the store has them; None where they stay."""
        if not (coded and self._is_made_here_anew):
            return None
        n_bytes = sum(part.path.stat().st_size for part in coded)
        if has_freed_rows(self.layout) or can_free(self.layout.staging, n_bytes):
            return FreedRows(self.layout, table, coded)
        return None

    def cluster_table(self, name: str, watch: Watch = nobody_watches) -> list[Path]:
        """Return the files of a table: new ones where it has new rows, else the present ones."""
        table = TABLES[name]
        shared = self.shared
        staging = shared / self.layout.staging.name if shared else self.layout.staging
        staged = self.inputs.staged_parts(name, staging, is_in_bucket=shared is not None)
        coded = [StagedPart(path, part) for path, part in staged.items() if path.suffix == SUFFIX]
        parquet = {path: part for path, part in staged.items() if path.suffix != SUFFIX}
        parts = self._read_footers(by_columns, parquet)
        present = self.layout.parts(name)
        moved = self.inputs.moved_parts_of(name)
        # A table without new rows keeps its files.  One whose rows go or get other numbers of their parts is rebuilt,
        # as is one that an earlier version wrote: its rows and their order must be those of an ingest of all at once.
        is_unmoved = all(before == now for before, now in moved.items())
        is_kept = bool(present) and is_unmoved and is_current(table, present)
        if not staged and (is_kept or not present):
            return present
        fresh_sql = staged_relation(table, parts) if parts else ""
        relations = [fresh_sql] if parts else []
        if present:
            self._check_unchanged(present)
            relations.append(present_relation(table, present, moved))
        label = f"cluster {name}"
        expected = sum(rows_of_table(name, entry) for entry in self.inputs.staged)
        self.progress.begin(label, expected, "rows")
        # Machine tables are one file; of a table of collections, only the files where new rows belong are rebuilt.
        may_stay = is_kept and table.key[0] == "collection_id"
        return cluster(
            self.connection,
            table,
            UnsortedRows(" UNION ALL ".join(relations), parts, coded),
            (self.shared or self.work) / name,
            lambda rows: self.progress.advance(label, rows),
            PresentFiles(present, fresh_sql) if may_stay else NO_FILES,
            self.spark,
            WriteHooks(watch=watch),
            self._freed_rows(table, coded),
        )

    def _read_footers(self, read: Callable[[Item], Result], files: Item) -> Result:
        """Return what the footers of files say: by a task where they are in a bucket, so that they do not come here."""
        if self.spark is None or self.shared is None or not files:
            return read(files)
        (facts,) = self.spark.map(read, [files])
        return facts

    def move_quarantine(self) -> None:
        """Collect refused rows: those the store keeps already, and those of the staged sources."""
        quarantine = self.layout.quarantine
        target = self.work / quarantine.name
        replaced = {source_key(name) for name in self.inputs.replaced}
        kept = [path for path in quarantine.glob("*/*.parquet") if path.stem not in replaced]
        self._check_unchanged(kept)
        # Even if no refused row is left: the swap leaves folders in place that the new version lacks.
        if quarantine.exists():
            target.mkdir()
        staged = [self._refused_rows(entry) for entry in self.inputs.staged if entry.quarantined]
        for path in (*kept, *staged):
            folder = target / path.parent.name
            folder.mkdir(parents=True, exist_ok=True)
            # Copied, not moved: after a crash the next run needs them where they were.
            shutil.copy2(path, folder / path.name)

    def _refused_rows(self, entry: SourceEntry) -> Path:
        path = StagedPaths.of(self.layout.staging, entry.name).quarantine(entry.table)
        rows = count_rows([path]) if path.exists() else 0
        if rows != entry.quarantined:
            raise not_conserved(
                self.layout.root,
                f"the quarantine of {entry.name}",
                entry.quarantined,
                rows,
            )
        return path

    def _check_unchanged(self, paths: Sequence[Path]) -> None:
        """Refuse damaged files of the store: the new version would give them new digests."""
        if self.inputs.present is not None:
            check_unchanged(self.layout, self.inputs.present, paths, self.threads)


def _merged_counters(
    first: Mapping[str, Mapping[str, int]],
    second: Mapping[str, Mapping[str, int]],
) -> dict[str, dict[str, int]]:
    """Return the counters of two by table; no reason is in both."""
    return {name: {**first.get(name, {}), **second.get(name, {})} for name in TRACE_TABLES}
