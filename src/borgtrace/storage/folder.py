"""Build a folder once: locked while it is built, renamed when it is whole, never reused half-built."""

import errno
import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from borgtrace.errors import UsageError
from borgtrace.storage.lock import locked
from borgtrace.storage.outputs import uploading
from borgtrace.storage.remote import RemotePath
from borgtrace.storage.replacing import INCOMPLETE, remove, replacing


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
        with uploading(out) as draft:
            draft.mkdir()
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
        `out` is a file, or a folder that is not empty.
    """
    if out.is_dir() and not any(out.iterdir()):
        return
    if out.exists():
        n_entries = len(list(out.glob("*")))
        raise UsageError(
            str(out),
            "holds something else",
            expected="a new folder",
            got=f"{n_entries} entries" if n_entries else "a file",
            way_out="name another folder, or remove this one",
        )


def is_writable(folder: Path) -> bool:
    """Make a folder unless it is there, and return whether this user may write into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    # A read-only store, or a home that does not exist.
    except OSError:
        return False
    return os.access(folder, os.W_OK)
