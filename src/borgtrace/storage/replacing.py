"""Write beside, then rename: a reader sees what was there before or what is new, never half of it."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from borgtrace.storage.outputs import uploading
from borgtrace.storage.paths import as_local_path
from borgtrace.storage.remote import RemotePath

INCOMPLETE = ".incomplete"
"""Suffix of everything that is not finished: nobody reads such a file, and any process may remove it."""

NOT_WRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS)
"""Errors of the operating system where nothing may be written: no permission, or a read-only file system."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path to write to; what was written there gets the name `path` when the block ends without an error.

    Parameters
    ----------
    path
        A file, or a folder that is not there or is empty.  Its parent is made.

    Yields
    ------
    Path
        A name beside `path`, of which the block makes a file or a folder.

    Notes
    -----
    Nothing is flushed to the disk (no ``fsync``): the rename protects against an error and against a killed
    process, not against a power cut.  After one, ``borgtrace verify`` finds by the digests what is damaged; flushing
    every file would cost an ingest more than the digests do.

    Examples
    --------
    >>> import tempfile
    >>> page = Path(tempfile.mkdtemp()) / "page.html"
    >>> with replacing(page) as draft:
    ...     _ = draft.write_text("whole")
    >>> [entry.name for entry in page.parent.iterdir()]
    ['page.html']
    """
    if isinstance(path, RemotePath):
        with uploading(path) as draft:
            yield draft
        return
    as_local_path(path).parent.mkdir(parents=True, exist_ok=True)
    draft = incomplete_path(path)
    # Process numbers are reused: a draft of this name is from a process that died.
    remove(draft)
    try:
        yield draft
        # One step for files, and for a folder over nothing or over an empty folder. It cannot cross file systems:
        # so the draft lies beside its target.
        draft.replace(path)
    # An interrupt from the keyboard too must leave nothing behind.
    except BaseException:
        remove(draft)
        raise


def write_file(path: Path, content: bytes | str) -> None:
    """Write a whole file as :func:`replacing` does; text becomes UTF-8.

    Parameters
    ----------
    path
        The file; its folder is made.
    content
        All of it.
    """
    data = content.encode() if isinstance(content, str) else content
    with replacing(path) as draft:
        draft.write_bytes(data)


def incomplete_path(path: Path) -> Path:
    """Return the name of `path` while it is written.

    It contains the process number: two processes that write the same file, or workers that outlive a killed process,
    never write into each other's draft.
    """
    return path.with_name(f"{path.name}.{os.getpid()}{INCOMPLETE}")


def remove(path: Path) -> None:
    """Remove a file or a whole folder, if it is there."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
