"""What a failed command tells its user: the cause in one line, with the way out."""

import errno
import os
from pathlib import Path

from borgtrace.errors import BorgtraceError, StoreError, UsageError
from borgtrace.extensions import failure_of_extension
from borgtrace.storage import (
    NOT_WRITABLE,
    NotRegularError,
    RemotePath,
    printable_name,
    shortage_behind,
    shortage_error,
)

# DuckDB's errors that begin so are about the query or the machine; others may come from a damaged file.
ERRORS_OF_QUERIES = (
    "Parser",
    "Binder",
    "Catalog",
    "Permission",
    "Out of Memory",
    "Conversion",
    "Not implemented",
)
WAYS_OUT = {
    errno.ENOENT: "check the path",
    errno.EISDIR: "name a file",
    errno.ENOTDIR: "name a place below a folder",
    errno.EEXIST: "name another place, or remove what is there",
    errno.ENOTEMPTY: "name another place, or remove what is there",
    errno.ELOOP: "remove the link, or name the place itself",
    errno.ENAMETOOLONG: "name a place with a shorter name",
    errno.EBUSY: "name another place",
    errno.EIO: "check the disk",
}
"""What a user can do about a path, by the number that the operating system gives."""


def explanation_of(error: Exception, store: object) -> BorgtraceError | None:
    """Return what a user is told of an error; None where it is a mistake of ours.

    Parameters
    ----------
    error
        What the command raised.
    store
        The command's argument of this name.
    """
    explained = (
        refusal_to_write(error)
        or machine_shortage(error)
        or damage_behind(error, store)
        or refusal_of_path(error)
        or failure_of_extension(error)
        or error
    )
    return explained if isinstance(explained, BorgtraceError) else None


def refusal_to_write(error: Exception) -> UsageError | None:
    """Return the error of a place that cannot be written to, where that is what happened."""
    if not isinstance(error, OSError) or error.errno not in NOT_WRITABLE:
        return None
    return UsageError(
        str(error.filename or "output"),
        (error.strerror or "").lower(),
        way_out="choose another place, or open this one",
    )


def machine_shortage(error: Exception) -> BorgtraceError | None:
    """Return the error of a machine that was short of disk, memory or open files, where a library ran into that."""
    if isinstance(error, BorgtraceError):
        return None
    filename = getattr(error, "filename", None)
    # Without a name it is what the command prints: files are written under a name that is known.
    place = Path(os.fsdecode(filename)) if filename else Path(os.path.realpath("/dev/stdout"))
    return shortage_error(error, place)


def refusal_of_path(error: Exception) -> UsageError | None:
    """Return the error of a path that the operating system refused, where that is what happened."""
    if isinstance(error, UnicodeEncodeError) and error.reason == "surrogates not allowed":
        return UsageError(
            printable_name(Path(str(error.object))),
            "the name is not UTF-8",
            way_out="rename it, or make a link to it",
        )
    if not isinstance(error, OSError) or error.errno is None or not error.filename:
        return None
    way_out = "name the file itself" if isinstance(error, NotRegularError) else None
    return UsageError(
        printable_name(Path(os.fsdecode(error.filename))),
        (error.strerror or os.strerror(error.errno)).lower(),
        way_out=way_out or WAYS_OUT.get(error.errno, "name another place"),
    )


def damage_behind(error: Exception, store: object) -> StoreError | None:
    """Return the error of a damaged store on which a command failed; None where the store is whole.

    Every file is read, so this is only asked when the command's own error does not explain the failure.

    Parameters
    ----------
    error
        What the command raised.
    store
        The command's argument of this name.
    """
    # Skip buckets: they may be too large to read.
    if not isinstance(store, Path) or isinstance(store, RemotePath) or explains_itself(error):
        return None
    # Whatever is short would make a sound store look damaged.
    if shortage_behind(error) is not None:
        return None
    from borgtrace.cli.console import working
    from borgtrace.store.layout import Layout
    from borgtrace.store.verify import as_error, verify

    if not is_there(Layout(store).manifest):
        return None
    with working("looking whether the store is damaged"):
        try:
            checks = verify(store, threads=os.cpu_count() or 1)
        except StoreError as damaged:
            return damaged
    return as_error(store, checks)


def is_there(path: Path) -> bool:
    """Return whether there is such a file; not where the operating system refuses to look for it."""
    try:
        return path.is_file()
    except OSError:
        return False


def explains_itself(error: Exception) -> bool:
    """Return whether an error says all there is to say: it is ours, and not about reading a file."""
    if not isinstance(error, BorgtraceError):
        return False
    if isinstance(error, StoreError) or error.__cause__ is None:
        return True
    import duckdb
    import pyarrow as pa

    cause = error.__cause__
    if not isinstance(cause, OSError | duckdb.Error | pa.ArrowException):
        return True
    return str(cause).startswith(ERRORS_OF_QUERIES)
