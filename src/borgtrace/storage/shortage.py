"""Tell a shortage (of disk, memory, open files or permission) from damage, when a library fails."""

import errno
import os
import re
import resource
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from borgtrace.errors import BorgtraceError, EngineError, StoreError
from borgtrace.storage.remote import RemotePath

DISK_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
"""No space left, file too large, quota exceeded."""
NOT_WRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS)
"""Errors of the operating system where nothing may be written: no permission, or a read-only file system."""
TOO_MANY_FILES = (errno.EMFILE, errno.ENFILE)

_TEXTS = {
    **{os.strerror(number): number for number in (*DISK_FULL, *NOT_WRITABLE, *TOO_MANY_FILES)},
    os.strerror(errno.ENOMEM): errno.ENOMEM,
    # NumPy's file and SQLite give no number.
    "Not enough free space to write": errno.ENOSPC,
    "database or disk is full": errno.ENOSPC,
    # Before what DuckDB says of memory, for it calls a full disk so too.
    "failed to offload data block": errno.ENOSPC,
    "Out of Memory Error": errno.ENOMEM,
    "can't start new thread": errno.ENOMEM,
}
"""Numbers of the operating system by what libraries say that give none."""
_BUDGET_IN_USE = re.compile(r"\(([\d.]+ \w+)/([\d.]+ \w+) used\)")
"""How DuckDB says that it has used its own budget up; it does not where the machine has no more memory."""


class DiskFullError(StoreError, OSError):
    """There is no room for what is written: for those who can do without it, the `OSError` that it was."""


def shortage_behind(error: BaseException) -> int | None:
    """Return the number of the operating system of what was short; None where an error has another cause.

    Parameters
    ----------
    error
        An error of ours, of Python or of a library; what caused it is asked, too.

    Examples
    --------
    >>> shortage_behind(OSError("Not enough free space to write 8 bytes after offset 0")) == errno.ENOSPC
    True
    >>> shortage_behind(FileNotFoundError(errno.ENOENT, "No such file or directory")) is None
    True
    """
    for cause in _causes(error):
        number = _shortage(cause)
        if number is not None:
            return number
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, what caused it, and so on; a chain of ours has no cycles."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)


def _shortage(error: BaseException) -> int | None:
    # What a user reads says it already, and may quote a file.
    if isinstance(error, BorgtraceError):
        return None
    if isinstance(error, MemoryError):
        return errno.ENOMEM
    number = getattr(error, "errno", None)
    if isinstance(number, int):
        return number if number in _TEXTS.values() else None
    message = str(error)
    return next((number for text, number in _TEXTS.items() if text in message), None)


def refuse_shortage(error: BaseException, place: Path) -> None:
    """Raise what was short where that is why something about a place failed, which is then no damage.

    Parameters
    ----------
    error
        What failed.
    place
        What was read or written.

    Raises
    ------
    StoreError
        The disk is full, or permission is lacking.
    EngineError
        Memory or open files were short.
    """
    explained = shortage_error(error, place)
    if explained is not None:
        raise explained from error


def shortage_error(error: BaseException, place: Path) -> BorgtraceError | None:
    """Return the error that says what was short; None where nothing was."""
    number = shortage_behind(error)
    if number is None:
        return None
    if number in DISK_FULL:
        return disk_full(place, number)
    if number in TOO_MANY_FILES:
        return EngineError(
            str(place),
            "too many files are open at a time",
            got=_limit_of_files(),
            way_out="allow more and run the same command again: ulimit -n 4096",
        )
    if number == errno.ENOMEM:
        budget_error = _budget_error(error)
        if budget_error is not None:
            return budget_error
        return EngineError(
            str(place),
            "there is not enough memory",
            way_out="close other programs, take fewer workers or a smaller --memory, or allow more: ulimit -v",
        )
    return StoreError(
        _file_of(error) or str(place),
        os.strerror(number).lower(),
        way_out="make it readable and writable for this user, or name another place",
    )


def _budget_error(error: BaseException) -> EngineError | None:
    """Return the error of a budget that is too small; None where it was not the budget that was used up."""
    for cause in _causes(error):
        match = _BUDGET_IN_USE.search(str(cause))
        if match:
            used, budget = match.groups()
            return EngineError(
                "--memory",
                "the budget is too small for this",
                got=f"{used} of {budget} in use",
                way_out="give more, or ask for less at once",
            )
    return None


def _limit_of_files() -> str:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return f"a limit of {soft}"


def _file_of(error: BaseException) -> str:
    """Return the name of the file that the operating system refused; empty where it is not known."""
    for cause in _causes(error):
        filename = getattr(cause, "filename", None)
        if filename:
            return os.fsdecode(filename)
    return ""


def disk_full(
    place: Path,
    number: int = errno.ENOSPC,
    *,
    needed: int = 0,
    kept: str = "",
) -> DiskFullError:
    """Return the error of a full disk: that of a place, or of the temporary folder where that one has less.

    Parameters
    ----------
    place
        What was being written.
    number
        What the operating system said: one of `DISK_FULL`.
    needed
        Bytes that were written before the disk was full; 0 where that is not known.
    kept
        What the same command finds again, in words.
    """
    again = "run the same command again"
    if kept:
        again += f": {kept}"
    if number == errno.EFBIG:
        return DiskFullError(
            str(place),
            "a file is larger than this system allows",
            got=_limit_of_size(),
            way_out=f"allow more (ulimit -f unlimited) and {again}",
        )
    # A library may have filled the disk of its temporary files instead.
    place_on_disk = _existing(place)
    folder = min(place_on_disk, Path(tempfile.gettempdir()), key=_free_bytes)
    free = _free_bytes(folder)
    disk = _mount_point(folder)
    way_out = f"free some disk in {disk} and {again}"
    if disk != _mount_point(place_on_disk):
        way_out += ", or set TMPDIR to a folder elsewhere"
    elif not kept:
        way_out += ", or name another place"
    return DiskFullError(
        str(place),
        "the disk is full" if number == errno.ENOSPC else "the disk quota is used up",
        # At least what there is: that was too little.
        expected=f"more than {_megabytes(max(needed, free))}" if needed else None,
        got=f"{_megabytes(free)} free",
        way_out=way_out,
    )


def reserve(file: IO[bytes], size: int) -> None:
    """Take the disk of a file that is written through a memory map: there, a full disk would end the process.

    Parameters
    ----------
    file
        An open file.
    size
        Its length.

    Raises
    ------
    OSError
        The disk is full.
    """
    os.posix_fallocate(file.fileno(), 0, size)


def _limit_of_size() -> str:
    soft, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    return (
        "its largest size" if soft == resource.RLIM_INFINITY else f"a limit of {_megabytes(soft)}"
    )


def _existing(place: Path) -> Path:
    """Return a place of this machine, or the folder above it that exists; the temporary folder for a bucket."""
    if isinstance(place, RemotePath):
        return Path(tempfile.gettempdir())
    candidates = (place, *place.absolute().parents)
    return next(path for path in candidates if path.exists())


def _free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


def _mount_point(folder: Path) -> Path:
    """Return the folder under which a disk is seen."""
    folder = folder.resolve()
    return next(path for path in (folder, *folder.parents) if path.is_mount())
