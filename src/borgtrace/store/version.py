"""Check that a store is still the version that was opened, by a look at its manifest.

So whoever sees the manifest of his version after reading has read files of that version, since none of the next was in
place while it was there. That takes a look at one file, a few microseconds. Arrays that are mapped, and files that are
open, stay what they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from borgtrace.errors import StoreError
from borgtrace.storage import RemotePath
from borgtrace.storage.remote import version_of
from borgtrace.store.layout import Layout

if TYPE_CHECKING:
    import pyarrow as pa

REPLACED = "the store was replaced since it was opened"


def present_version(root: Path) -> str:
    """Return what tells the store that is at `root` now from any other one; empty where there is none.

    Notes
    -----
    The manifest's number, time and size: each version is written as a new file. Of a bucket, what the server says.
    """
    manifest = Layout(root).manifest
    try:
        if isinstance(manifest, RemotePath):
            with manifest.open() as file:
                return version_of(manifest, file)
        status = manifest.stat()
    except OSError:
        return ""
    return f"{status.st_ino}-{status.st_mtime_ns}-{status.st_size}"


def check_version(root: Path, version: str | None) -> None:
    """Refuse a store that has been replaced.

    Parameters
    ----------
    root
        The store.
    version
        From :func:`present_version`, before anything was read; None checks nothing.

    Raises
    ------
    StoreError
        It is another one by now, or is being replaced.
    """
    if version is not None and present_version(root) != version:
        raise StoreError(
            str(root),
            REPLACED,
            way_out="open it again, or run the command again",
        )


def checked_batches(
    reader: pa.RecordBatchReader,
    expect_current: Callable[[], AbstractContextManager[None]],
) -> pa.RecordBatchReader:
    """Hand out batches one by one, each of them checked to be of the version that was opened.

    Parameters
    ----------
    reader
        The batches; reading one may read files of the store.
    expect_current
        Makes the block in which each is read.
    """

    def batches() -> Iterator[pa.RecordBatch]:
        unchecked = iter(reader)
        while True:
            with expect_current():
                batch = next(unchecked, None)
            if batch is None:
                return
            yield batch

    # Imported late: opening a store does not wait for Arrow.
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


@contextmanager
def expect_version(root: Path, version: str | None) -> Iterator[None]:
    """Refuse what the block has read, or any error of its, where the store was replaced meanwhile.

    Parameters
    ----------
    root, version
        As for :func:`check_version`.

    Raises
    ------
    StoreError
        In place of any other error: a mixture of two versions looks like damage.
    """
    try:
        yield
    except Exception:
        # A server that fails has said so, and would fail once more.
        if not isinstance(root, RemotePath):
            check_version(root, version)
        raise
    check_version(root, version)
