"""Is what is read what was written?  Footers whenever a store is opened, digests before its files go into another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.errors import StoreError, first_line
from borgtrace.schema import TABLES
from borgtrace.store.compatibility import unreadable
from borgtrace.store.digest import file_digests
from borgtrace.store.layout import Layout
from borgtrace.store.manifest import Manifest, read_manifest


def read_intact(root: Path) -> Manifest:
    """Read the manifest of a store and compare the rows it counts with the footers of the files.

    Parameters
    ----------
    root
        The store.

    Raises
    ------
    StoreError
        When the manifest cannot be read, or a table has other rows than it says: a missing file is never an empty
        table.

    Notes
    -----
    Footers alone are read, some milliseconds; what has changed within the files is for ``verify`` to find.
    """
    manifest = read_manifest(root)
    fault = _fault(Layout(root), manifest)
    if fault is None:
        return manifest
    # Files that an ingest is replacing just now are no damage: then the manifest is another one, or away.
    if read_manifest(root) == manifest:
        raise fault
    return read_intact(root)


def _fault(layout: Layout, manifest: Manifest) -> StoreError | None:
    for name in TABLES:
        found, expected = 0, manifest.tables.get(name, 0)
        for path in layout.parts(name):
            try:
                found += pq.read_metadata(path).num_rows
            except (OSError, ValueError, pa.ArrowException) as error:
                return unreadable(layout.root, f"{name}/{path.name} cannot be read", first_line(error))
        if found != expected:
            what = f"{name} does not have the rows that the manifest counts"
            return unreadable(layout.root, what, f"{found:,}", f"{expected:,} rows")
    return None


def check_unchanged(layout: Layout, manifest: Manifest, paths: Sequence[Path], threads: int = 1) -> None:
    """Refuse files of a store that have changed since they were written.

    What goes into another version or another store gets new digests there, which would hide the damage for good.

    Parameters
    ----------
    layout, manifest
        The store.
    paths
        Files of it; those without a digest in the manifest (format 1.0) are taken as they are.
    threads
        Files read at a time.

    Raises
    ------
    StoreError
        When one has changed; it is named.
    """
    named = {path.relative_to(layout.root).as_posix(): path for path in paths}
    found = file_digests({name: path for name, path in named.items() if name in manifest.files}, threads)
    for name in sorted(found):
        got, expected = found[name], manifest.files[name]
        if got != expected:
            raise unreadable(layout.root, f"{name} has changed since it was written", got[:12], expected[:12])
