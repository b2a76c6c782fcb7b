"""Several stores of one cell as one: what an ingest of all of their files at once would have made."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from borgtrace.errors import StoreError, UsageError
from borgtrace.ingest.build.clustering import cluster
from borgtrace.ingest.build.completion import count_rows, index_and_digest, new_store
from borgtrace.ingest.build.identity import Identity, agree, identity_of
from borgtrace.ingest.build.staged_relation import moved_parts, number_parts, present_relation
from borgtrace.ingest.build.store_build import conserve
from borgtrace.ingest.progress import Progress
from borgtrace.schema import TRACE_TABLES, Table
from borgtrace.storage import as_path
from borgtrace.storage.sparse_copy import local_copies
from borgtrace.store.integrity import check_unchanged, read_intact
from borgtrace.store.layout import Layout, name_alone
from borgtrace.store.manifest import Manifest, SourceEntry

Stores = Mapping[Layout, Manifest]
Kept = Mapping[Layout, Sequence[SourceEntry]]


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
        Told what is being done.

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
    if len(stores) < 2:
        raise UsageError(
            "STORE…",
            "nothing to merge",
            expected="two stores or more, then OUT",
            got=str(len(stores)),
        )
    held = {Layout(root): read_intact(root) for root in map(as_path, stores)}
    identity, kept = _agreed(held), _kept(held)
    entries = tuple(
        sorted((entry for part in kept.values() for entry in part), key=lambda entry: entry.name)
    )
    first, report = next(iter(held.values())), progress or Progress()
    with new_store(out, memory, None) as (connection, work):
        for layout, manifest in held.items():
            check_unchanged(layout, manifest, [layout.root / name for name in manifest.files])
            _copy_refused(layout, kept[layout], Layout(work))
        report.begin(
            "merge", sum(entry.stored + sum(entry.also.values()) for entry in entries), "rows"
        )
        told, files = partial(report.advance, "merge"), {}
        for name, table in TRACE_TABLES.items():
            relation = _relation(table, held, kept, number_parts(entries))
            files[name] = (
                cluster(connection, table, relation, work / name, told) if relation else []
            )
        conserve(as_path(out), entries, {name: count_rows(paths) for name, paths in files.items()})
        facts = index_and_digest(connection, files, first.dialect, work, report)
        notes = tuple(dict.fromkeys(note for manifest in held.values() for note in manifest.notes))
        zone = first.dialect.time_zone(identity.cell)
        merged = replace(
            first, cell=identity.cell, time_zone=zone, sources=entries, notes=notes, **facts
        )
        merged.write(Layout(work).manifest)
    return merged


def _agreed(held: Stores) -> Identity:
    """Return whose rows all stores hold, and refuse what cannot be merged."""
    found = identity_of(next(iter(held.values())))
    for layout, manifest in held.items():
        if not manifest.sources or manifest.dialect.conversion:
            what, way_out = (
                "cannot be merged",
                "merge the whole stores; ingest own data from all of its files at once",
            )
            expected = "a store of whole files in a format of Google's"
            raise StoreError(str(layout.root), what, expected=expected, way_out=way_out)
        # A store of loose files does not know its cell; another may.
        found = agree(
            layout.root, found, identity_of(manifest), "merge stores of one cell of one trace"
        )
    return found


def _kept(held: Stores) -> Kept:
    """Return what is taken of each store: files that none before it holds, whatever folders their names have."""
    found: dict[Layout, list[SourceEntry]] = {}
    known: dict[str, str] = {}
    files: set[tuple[str, str]] = set()
    for layout, manifest in held.items():
        for name, digest in ((entry.name, entry.sha256) for entry in manifest.sources):
            if known.setdefault(name, digest) != digest:
                what, expected = (
                    f"another file {name} than in a store before",
                    f"sha256 {known[name][:12]}…",
                )
                way_out = "ingest the raw files together: their folders then tell them apart"
                raise StoreError(
                    str(layout.root),
                    what,
                    expected=expected,
                    got=f"{digest[:12]}…",
                    way_out=way_out,
                )
        found[layout] = [entry for entry in manifest.sources if _file(entry) not in files]
        files |= set(map(_file, found[layout]))
    return found


def _file(entry: SourceEntry) -> tuple[str, str]:
    return name_alone(entry.name), entry.sha256


def _copy_refused(layout: Layout, kept: Sequence[SourceEntry], target: Layout) -> None:
    for entry in kept:
        if entry.quarantined:
            path = target.refused(entry.table, entry.name)
            path.parent.mkdir(parents=True, exist_ok=True)
            (refused,) = local_copies([layout.refused(entry.table, entry.name)])
            shutil.copy2(refused, path)


def _relation(table: Table, held: Stores, kept: Kept, numbers: Mapping[str, int]) -> str:
    """SQL of a table's rows in all stores, numbered as in the new one; empty where none has any."""
    found = []
    for layout, manifest in held.items():
        if paths := layout.local_parts(table.name):
            now = {entry.name: numbers[entry.name] for entry in kept[layout]}
            found.append(
                present_relation(table, paths, moved_parts(table.name, manifest.sources, now))
            )
    return " UNION ALL ".join(found)
