"""Write beside, then rename: a reader sees what was there before or what is new, never half of it."""

import os
import shutil
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from borgtrace.errors import UsageError
from borgtrace.storage.outputs import uploading
from borgtrace.storage.paths import as_local_path
from borgtrace.storage.regular_files import describe_kind
from borgtrace.storage.remote import RemotePath
from borgtrace.storage.shortage import DISK_FULL, disk_full, shortage_behind

INCOMPLETE = ".incomplete"
"""Suffix of everything that is not finished: nobody reads such a file, and any process may remove it."""


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

    Raises
    ------
    UsageError
        `path` is a pipe, a device or a socket, which a file would take the place of.
    StoreError
        The disk is full; what was there before stays.

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
    require_replaceable(path)
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
    except BaseException as error:
        n_written = size_on_disk(draft)
        remove(draft)
        number = shortage_behind(error)
        if number in DISK_FULL:
            raise disk_full(path, number, needed=n_written) from error
        raise


def require_replaceable(path: Path) -> None:
    """Refuse a path that a new file or folder must not take the place of.

    Raises
    ------
    UsageError
        It is a pipe, a device or a socket.
    """
    mode = path.stat().st_mode if path.exists() else stat.S_IFREG
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise UsageError(
            str(path),
            "cannot be written to",
            expected="a file or folder, new or old",
            got=describe_kind(mode),
            way_out="name another place",
        )


def size_on_disk(path: Path) -> int:
    """Return the bytes of a file, or of all files of a folder; 0 where there is none."""
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return path.stat().st_size if path.exists() else 0


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

    It contains the numbers of the process and the thread: two that write the same file, or workers that outlive a
    killed process, never write into each other's draft.
    """
    writer = f"{os.getpid()}-{threading.get_native_id()}"
    return path.with_name(f"{path.name}.{writer}{INCOMPLETE}")


def remove(path: Path) -> None:
    """Remove a file, a link or a whole folder, if it is there; what a link leads to stays."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
