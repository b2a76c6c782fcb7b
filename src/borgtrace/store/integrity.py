"""Check that the files of a store are as they were written: at opening, and before they are copied into another."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa

from borgtrace.engine.stored import read_footer
from borgtrace.errors import StoreError, first_line
from borgtrace.schema import TABLES
from borgtrace.storage import refuse_shortage
from borgtrace.storage.sparse_copy import local_copies
from borgtrace.store.compatibility import unreadable
from borgtrace.store.digest import digest_of_all, file_digests
from borgtrace.store.file_changes import changed_files
from borgtrace.store.layout import Layout
from borgtrace.store.manifest import Manifest, read_manifest

_FOOTERS_AT_ONCE = 16


def read_intact(root: Path) -> Manifest:
    """Read the manifest of a store, and compare the files that it lists with their digests and rows.

    Parameters
    ----------
    root
        The store.

    Raises
    ------
    StoreError
        When the manifest cannot be read, a file is missing, has changed or is unknown, or a table has other rows
        than the manifest says; it is named.

    Notes
    -----
    Milliseconds. A store that is new here, or a file that was changed, is read once (1 s per gigabyte and core) before
    any library parses it, since a damaged file can make one give a wrong answer or end the process. A store of format
    1.0 lists no files: only its rows are compared. For a store in a bucket names and rows are compared.
    """
    manifest = read_manifest(root)
    layout = Layout(root)
    fault = _changed_file(layout, manifest) or _wrong_number_of_rows(layout, manifest)
    if fault is None:
        return manifest
    # Files that an ingest is just replacing are no damage: then the manifest is another one, or away.
    if read_manifest(root) == manifest:
        raise fault
    return read_intact(root)


def _changed_file(layout: Layout, manifest: Manifest) -> StoreError | None:
    if not manifest.files:
        return None
    for name in sorted(unknown_parts(layout, manifest)):
        return unreadable(layout.root, f"{name} is none of the files that the manifest lists", "")
    try:
        changed = sorted(changed_files(layout.root, manifest.files).items())
    # A pipe or a device in place of a file, or a disk that fails.
    except OSError as error:
        refuse_shortage(error, layout.root)
        return unreadable(layout.root, "a file cannot be read", first_line(error))
    for name, digest in changed:
        return _has_changed(layout, manifest, name, digest)
    return None


def unknown_parts(layout: Layout, manifest: Manifest) -> set[str]:
    """Return the Parquet files of tables that the manifest does not list: a view of the table would read them too."""
    present = set()
    for table in TABLES:
        for path in layout.parts(table):
            present.add(path.relative_to(layout.root).as_posix())
    return present - manifest.files.keys()


def _has_changed(
    layout: Layout,
    manifest: Manifest,
    name: str,
    digest: str | None,
) -> StoreError:
    if digest is None:
        return unreadable(layout.root, f"{name} is missing", "")
    expected = manifest.files[name]
    return unreadable(
        layout.root,
        f"{name} has changed since it was written",
        got=digest[:12],
        expected=expected[:12],
    )


def _wrong_number_of_rows(layout: Layout, manifest: Manifest) -> StoreError | None:
    parts = {name: layout.parts(name) for name in TABLES}
    # From a bucket a footer takes a while, nearly all of it waiting.
    with ThreadPoolExecutor(_FOOTERS_AT_ONCE) as pool:
        footers = {}
        for paths in parts.values():
            for path in paths:
                footers[path] = pool.submit(read_footer, path)
    for name, paths in parts.items():
        n_rows = 0
        for path in paths:
            try:
                n_rows += footers[path].result().num_rows
            except (OSError, ValueError, MemoryError, pa.ArrowException) as error:
                refuse_shortage(error, path)
                what = f"{name}/{path.name} cannot be read"
                return unreadable(layout.root, what, first_line(error))
        expected = manifest.tables.get(name, 0)
        if n_rows != expected:
            return unreadable(
                layout.root,
                f"{name} does not have the rows that the manifest counts",
                got=f"{n_rows:,}",
                expected=f"{expected:,} rows",
            )
    return None


def origin_of(layout: Layout, manifest: Manifest) -> str:
    """Return a digest of all bytes of a store's files, under which what is made from them is kept.

    Not the content digest, which a manifest may claim: files are compared with theirs whenever a store is opened. In a
    bucket they are not, so the bucket's URL is a part of it.

    Parameters
    ----------
    layout, manifest
        The store.
    """
    digests = dict(manifest.files)
    if not digests:
        # A store of format 1.0 lists no files.
        paths = [path for name in TABLES for path in layout.parts(name)]
        by_name = {path.relative_to(layout.root).as_posix(): path for path in paths}
        digests = file_digests(by_name, _FOOTERS_AT_ONCE)
    if layout.is_remote:
        digests["url"] = str(layout.root)
    return digest_of_all(digests)


def check_unchanged(
    layout: Layout,
    manifest: Manifest,
    paths: Sequence[Path],
    threads: int = 1,
) -> None:
    """Refuse files of a store that have changed since they were written.

    What goes into another version or another store gets new digests there, which would hide the damage for good: so
    every byte is read, whenever a file was last compared.

    Parameters
    ----------
    layout, manifest
        The store.
    paths
        Files of it; those without a digest in the manifest (format 1.0) are not compared.
    threads
        Files read at a time.

    Raises
    ------
    StoreError
        When one has changed; it is named.
    """
    paths_by_name = {path.relative_to(layout.root).as_posix(): path for path in paths}
    names = [name for name in paths_by_name if name in manifest.files]
    copies = local_copies([paths_by_name[name] for name in names])
    digests = file_digests(dict(zip(names, copies, strict=True)), threads)
    for name in sorted(digests):
        if digests[name] != manifest.files[name]:
            raise _has_changed(layout, manifest, name, digests[name])
