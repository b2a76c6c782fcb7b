"""Merge several stores of one cell into the store that one ingest of all their files would give."""

import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from borgtrace.errors import StoreError, UsageError
from borgtrace.ingest.build.clustering import cluster
from borgtrace.ingest.build.completion import index_and_digest, new_store
from borgtrace.ingest.build.conservation import conserve
from borgtrace.ingest.build.file_ranges import sorted_files
from borgtrace.ingest.build.identity import Identity, agree, identity_of
from borgtrace.ingest.build.sorted_relation import UnsortedRows
from borgtrace.ingest.build.staged_relation import moved_parts, number_parts, present_relation
from borgtrace.ingest.progress import Progress
from borgtrace.schema import TRACE_TABLES, Table
from borgtrace.storage import as_path
from borgtrace.storage.sparse_copy import local_copies
from borgtrace.store.integrity import check_unchanged, read_intact
from borgtrace.store.layout import Layout, name_alone
from borgtrace.store.manifest import Manifest, SourceEntry
from borgtrace.store.version import expect_version, present_version


@dataclass(frozen=True)
class MergedStore:
    """A store that is merged with others.

    Parameters
    ----------
    layout, manifest
        The store.
    entries
        Sources that are taken from it: those that no store before it holds.
    """

    layout: Layout
    manifest: Manifest
    entries: tuple[SourceEntry, ...]


def _roots_of(stores: Sequence[str | Path]) -> list[Path]:
    """Return the folders of the stores, of which there must be two or more."""
    if len(stores) < 2:
        raise UsageError(
            "STORE…",
            "nothing to merge",
            expected="two stores or more, then OUT",
            got=str(len(stores)),
        )
    return [as_path(root) for root in stores]


def merge(
    stores: Sequence[str | Path],
    out: str | Path,
    memory: str = "4GB",
    progress: Progress | None = None,
) -> Manifest:
    """Make one store of several of the same cell.

    Parameters
    ----------
    stores
        The stores, two or more.  What several hold of the same file is taken once.
    out
        The new store.
    memory
        Budget of the sort.
    progress
        Receives progress.

    Returns
    -------
    Manifest
        Its content digest is that of an ingest of all files at once.

    Raises
    ------
    UsageError
        When there is nothing to merge, or `out` holds something.
    StoreError
        When one is no finished store, of another trace or cell, no store of whole files, or has another file under a
        name than a store before it.

    Notes
    -----
    All rows are sorted once more: about what an ingest takes after staging.
    """
    roots = _roots_of(stores)
    versions = {root: present_version(root) for root in roots}
    manifests = {Layout(root): read_intact(root) for root in roots}
    identity = _common_identity(manifests)
    parts = _distinct_sources(manifests)
    entries = [entry for part in parts for entry in part.entries]
    entries.sort(key=lambda entry: entry.name)
    progress = progress or Progress()
    first = parts[0].manifest
    with new_store(out, memory, None, roots) as (connection, work), ExitStack() as stack:
        for root, version in versions.items():
            stack.enter_context(expect_version(root, version))
        for part in parts:
            _check_files(part)
            _copy_quarantine(part, Layout(work))
        tables = sorted_files(_merge_tables(connection, parts, entries, work, progress))
        rows_of_tables = {name: sum(table.rows) for name, table in tables.items()}
        conserve(as_path(out), entries, rows_of_tables)
        facts = index_and_digest(connection, tables, first.dialect, work, progress)
        notes = dict.fromkeys(note for part in parts for note in part.manifest.notes)
        merged = replace(
            first,
            cell=identity.cell,
            time_zone=first.dialect.time_zone(identity.cell),
            sources=tuple(entries),
            notes=tuple(notes),
            **facts,
        )
        merged.write(Layout(work).manifest)
    return merged


def _merge_tables(
    connection: duckdb.DuckDBPyConnection,
    parts: Sequence[MergedStore],
    entries: Sequence[SourceEntry],
    work: Path,
    progress: Progress,
) -> dict[str, list[Path]]:
    """Sort the rows of all stores, and return the files of each table."""
    total = sum(entry.stored + sum(entry.also.values()) for entry in entries)
    progress.begin("merge", total, "rows")
    numbers = number_parts(entries)
    files: dict[str, list[Path]] = {}
    for name, table in TRACE_TABLES.items():
        files[name] = []
        relation_sql = _relation_sql(table, parts, numbers)
        if relation_sql:
            files[name] = cluster(
                connection,
                table,
                UnsortedRows(relation_sql),
                work / name,
                lambda rows: progress.advance("merge", rows),
            )
    return files


def _common_identity(manifests: Mapping[Layout, Manifest]) -> Identity:
    """Return whose rows all stores hold, and refuse what cannot be merged."""
    first, *_ = manifests.values()
    identity = identity_of(first)
    for layout, manifest in manifests.items():
        if not manifest.sources or manifest.dialect.conversion:
            raise StoreError(
                str(layout.root),
                "cannot be merged",
                expected="a store of whole files in a format of Google's",
                way_out="merge the whole stores; ingest own data from all of its files at once",
            )
        # A store of loose files does not know its cell; another may.
        identity = agree(
            layout.root,
            identity,
            identity_of(manifest),
            "merge stores of one cell of one trace",
        )
    return identity


def _distinct_sources(manifests: Mapping[Layout, Manifest]) -> list[MergedStore]:
    """Return the sources to take from each store: files that none before it holds, whatever their folders."""
    parts = []
    digest_of_name: dict[str, str] = {}
    files: set[tuple[str, str]] = set()
    for layout, manifest in manifests.items():
        for entry in manifest.sources:
            known_digest = digest_of_name.setdefault(entry.name, entry.sha256)
            if known_digest != entry.sha256:
                raise StoreError(
                    str(layout.root),
                    f"another file {entry.name} than in a store before",
                    expected=f"sha256 {known_digest[:12]}…",
                    got=f"{entry.sha256[:12]}…",
                    way_out="ingest the raw files together: their folders then tell them apart",
                )
        new_entries = [entry for entry in manifest.sources if _file_key(entry) not in files]
        files.update(_file_key(entry) for entry in new_entries)
        parts.append(MergedStore(layout, manifest, tuple(new_entries)))
    return parts


def _file_key(entry: SourceEntry) -> tuple[str, str]:
    return name_alone(entry.name), entry.sha256


def _check_files(part: MergedStore) -> None:
    """Refuse a store whose files are not those of its manifest any more."""
    paths = [part.layout.root / name for name in part.manifest.files]
    check_unchanged(part.layout, part.manifest, paths)


def _copy_quarantine(part: MergedStore, target: Layout) -> None:
    for entry in part.entries:
        if entry.quarantined:
            path = target.refused(entry.table, entry.name)
            path.parent.mkdir(parents=True, exist_ok=True)
            (refused,) = local_copies([part.layout.refused(entry.table, entry.name)])
            shutil.copy2(refused, path)


def _relation_sql(table: Table, parts: Sequence[MergedStore], numbers: Mapping[str, int]) -> str:
    """Write a table's rows in all stores, numbered as in the new one; empty where none has any."""
    relations = []
    for part in parts:
        paths = part.layout.local_parts(table.name)
        if paths:
            numbers_here = {entry.name: numbers[entry.name] for entry in part.entries}
            moved = moved_parts(table.name, part.manifest.sources, numbers_here)
            relations.append(present_relation(table, paths, moved))
    return " UNION ALL ".join(relations)
