"""Temporary files in one private folder of this process, which the next run removes after a kill."""

import fcntl
import itertools
import os
import shutil
import tempfile
import time
from contextlib import suppress
from functools import cache
from multiprocessing.util import Finalize
from pathlib import Path

from borgtrace.errors import EngineError

PREFIX = "borgtrace-scratch-"
LOCK = "held"
"""Held by the process whose folder it is in; the system frees it when that dies, however it dies."""
_SERIAL = itertools.count()
_HOUR = 3600


def scratch_folder() -> Path:
    """Return the folder for temporary files of this process; made when it is first needed, removed at the end.

    Raises
    ------
    EngineError
        There is no temporary folder that can be written to.
    """
    try:
        parent = tempfile.gettempdir()
    except FileNotFoundError as error:
        raise EngineError(
            "temporary folder",
            "none can be written to",
            way_out="set TMPDIR to a folder that can be written to",
        ) from error
    # A fork needs a folder of its own: the first of two to end would remove a common one.
    return _folder_of_process(Path(parent), os.getpid())


def new_scratch(purpose: str) -> Path:
    """Return the name of something new in the folder for temporary files, which is not made."""
    return scratch_folder() / f"{purpose}-{next(_SERIAL)}"


@cache
def _folder_of_process(parent: Path, process: int) -> Path:
    remove_leftovers(parent)
    # A name that nobody can guess, and 0700: nobody else can plant a link in it.
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    # Held before it has its name: a folder whose lock is free is taken for one of a process that died.
    unnamed = folder / "new"
    descriptor = os.open(unnamed, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    unnamed.rename(folder / LOCK)
    # Unlike `atexit` also at the end of a worker.
    Finalize(None, shutil.rmtree, (folder,), {"ignore_errors": True}, exitpriority=0)
    return folder


def remove_leftovers(parent: Path) -> None:
    """Remove the folders of this user's processes that were killed.

    Parameters
    ----------
    parent
        The folder for temporary files of all users.
    """
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX):
                with suppress(OSError):
                    _remove_if_left(entry)


def _remove_if_left(entry: os.DirEntry[str]) -> None:
    status = entry.stat(follow_symlinks=False)
    if not entry.is_dir(follow_symlinks=False) or status.st_uid != os.geteuid():
        return
    try:
        descriptor = os.open(Path(entry.path) / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        # Another process may be making it, within milliseconds.
        if time.time() - status.st_mtime > _HOUR:
            shutil.rmtree(entry.path)
        return
    try:
        # Raises where its process lives.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(entry.path)
    finally:
        os.close(descriptor)
