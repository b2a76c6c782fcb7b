"""Opens files that strangers name or made: regular ones only, since a pipe waits for ever and a device has no end."""

import errno
import os
import stat
from contextlib import AbstractContextManager, nullcontext
from io import BufferedReader
from pathlib import Path
from typing import Any, Self

from borgtrace.storage.remote import RemotePath, translate_bucket_errors

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


class NotRegularError(OSError):
    """A path is a pipe, a device, a socket or a folder, where a file is read."""


def describe_kind(mode: int) -> str:
    """Describe what is no regular file, by its mode.

    Examples
    --------
    >>> describe_kind(os.stat("/dev/null").st_mode)
    'a device'
    """
    for is_kind, name in _KINDS:
        if is_kind(mode):
            return name
    return "a device"


def open_regular(path: Path, *, buffering: int = -1) -> BufferedReader:
    """Open a regular file for reading, here or in a bucket, without waiting for anybody who writes to it.

    Parameters
    ----------
    path
        The file; a link is followed.
    buffering
        As for `open`; of a file of this machine.

    Raises
    ------
    NotRegularError
        It is a pipe, a device, a socket or a folder.
    OSError
        It cannot be opened.
    """
    if isinstance(path, RemotePath):
        remote_file: BufferedReader = path.open()
        return remote_file
    # Asked first: to open some devices has an effect.
    require_regular(path)
    descriptor, _ = _open_descriptor(path)
    try:
        file: BufferedReader = os.fdopen(descriptor, "rb", buffering)  # type: ignore[assignment]
        return file
    except BaseException:
        os.close(descriptor)
        raise


class OpenedFile:
    """A regular file of this machine that is open: one thread may open it, and another one read it.

    A file object asks the system twice as often, which threads that read many files side by side notice.

    Parameters
    ----------
    path
        The file; a link is followed.
    was_regular
        Whether it was seen to be regular, as `regular_files_in` sees it: its kind is then asked for once it is open.

    Attributes
    ----------
    size
        Its bytes, when it was opened.

    Raises
    ------
    NotRegularError
        It is a pipe, a device, a socket or a folder.
    OSError
        It cannot be opened.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "three"
    >>> _ = path.write_bytes(b"abc")
    >>> memory = bytearray(3)
    >>> with OpenedFile(path) as file:
    ...     file.size, file.read_into(memoryview(memory)), memory.decode()
    (3, 3, 'abc')
    """

    def __init__(self, path: Path, *, was_regular: bool = False) -> None:
        # To open some devices has an effect.
        if not was_regular:
            require_regular(path)
        self._descriptor, self.size = _open_descriptor(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def read_into(self, memory: memoryview) -> int:
        """Fill memory with the first bytes; return how many there are."""
        n_read = 0
        while n_read < len(memory):
            n_more = os.readv(self._descriptor, [memory[n_read:]])
            # Cut short since it was opened.
            if not n_more:
                break
            n_read += n_more
        return n_read


def _open_descriptor(path: Path) -> tuple[int, int]:
    """Open a regular file of this machine without waiting; return its descriptor and its size."""
    # What was asked before is asked again: the name may stand for something else meanwhile.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise _not_regular(path, status.st_mode)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, status.st_size


def regular_files_in(folder: Path) -> frozenset[str]:
    """Return the names of all regular files in a folder of this machine, without those of links.

    The system says kinds with names, so that files are not asked for theirs one by one.
    """
    with os.scandir(folder) as entries:
        return frozenset(entry.name for entry in entries if entry.is_file(follow_symlinks=False))


def require_regular(path: Path) -> Path:
    """Return a path that a library is to open, unless it is no regular file.

    Raises
    ------
    NotRegularError
        It is a pipe, a device, a socket or a folder.
    OSError
        It is not there.
    """
    if isinstance(path, RemotePath):
        return path
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        raise _not_regular(path, mode)
    return path


def _not_regular(path: Path, mode: int) -> NotRegularError:
    return NotRegularError(errno.EINVAL, f"{describe_kind(mode)}, not a file", str(path))


def readable(path: Path) -> Any:
    """Return what Arrow reads: the path, or an opened file of a bucket, since Arrow makes a new client for each URL.

    Raises
    ------
    NotRegularError
        It is a pipe, a device, a socket or a folder.
    """
    return path.open() if isinstance(path, RemotePath) else require_regular(path)


def read_regular(path: Path) -> bytes:
    """Return all bytes of a regular file, as :func:`open_regular` opens it."""
    with _bucket_errors_of(path), open_regular(path) as file:
        return file.read()


def read_text(path: Path, *, errors: str = "strict") -> str:
    """Return the text of a regular file, which is UTF-8.

    Parameters
    ----------
    path
        The file, here or in a bucket.
    errors
        What happens to bytes that are none; as for `bytes.decode`.
    """
    return read_regular(path).decode("utf-8", errors)


def _bucket_errors_of(path: Path) -> AbstractContextManager[None]:
    if isinstance(path, RemotePath):
        return translate_bucket_errors(path)
    return nullcontext()
