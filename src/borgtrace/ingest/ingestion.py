"""An ingest from beginning to end: find raw files, plan, stage, build, put in place."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from borgtrace.engine import SparkTasks
from borgtrace.engine.memory import parse_memory
from borgtrace.errors import (
    BorgtraceError,
    QualityError,
    SchemaError,
    SourceError,
    StoreError,
    UsageError,
)
from borgtrace.ingest.build.build_inputs import BuildInputs
from borgtrace.ingest.build.damaged_staging import refuse_damaged_staging, require_staged_parts
from borgtrace.ingest.build.first_times import notes_on_first_times
from borgtrace.ingest.build.freed_rows import has_freed_rows
from borgtrace.ingest.build.identity import Identity, forget, identify
from borgtrace.ingest.build.leftovers import clear, tidy
from borgtrace.ingest.build.pending import Pending, find_pending, staged_entries
from borgtrace.ingest.build.rowless import entries_without_rows, no_rows_error
from borgtrace.ingest.build.staged import StagedPaths
from borgtrace.ingest.build.staging import refuse_staging_shortage, stage_all
from borgtrace.ingest.build.store_build import build
from borgtrace.ingest.convert.capacity import parse_capacity
from borgtrace.ingest.find.discovery import Discovery
from borgtrace.ingest.find.raw_files import RawFiles, find_raw_files
from borgtrace.ingest.ingest_plan import IngestPlan, estimate, require_disk
from borgtrace.ingest.options import IngestOptions
from borgtrace.ingest.progress import Progress
from borgtrace.schema import dialect
from borgtrace.schema.dialects.described import DESCRIPTION
from borgtrace.schema.time import check_time_zone
from borgtrace.storage import RemotePath, as_path, locked, remove, upload, user_cache
from borgtrace.store.coverage import DECLARED_WHOLE
from borgtrace.store.integrity import read_intact
from borgtrace.store.layout import Layout, source_key
from borgtrace.store.manifest import Manifest, SourceEntry, read_manifest


@dataclass(frozen=True)
class IngestResult:
    """The outcome of an ingest.

    Parameters
    ----------
    staged
        The sources that were read now.
    known
        How many were in already.
    faults
        The files that could not be used; all others were.
    manifest
        Of the store; None after ``stage_only``.
    is_rebuilt
        Whether a store of a converted format was made again of all its files, old and new.
    """

    staged: tuple[SourceEntry, ...]
    known: int
    faults: tuple[SourceError, ...]
    manifest: Manifest | None
    is_rebuilt: bool = False


def ingest(
    sources: Sequence[str | Path],
    store: str | Path,
    options: IngestOptions | None = None,
    progress: Progress | None = None,
) -> IngestResult:
    """Ingest raw files into a store.

    Parameters
    ----------
    sources
        Files, or folders that are searched whole; none at all clusters what is staged already.
    store
        The store's folder; made, or added to.
    options
        See `IngestOptions`.
    progress
        Receives progress; see `borgtrace.ingest.progress`.

    Returns
    -------
    IngestResult
        Its ``faults`` name files that could not be used; all others were kept.

    Raises
    ------
    SourceError
        When no file can be used, generations or cells are mixed, or a source has changed.
    SchemaError
        When all rows were refused, or there were none; no store is made, and one that was there is as it was.
    StoreError
        When another process writes to the store, the disk is too small, or the store is of another
        version or trace.
    EngineError
        When the engine does not start or gives up; what was staged stays.
    QualityError
        Under ``strict``, when rows were refused; the store is complete all the same.

    Notes
    -----
    Idempotent: the same files twice change nothing.  A killed ingest resumes where it was.
    """
    return prepare_ingest(sources, store, options).run(progress)


def prepare_ingest(
    sources: Sequence[str | Path],
    store: str | Path,
    options: IngestOptions | None = None,
    notes: Sequence[str] = (),
) -> PreparedIngest:
    """Find the raw files of an ingest, whose plan can then be read before it runs.

    Parameters
    ----------
    sources, store, options
        As for `ingest`.
    notes
        Sentences about the sources, which the store keeps.

    Raises
    ------
    SourceError
        When no file can be used, or generations or cells are mixed.
    UsageError
        An option makes no sense, or there is a store in the bucket already.
    """
    options = options or IngestOptions()
    target = as_path(store)
    # For their refusals, before files are looked for.
    built_at(target)
    parse_memory(options.memory)
    parse_capacity(options.capacity)
    if options.time_zone:
        check_time_zone("--time-zone", options.time_zone)
    if not sources:
        return PreparedIngest(RawFiles(Discovery()), target, options)
    places = [as_path(source) for source in sources]
    if options.spark:
        # Workers run in folders of their own.
        places = [path.absolute() for path in places]
    raw_files = find_raw_files(
        places,
        options.cell,
        options.dialect,
        time_zone=options.time_zone,
        declaration=None if options.dialect or options.rebuild else _described_format(target),
    )
    return PreparedIngest(raw_files, target, options, tuple(notes))


def _described_format(store: Path) -> dict[str, Any] | None:
    """Return what a store says of its format, where Python code described it: no later file has to name that code."""
    try:
        declaration = read_manifest(store).declaration
    except StoreError:
        # Said, or mended, when the store is built.
        return None
    return declaration if DESCRIPTION in declaration else None


@dataclass(frozen=True)
class PreparedIngest:
    """An ingest whose raw files are found, and which nobody has run yet.

    Parameters
    ----------
    raw_files
        The files, and how their format is known.
    store
        Where the store goes: a folder, or a place in a bucket.
    options
        See `IngestOptions`.
    notes
        Sentences about the sources, which the store keeps.
    """

    raw_files: RawFiles
    store: Path
    options: IngestOptions
    notes: tuple[str, ...] = ()

    @cached_property
    def plan(self) -> IngestPlan:
        """Tables, disk and time of the ingest; there must be raw files."""
        # Spark makes a store in the bucket that it is for.
        where = self.store if self.options.spark else built_at(self.store)
        return estimate(
            self.raw_files.discovery,
            where,
            _n_jobs(self.options),
            frees_rows=not self.options.spark,
        )

    def run(self, progress: Progress | None = None) -> IngestResult:
        """Run the ingest; see `ingest` for what it returns and raises.

        Parameters
        ----------
        progress
            Receives progress.
        """
        target = self.store
        here = built_at(target)
        staging = None
        if self.options.spark:
            here = here.absolute()
            # A bucket is all that workers of Spark share.
            staging = target / "staging" if isinstance(target, RemotePath) else None
        layout = Layout(here, staging)
        result = _run_under_lock(self, layout, progress or Progress())
        if result.manifest is None:
            return result
        if isinstance(target, RemotePath):
            upload(here, target)
            remove(here)
            remove(target / "staging")
        # After the store is complete: strict reports that rows were refused, it does not throw the work away.
        if self.options.strict:
            _refuse_quarantined_rows(result.manifest, Layout(target))
        return result


def built_at(store: str | Path) -> Path:
    """Return where a store is built: its own folder, or one of the user's cache if it is for a bucket.

    Raises
    ------
    UsageError
        There is a store in the bucket: only one of this machine can be added to.
    """
    target = as_path(store)
    if not isinstance(target, RemotePath):
        return target
    if (target / "manifest.json").exists():
        raise UsageError(
            str(target),
            "holds a store",
            expected="a place without one",
            way_out="name another place, or add to a store of this machine",
        )
    return user_cache() / "unpublished" / source_key(str(target))


def available_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _n_jobs(options: IngestOptions) -> int:
    return options.jobs or available_cores()


def _run_under_lock(prepared: PreparedIngest, layout: Layout, progress: Progress) -> IngestResult:
    """Run an ingest alone; where it fails, leave no trace of a store that holds nothing."""
    is_new = not layout.root.exists()
    try:
        with locked(layout.lock, layout.root):
            return _run_or_forget(prepared, layout, progress)
    except BorgtraceError:
        if is_new:
            # Only if it is empty: staged parts stay for the next run.
            with suppress(OSError):
                layout.root.rmdir()
        raise


def _run_or_forget(prepared: PreparedIngest, layout: Layout, progress: Progress) -> IngestResult:
    try:
        return _run(prepared, layout, progress)
    except Exception as error:
        # Also where a part of the store says that there was no room for it: what was staged is kept.
        refuse_staging_shortage(error, layout.root)
        if not isinstance(error, BorgtraceError):
            refuse_damaged_staging(error, layout)
        elif not staged_entries(layout.staging):
            forget(layout)
        raise


def _run(prepared: PreparedIngest, layout: Layout, progress: Progress) -> IngestResult:
    options = prepared.options
    raw_files = prepared.raw_files
    discovery = raw_files.discovery
    # Before the manifest is read: an interrupted swap may still have to put it there.
    tidy(layout)
    if options.rebuild:
        clear(layout)
        remove(layout.staging)
    completed = _complete_killed_build(layout, options, progress)
    present = completed or _present_manifest(layout)
    capacity = parse_capacity(options.capacity)
    identity = identify(discovery, present, layout, raw_files.declaration, capacity)
    stored_sources = present.sources if present else ()
    pending = find_pending(
        discovery.sources, stored_sources, layout.staging, replace=options.replace
    )
    is_rebuilt = _is_to_be_rebuilt(pending, present, identity, layout)
    if is_rebuilt:
        pending = Pending((*pending.known, *pending.new), ())
    if pending.new:
        # Before the first part: a later run with no sources reads from it whose rows are staged.
        identity.write(layout)
        _require_disk_for(pending, identity, layout, options)
    staged, staging_faults = _stage(pending, layout, options.spark or _n_jobs(options), progress)
    faults = (*discovery.faults, *staging_faults)
    manifest = present
    if not options.stage_only:
        _require_rows(layout, present, staged, faults)
        manifest = _build_store(layout, identity, present, options, progress)
    if manifest is not None and (completed or manifest is not present):
        manifest = _noted(prepared, layout, manifest)
    if options.stage_only:
        manifest = None
    else:
        is_whole = options.whole or (present is not None and DECLARED_WHOLE in present.notes)
        manifest = _declared(manifest, layout, faults, is_whole=is_whole)
    return IngestResult(
        _as_stored(staged, manifest), len(pending.known), faults, manifest, is_rebuilt
    )


def _complete_killed_build(
    layout: Layout,
    options: IngestOptions,
    progress: Progress,
) -> Manifest | None:
    """Complete a build that was killed when it had freed rows; None where there is none.

    No source may join its staged parts, nor take the place of one: where their rows are now depends on all of them.
    """
    if not has_freed_rows(layout):
        return None
    identity = identify(Discovery(), None, layout)
    return _build_store(layout, identity, None, replace(options, engine="duckdb"), progress)


def _is_to_be_rebuilt(
    pending: Pending,
    present: Manifest | None,
    identity: Identity,
    layout: Layout,
) -> bool:
    """Whether a store is made again of its files and new ones: that of a converted format takes none by themselves."""
    if present is None or not dialect(identity.generation).conversion:
        return False
    # A run that was killed may have staged some of them.
    if not pending.new and not staged_entries(layout.staging):
        return False
    names = {source.name for source in (*pending.known, *pending.new)}
    return all(entry.name in names for entry in present.sources)


def _declared(
    manifest: Manifest | None,
    layout: Layout,
    faults: Sequence[SourceError],
    *,
    is_whole: bool,
) -> Manifest:
    """Return the manifest of a store that was built, which says whether the store is declared to be whole."""
    if manifest is None:
        # Nothing staged, nothing stored: the fault of the first file is all there is to say.
        raise faults[0]
    if is_whole and DECLARED_WHOLE not in manifest.notes:
        return _add_notes(layout, manifest, [DECLARED_WHOLE])
    return manifest


def _as_stored(staged: Sequence[SourceEntry], manifest: Manifest | None) -> tuple[SourceEntry, ...]:
    """Return what was read as the store has it: rows that say nothing without another table are left out there."""
    entry_of_name = {entry.name: entry for entry in manifest.sources} if manifest else {}
    return tuple(entry_of_name.get(entry.name, entry) for entry in staged)


def _present_manifest(layout: Layout) -> Manifest | None:
    """Return the manifest of the store, None where there is no store yet."""
    if layout.manifest.exists():
        if isinstance(layout.staging, RemotePath):
            # Of a store that was made in a bucket only the manifest is here: its files are there already.
            return read_manifest(layout.root)
        return read_intact(layout.root)
    # A reader may keep an aggregate at any time, also while a store is built again.
    own = (layout.lock, layout.staging, layout.cache)
    others = [path for path in layout.root.iterdir() if path not in own]
    if others:
        raise StoreError(
            str(layout.root),
            "the folder holds something else",
            expected="an empty folder or a store",
            got=others[0].name,
            way_out="choose another folder for --store",
        )
    return None


def _require_disk_for(
    pending: Pending,
    identity: Identity,
    layout: Layout,
    options: IngestOptions,
) -> None:
    # What tasks make in a bucket takes no disk here; converted formats are built here all the same.
    is_made_in_bucket = isinstance(layout.staging, RemotePath)
    if dialect(identity.generation).conversion:
        is_made_in_bucket = False
    if is_made_in_bucket:
        return
    planned = estimate(
        Discovery(list(pending.new)),
        layout.root,
        _n_jobs(options),
        frees_rows=not options.spark,
    )
    require_disk(planned, layout.root)


def _stage(
    pending: Pending,
    layout: Layout,
    jobs: int | SparkTasks,
    progress: Progress,
) -> tuple[list[SourceEntry], list[SourceError]]:
    staged: list[SourceEntry] = []
    faults: list[SourceError] = []
    # All lines of progress first, so that the totals are known from the start.
    for table in sorted({source.table for source in pending.new}):
        size = sum(source.size for source in pending.new if source.table == table)
        progress.begin(f"stage {table}", size, "bytes")
    for source, outcome in stage_all(pending.new, layout.staging, jobs):
        if isinstance(outcome, BorgtraceError):
            faults.append(outcome)
        else:
            staged.append(outcome)
        progress.advance(f"stage {source.table}", source.size)
    return staged, faults


def _require_rows(
    layout: Layout,
    present: Manifest | None,
    staged: Sequence[SourceEntry],
    faults: Sequence[SourceError],
) -> None:
    """Refuse to build of nothing; what was staged of it is removed, as the files are read again when they are right."""
    waiting = staged_entries(layout.staging)
    without_rows = entries_without_rows(waiting)
    if not without_rows:
        return
    if present is None:
        remove(layout.staging)
    else:
        for entry in staged:
            StagedPaths.of(layout.staging, entry.name).discard()
    raise no_rows_error(without_rows, faults)


def _build_store(
    layout: Layout,
    identity: Identity,
    present: Manifest | None,
    options: IngestOptions,
    progress: Progress,
) -> Manifest | None:
    """Build the next version of the store from what is staged; None where there is neither a store nor staged rows."""
    waiting = tuple(staged_entries(layout.staging))
    if present is not None and isinstance(layout.staging, RemotePath):
        # Parts stay in the bucket until the store is there: this one only has to be copied, or is rebuilt with more.
        if all(entry in present.sources for entry in waiting):
            waiting = ()
        else:
            clear(layout)
            present = None
    if not waiting:
        return present
    require_staged_parts(layout, waiting)
    inputs = BuildInputs(identity, present, waiting)
    try:
        return build(layout, inputs, options.memory, _n_jobs(options), progress, options.spark)
    except (UsageError, SourceError, SchemaError):
        # An option about the files, or what is in them, is wrong: they are read again when it is right.  A corrected
        # file must not be taken for a changed source.
        for folder in (layout.staging, layout.unfinished, layout.spill):
            remove(folder)
        raise


def _noted(prepared: PreparedIngest, layout: Layout, manifest: Manifest) -> Manifest:
    """Return the manifest of a store that was built, with what is to be said of its sources."""
    raw_files = prepared.raw_files
    notes = (*raw_files.guesses, *raw_files.discovery.notes, *prepared.notes)
    return _add_notes(layout, manifest, [*notes, *notes_on_first_times(manifest)])


def _add_notes(layout: Layout, manifest: Manifest, notes: Sequence[str]) -> Manifest:
    if not notes:
        return manifest
    manifest = replace(manifest, notes=(*manifest.notes, *notes))
    manifest.write(layout.manifest)
    return manifest


def _refuse_quarantined_rows(manifest: Manifest, layout: Layout) -> None:
    refused = sum(entry.quarantined for entry in manifest.sources)
    if refused:
        raise QualityError(
            str(layout.root),
            "rows were refused",
            expected="none",
            got=f"{refused}",
            way_out=f"look at them: {layout.quarantine}, or omit --strict",
        )
