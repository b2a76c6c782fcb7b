"""Build a folder once: locked while it is built, renamed when it is whole, never reused half-built."""

import errno
import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from borgtrace.errors import StoreError, UsageError
from borgtrace.storage.lock import locked
from borgtrace.storage.outputs import uploading
from borgtrace.storage.remote import RemotePath
from borgtrace.storage.replacing import INCOMPLETE, remove, replacing, write_file

UNFINISHED = f"upload{INCOMPLETE}"
"""Lies in a folder of a bucket while it is written, since a bucket has no rename."""


@contextmanager
def new_folder(out: Path, *, replaces: bool = False) -> Iterator[Path]:
    """Yield an empty folder beside `out` that is renamed to `out` when the block ends without an error.

    What a killed process left behind is removed first; if the block fails, this folder is removed too.

    Parameters
    ----------
    out
        The folder.
    replaces
        Whether what `out` holds is removed, once the new folder is whole.

    Raises
    ------
    StoreError
        Another process is writing to `out`.
    UsageError
        `out` holds something.
    """
    if isinstance(out, RemotePath):
        check_free(out)
        with _new_remote_folder(out) as draft:
            yield draft
        return
    # The lock lies beside, not inside: the folder must be empty to be renamed over.
    with locked(out.with_name(f".{out.name}.lock"), out):
        # Under the lock: two processes cannot both find the place free.
        if not replaces:
            check_free(out)
        # Nobody else writes here now: unfinished folders are left over. Names may hold brackets, hence the escape.
        for leftover in out.parent.glob(f"{glob.escape(out.name)}.*{INCOMPLETE}"):
            remove(leftover)
        with replacing(out) as incomplete:
            incomplete.mkdir()
            yield incomplete
            if replaces:
                remove(out)


@contextmanager
def _new_remote_folder(out: RemotePath) -> Iterator[Path]:
    """Yield an empty folder that is copied to `out`; where that fails, nothing stays that the next run would refuse."""
    mark = out / UNFINISHED
    if mark.exists():
        remove(out)
    # Before the work: a bucket that may not be written to says so at once, and what is left after a kill is known.
    write_file(mark, "The command that writes here has not finished, or was killed.\n")
    try:
        with uploading(out) as draft:
            draft.mkdir()
            yield draft
        mark.unlink()
    except BaseException:
        # The bucket may be what failed: then the mark stays as well, and the next run goes on.
        with suppress(StoreError):
            remove(out)
        raise


@contextmanager
def replacing_once(path: Path) -> Iterator[Path]:
    """Yield a path to write to as :func:`replacing` does; where another process was first, its result stays.

    For folders whose content is the same whoever makes them.
    """
    try:
        with replacing(path) as draft:
            yield draft
    except OSError as error:
        if error.errno != errno.ENOTEMPTY:
            raise


def check_free(out: Path) -> None:
    """Refuse a place that holds something.

    Raises
    ------
    UsageError
        `out` is a file, or a folder that is not empty, unless a bucket holds it and it is marked as unfinished.
    """
    if not is_free(out):
        n_entries = len(list(out.glob("*")))
        raise UsageError(
            str(out),
            "holds something else",
            expected="a new folder",
            got=f"{n_entries} entries" if n_entries else "a file",
            way_out="name another folder, or remove this one",
        )


def is_free(out: Path) -> bool:
    """Return whether there is nothing, an empty folder, or a folder of a bucket that a command left unfinished."""
    if isinstance(out, RemotePath) and (out / UNFINISHED).exists():
        return True
    is_empty_folder = out.is_dir() and not any(out.iterdir())
    return is_empty_folder or not out.exists()


def is_writable(folder: Path) -> bool:
    """Make a folder unless it is there, and return whether this user may write into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    # A read-only store, or a home that does not exist.
    except OSError:
        return False
    return os.access(folder, os.W_OK)
