"""An ingest from beginning to end: discover, plan, stage, cluster, index, put in place."""

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from borgtrace.engine import SparkTasks
from borgtrace.errors import BorgtraceError, QualityError, SourceError, StoreError, UsageError
from borgtrace.ingest.build.identity import forget, identify
from borgtrace.ingest.build.pending import Pending, find_pending, staged_entries
from borgtrace.ingest.build.staging import DISK_FULL, disk_full, stage_all
from borgtrace.ingest.build.store_build import Inputs, build
from borgtrace.ingest.find.discovery import Discovery
from borgtrace.ingest.find.own_data import Found, find, parse_capacity
from borgtrace.ingest.ingest_plan import plan, require_disk
from borgtrace.ingest.options import IngestOptions
from borgtrace.ingest.progress import Progress
from borgtrace.schema import dialect
from borgtrace.storage import INCOMPLETE, RemotePath, locked, place, remove, upload, user_cache
from borgtrace.store.coverage import DECLARED_WHOLE
from borgtrace.store.integrity import read_intact
from borgtrace.store.layout import Layout, source_key
from borgtrace.store.manifest import Manifest, SourceEntry, read_manifest
from borgtrace.store.swap import finish_swap


@dataclass(frozen=True)
class IngestResult:
    """What an ingest did.

    ``staged`` are the sources read now, ``known`` those that were in already, ``faults`` the files
    that could not be used (the others were).  ``manifest`` is None after ``stage_only``.
    """

    staged: tuple[SourceEntry, ...]
    known: int
    faults: tuple[SourceError, ...]
    manifest: Manifest | None


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
        Told what is being done; see `borgtrace.ingest.progress`.

    Returns
    -------
    IngestResult
        Its ``faults`` name files that could not be used; all others were kept.

    Raises
    ------
    SourceError
        When no file can be used, generations or cells are mixed, or a source has changed.
    StoreError
        When another process writes to the store, the disk is too small, or the store is of another
        version or trace.
    EngineError
        When the engine does not start or gives up; what was staged stays.
    QualityError
        Under ``strict``, when rows were refused; the store is complete all the same.

    Notes
    -----
    Idempotent: the same files twice change nothing.  A killed ingest is taken up where it was.
    """
    options = options or IngestOptions()
    target, here = place(store), built_at(store)
    # A bucket is all that workers of Spark share, and here they stand in folders of their own.
    staging = target / "staging" if options.spark and isinstance(target, RemotePath) else None
    result = _ingest_here(
        sources, Layout(here.absolute() if options.spark else here, staging), options, progress
    )
    # Only staged: it goes there when it is sorted.
    if isinstance(target, RemotePath) and result.manifest is not None:
        upload(here, target)
        remove(here)
        remove(target / "staging")
    # After the store is complete: strict tells a script that rows were refused, it does not throw the work away.
    if options.strict and result.manifest is not None:
        _be_strict(result.manifest, Layout(target))
    return result


def _ingest_here(
    sources: Sequence[str | Path], layout: Layout, options: IngestOptions, progress: Progress | None
) -> IngestResult:
    # For its refusal, before sources are looked for.
    parse_capacity(options.capacity)
    found = Found(Discovery())
    if sources:
        places = [
            place(source).absolute() if options.spark else place(source) for source in sources
        ]
        found = find(places, options.cell, options.dialect)
    is_new = not layout.root.exists()
    try:
        with locked(layout.lock, layout.root):
            return _ingest_or_leave_nothing(found, layout, options, progress or Progress())
    except BorgtraceError:
        if is_new:
            # Only where it is empty: what was staged stays for the next run.
            with suppress(OSError):
                layout.root.rmdir()
        raise


def _ingest_or_leave_nothing(
    found: Found, layout: Layout, options: IngestOptions, progress: Progress
) -> IngestResult:
    try:
        return _ingest(found, layout, options, progress)
    except OSError as error:
        if error.errno in DISK_FULL:
            raise disk_full(layout.root) from error
        raise
    except BorgtraceError:
        if not staged_entries(layout.staging):
            forget(layout)
        raise


def built_at(store: str | Path) -> Path:
    """Return where a store is built: its own folder, or one of the user's cache if it is for a bucket.

    Raises
    ------
    UsageError
        There is a store in the bucket: only one of this machine can be added to.
    """
    target = place(store)
    if not isinstance(target, RemotePath):
        return target
    if (target / "manifest.json").exists():
        expected, way_out = (
            "a place without one",
            "name another place, or add to a store of this machine",
        )
        raise UsageError(str(target), "holds a store", expected=expected, way_out=way_out)
    return user_cache() / "unpublished" / source_key(str(target))


def available_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _ingest(
    given: Found, layout: Layout, options: IngestOptions, progress: Progress
) -> IngestResult:
    found = given.discovery
    jobs = options.jobs or available_cores()
    # Before the manifest is read: a swap that was cut off may still have to put it there.
    _tidy(layout)
    if options.rebuild:
        _clear(layout)
        remove(layout.staging)
    held = _held(layout)
    identity = identify(found, held, layout, given.declaration, parse_capacity(options.capacity))
    pending = find_pending(
        found.sources, held.sources if held else (), layout.staging, replace=options.replace
    )
    if pending.new:
        # Before the first part: a later run with no sources learns from it whose rows are staged.
        identity.write(layout)
        # What tasks make in a bucket takes no disk here; converted formats are built here all the same.
        made_here = dialect(identity.generation).conversion or not isinstance(
            layout.staging, RemotePath
        )
        where = layout.root if made_here else layout.staging
        require_disk(plan(Discovery(list(pending.new)), where, jobs), layout.root)
    staged, faults = _stage(pending, layout, options.spark or jobs, progress)
    faults = [*found.faults, *faults]
    waiting = tuple(staged_entries(layout.staging))
    if held is not None and isinstance(layout.staging, RemotePath):
        # Parts stay in the bucket until the store is there: this one waits to be copied, or is made anew with more.
        if all(entry in held.sources for entry in waiting):
            waiting = ()
        else:
            _clear(layout)
            held = None
    if options.stage_only:
        manifest = None
    elif waiting:
        manifest = _build(layout, Inputs(identity, held, waiting), options, jobs, progress)
        if given.guesses:
            manifest = replace(manifest, notes=(*manifest.notes, *given.guesses))
            manifest.write(layout.manifest)
    elif held is None:
        # Nothing staged, nothing held: the fault of the first file is all there is to say.
        raise faults[0]
    else:
        manifest = held
    if options.is_whole and manifest is not None and DECLARED_WHOLE not in manifest.notes:
        manifest = replace(manifest, notes=(*manifest.notes, DECLARED_WHOLE))
        manifest.write(layout.manifest)
    return IngestResult(tuple(staged), len(pending.known), tuple(faults), manifest)


def _build(
    layout: Layout, inputs: Inputs, options: IngestOptions, jobs: int, progress: Progress
) -> Manifest:
    try:
        return build(layout, inputs, options.memory, jobs, progress, options.spark)
    except UsageError:
        # What was said of the files is wrong: they have to be read again when it is right.
        for folder in (layout.staging, layout.unfinished, layout.spill):
            remove(folder)
        raise


def _tidy(layout: Layout) -> None:
    """Finish what was cut off, a swap or the removal of a store, and remove what a killed ingest left unfinished."""
    if _is_being_cleared(layout):
        _clear(layout)
    finish_swap(layout)
    shutil.rmtree(layout.unfinished, ignore_errors=True)
    shutil.rmtree(layout.spill, ignore_errors=True)
    if isinstance(layout.staging, RemotePath):
        # Copies of parts for a build that was cut off.
        remove(layout.root / layout.staging.name)
        return
    # Parts whose ledger entry is missing stay: they are written again under the same name.
    for path in layout.staging.rglob(f"*{INCOMPLETE}"):
        path.unlink()


def _clear(layout: Layout) -> None:
    """Remove a store of another version, but never a folder that is no store."""
    if layout.manifest.exists() or layout.staging.exists() or _is_being_cleared(layout):
        layout.discarded.mkdir(exist_ok=True)
        # The manifest first: where it went tells a run that finds the rest that all of it is to go.  Staged parts last:
        # as long as they are there the folder is that of a store.
        for path in sorted(
            layout.root.iterdir(),
            key=lambda path: (path != layout.manifest, path == layout.staging),
        ):
            # This process holds the lock.
            if path not in (layout.lock, layout.discarded):
                path.rename(layout.discarded / path.name)
        remove(layout.discarded)


def _is_being_cleared(layout: Layout) -> bool:
    return (layout.discarded / layout.manifest.name).exists()


def _held(layout: Layout) -> Manifest | None:
    if layout.manifest.exists():
        # Of a store that was made in a bucket only the manifest is here: its files are there already.
        return (read_manifest if isinstance(layout.staging, RemotePath) else read_intact)(
            layout.root
        )
    others = [path for path in layout.root.iterdir() if path not in (layout.lock, layout.staging)]
    if others:
        what, expected = "the folder holds something else", "an empty folder or a store"
        way_out = "choose another folder for --store"
        raise StoreError(
            str(layout.root), what, expected=expected, got=others[0].name, way_out=way_out
        )
    return None


def _stage(
    pending: Pending, layout: Layout, jobs: int | SparkTasks, progress: Progress
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


def _be_strict(manifest: Manifest, layout: Layout) -> None:
    refused = sum(entry.quarantined for entry in manifest.sources)
    if refused:
        way_out = f"look at them: {layout.quarantine}, or omit --strict"
        raise QualityError(
            str(layout.root),
            "rows were refused",
            expected="none",
            got=f"{refused}",
            way_out=way_out,
        )
