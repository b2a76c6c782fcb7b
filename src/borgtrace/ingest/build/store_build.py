"""Staged parts (and the tables a store has) → the next version of the store."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb

from borgtrace.engine import SparkTasks
from borgtrace.engine.stored import is_current
from borgtrace.errors import StoreError
from borgtrace.ingest.build.clustering import cluster, sorting_connection
from borgtrace.ingest.build.completion import count_rows, finish
from borgtrace.ingest.build.converted_build import convert, refuse_addition
from borgtrace.ingest.build.identity import Identity
from borgtrace.ingest.build.staged import StagedPaths
from borgtrace.ingest.build.staged_relation import (
    by_columns,
    moved_parts,
    number_parts,
    present_relation,
    staged_relation,
)
from borgtrace.ingest.progress import Progress
from borgtrace.schema import TABLES, TRACE_TABLES, Dialect, dialect
from borgtrace.storage import RemotePath, download, remove
from borgtrace.store.integrity import check_unchanged
from borgtrace.store.layout import Layout, source_key
from borgtrace.store.manifest import Manifest, SourceEntry
from borgtrace.store.swap import commit_next


@dataclass(frozen=True)
class Inputs:
    """What a build starts from: the store as it is, and the sources staged beside it."""

    identity: Identity
    present: Manifest | None
    staged: tuple[SourceEntry, ...]

    @property
    def held(self) -> tuple[SourceEntry, ...]:
        """Sources whose rows the store has."""
        return self.present.sources if self.present else ()

    @property
    def replaced(self) -> set[str]:
        """Names of sources whose rows, if the store has any, are not kept."""
        return {entry.name for entry in self.staged}

    @property
    def entries(self) -> tuple[SourceEntry, ...]:
        """Sources of the next version, by name."""
        kept = [entry for entry in self.held if entry.name not in self.replaced]
        return tuple(sorted((*kept, *self.staged), key=lambda entry: entry.name))


def build(
    layout: Layout,
    inputs: Inputs,
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
        Told what is being done.
    spark
        Where files of sorted rows are made; here where None.

    Raises
    ------
    StoreError
        When rows went missing on the way (the law of conservation), which would be our fault, or a file
        of the store that is read has changed since it was written.
    """
    layout, shared = _brought_here(layout, inputs)
    work = layout.unfinished
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    with sorting_connection(memory, threads, layout.spill) as connection:
        builder = StoreBuild(layout, inputs, work, connection, threads, progress, spark, shared)
        manifest = builder.run()
    # Last into the new version: a folder without it is not whole.
    manifest.write(work / layout.manifest.name)
    commit_next(layout)
    shutil.rmtree(layout.spill, ignore_errors=True)
    return manifest


def _brought_here(layout: Layout, inputs: Inputs) -> tuple[Layout, RemotePath | None]:
    """Copy what is read here of parts that were staged in a bucket; return the layout here, and the store there.

    Formats that are converted are read and built here; of others the refused rows alone come here.
    """
    here, staging = Layout(layout.root), layout.staging
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
    layout: Layout
    inputs: Inputs
    work: Path
    connection: duckdb.DuckDBPyConnection
    threads: int
    progress: Progress
    spark: SparkTasks | None = None
    shared: RemotePath | None = None
    """The store that is made, where its files and the staged parts are in a bucket."""

    def run(self) -> Manifest:
        identity = self.inputs.identity
        trace = dialect(identity.generation)
        return Manifest(
            generation=trace.trace,
            cell=identity.cell,
            time_zone=trace.time_zone(identity.cell),
            synthetic=identity.synthetic,
            **self._convert(trace) if trace.conversion else self._sort(trace),
        )

    def _sort(self, trace: Dialect) -> dict[str, Any]:
        """Sort canonical rows into the store; return what the manifest says of them."""
        files, present = (
            {name: self.cluster_table(name) for name in TRACE_TABLES},
            self.inputs.present,
        )
        # Before anything is put in place: should rows have gone missing, the store stays as it was.
        conserve(
            self.layout.root,
            self.inputs.entries,
            {name: count_rows(paths) for name, paths in files.items()},
        )
        self.move_quarantine()
        kept = {"unknown": present.unknown, "notes": present.notes} if present else {}
        facts = finish(
            self.connection,
            files,
            trace,
            self.work,
            self.progress,
            present,
            self.spark,
            self.shared,
        )
        return {**kept, "sources": self.inputs.entries, **facts}

    def _convert(self, trace: Dialect) -> dict[str, Any]:
        """Make canonical rows of all files of a converted format together; return what the manifest says of them."""
        refuse_addition(self.layout, self.inputs.present)
        identity, entries = self.inputs.identity, self.inputs.entries
        common = (
            self.connection,
            self.layout,
            entries,
            trace,
            identity.capacity,
            self.work,
            self.progress,
        )
        made = convert(*common)
        self.move_quarantine()
        said = dict(zip(("said_cores", "said_bytes"), identity.capacity, strict=True))
        facts = finish(self.connection, made.files, trace, self.work, self.progress)
        return {
            "notes": made.notes,
            "sources": made.entries,
            "declaration": identity.declaration or {},
            "basis": {
                name: value
                for name, value in (asdict(made.basis) | said).items()
                if value is not None
            },
            **facts,
            "quality": _summed(facts["quality"], made.quality),
        }

    def cluster_table(self, name: str) -> list[Path]:
        """Return the table's files: new ones where it has new rows, else the present ones."""
        parts = by_columns(self._staged_parts(name))
        present, moved = self.layout.parts(name), self.moved_parts_of(name)
        # A table without new rows keeps its files.  One whose rows go or get other numbers of their parts is made anew,
        # as is one that an earlier version wrote: its rows and their order must be those of an ingest of all at once.
        is_kept = all(before == now for before, now in moved.items())
        is_kept = bool(present) and is_kept and is_current(TABLES[name], present)
        if not parts and (is_kept or not present):
            return present
        fresh = staged_relation(TABLES[name], parts)
        relations = [fresh] if parts else []
        if present:
            self._check_unchanged(present)
            relations.append(present_relation(TABLES[name], present, moved))
        expected = sum(_rows_of(name, entry) for entry in self.inputs.staged)
        self.progress.begin(f"cluster {name}", expected, "rows")
        # Machine tables are one file; of a table of collections, only the files where new rows belong are made anew.
        may_stay = is_kept and TABLES[name].key[0] == "collection_id"
        return cluster(
            self.connection,
            TABLES[name],
            " UNION ALL ".join(relations),
            (self.shared or self.work) / name,
            lambda rows: self.progress.advance(f"cluster {name}", rows),
            present if may_stay else (),
            fresh,
            self.spark,
            parts=parts,
        )

    def moved_parts_of(self, name: str) -> dict[int, int | None]:
        """Return what the source_part of each present row becomes; None where its source is replaced."""
        now = number_parts(self.inputs.entries)
        return moved_parts(
            name, self.inputs.held, {k: now[k] for k in now.keys() - self.inputs.replaced}
        )

    def _staged_parts(self, name: str) -> dict[Path, int]:
        """Return the staged files of a table, with the source_part that their rows get."""
        numbers = number_parts(self.inputs.entries)
        staging = self.shared / self.layout.staging.name if self.shared else self.layout.staging
        paths = [
            (entry, StagedPaths.of(staging, entry.name).table(name)) for entry in self.inputs.staged
        ]
        # Of a bucket the ledger tells: a request for each takes long, and a killed run may have left others.
        return {
            path: numbers[e.name]
            for e, path in paths
            if (_rows_of(name, e) if self.shared else path.exists())
        }

    def move_quarantine(self) -> None:
        """Collect refused rows: those the store keeps already, and those of the staged sources."""
        target = self.work / self.layout.quarantine.name
        replaced = {source_key(name) for name in self.inputs.replaced}
        kept = [
            path for path in self.layout.quarantine.glob("*/*.parquet") if path.stem not in replaced
        ]
        self._check_unchanged(kept)
        # Also where the last refused row goes: what the new version does not have, the swap leaves as it is.
        if self.layout.quarantine.exists():
            target.mkdir()
        staged = [self._refused(entry) for entry in self.inputs.staged if entry.quarantined]
        for path in (*kept, *staged):
            folder = target / path.parent.name
            folder.mkdir(parents=True, exist_ok=True)
            # Copied, not moved: after a crash the next run needs them where they were.
            shutil.copy2(path, folder / path.name)

    def _refused(self, entry: SourceEntry) -> Path:
        path = StagedPaths.of(self.layout.staging, entry.name).quarantine(entry.table)
        found = count_rows([path]) if path.exists() else 0
        if found != entry.quarantined:
            raise _lost(
                self.layout.root, f"the quarantine of {entry.name}", entry.quarantined, found
            )
        return path

    def _check_unchanged(self, paths: Sequence[Path]) -> None:
        """Refuse damaged files of the store: the new version would give them new digests."""
        if self.inputs.present is not None:
            check_unchanged(self.layout, self.inputs.present, paths, self.threads)


def _summed(*counters: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    return {
        name: {k: n for each in counters for k, n in each.get(name, {}).items()}
        for name in TRACE_TABLES
    }


def _rows_of(name: str, entry: SourceEntry) -> int:
    """Return how many rows of a table a source gave."""
    return entry.stored if entry.table == name else entry.also.get(name, 0)


def conserve(root: Path, entries: Sequence[SourceEntry], rows: Mapping[str, int]) -> None:
    """Check the law of conservation: every row of every file is accounted for.

    Parameters
    ----------
    root
        The store, for the message.
    entries
        Its ledger.
    rows
        What each table has.

    Raises
    ------
    StoreError
        When rows went missing on the way, which would be our fault.
    """
    for entry in entries:
        if not entry.is_conserved:
            raise _lost(root, entry.name, entry.rows_in, entry.stored + entry.quarantined)
    for name, found in rows.items():
        expected = sum(_rows_of(name, entry) for entry in entries)
        if found != expected:
            raise _lost(root, name, expected, found)


def _lost(root: Path, what: str, expected: int, got: int) -> StoreError:
    way_out = "this is a bug in borgtrace, and the store was not changed; please report it"
    lost = f"rows of {what} are not conserved"
    return StoreError(str(root), lost, expected=f"{expected} rows", got=f"{got}", way_out=way_out)
