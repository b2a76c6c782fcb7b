"""Files of a bucket as paths: what `pathlib` offers for files that are read, over pyarrow.fs.

Credentials come from the usual environment variables (``AWS_ACCESS_KEY_ID``, ``AWS_PROFILE``, ``AWS_ENDPOINT_URL``; the
default credentials of Google and Azure): a URL only names a place, and may be printed.
"""

import errno
import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path, PosixPath, PurePosixPath
from typing import Any, NamedTuple, Self

from borgtrace.errors import StoreError, first_line

# At least two letters: a single one is a drive of Windows. One slash: a `Path` keeps no second one.
SCHEME = re.compile(r"^([a-z][a-z0-9+.-]+):/+", re.IGNORECASE)

_KEYS = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, to an account that may do this"
_AZURE = "set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, or run az login"
_LATER = "run the command again later"


class BucketFault(NamedTuple):
    """What went wrong in a bucket, and what the user can do."""

    what: str
    way_out: str


_FAULTS = {
    "NO_SUCH_BUCKET": BucketFault(
        "there is no such bucket", "check its name, and AWS_ENDPOINT_URL"
    ),
    "ACCESS_DENIED": BucketFault("access denied", _KEYS),
    "INVALID_ACCESS_KEY_ID": BucketFault("access denied", _KEYS),
    "SIGNATURE_DOES_NOT_MATCH": BucketFault("access denied", _KEYS),
    "NETWORK_CONNECTION": BucketFault(
        "it cannot be reached", "check the network, and AWS_ENDPOINT_URL"
    ),
    "ContainerNotFound": BucketFault(
        "there is no such container", "check its name and the account"
    ),
    "Auth": BucketFault("access denied", _AZURE),
    "SLOW_DOWN": BucketFault("the server is busy", _LATER),
    "INTERNAL_FAILURE": BucketFault("the server fails", _LATER),
    "HTTP status 5": BucketFault("the server fails", _LATER),
    "": BucketFault("it cannot be read", "check its name, the account and the network"),
}
"""Faults by the beginning of the code that a server or Arrow gives; the empty one begins every code."""


class FileHead(NamedTuple):
    """Size of a file, its first bytes, and what identifies its version."""

    size: int
    content: bytes
    version: str


class ListedEntry(NamedTuple):
    """Size of a file (None for a folder), and its time of change in ns."""

    size: int | None
    mtime_ns: int


class RemotePath(PosixPath):
    """A file or folder of a bucket, for reading; :mod:`borgtrace.storage.outputs` writes there."""

    __slots__ = ()

    def __str__(self) -> str:
        return SCHEME.sub(r"\1://", super().__str__())

    @property
    def located(self) -> tuple[Any, str]:
        """The file system of the bucket, and the path in it."""
        scheme, bucket, *names = self.parts
        with translate_bucket_errors(self):
            system, base = open_file_system(f"{scheme}//{bucket}")
        # Azure's base ends with a slash.
        return system, "/".join([base.rstrip("/"), *names])

    @property
    def parents(self) -> Sequence[Self]:
        """The folders that it is in, and the bucket."""
        return super().parents[:-2]

    def exists(self, *, follow_symlinks: bool = True) -> bool:
        """Whether there is such a file or folder."""
        return bool(self._info().type.value)

    def is_file(self) -> bool:
        """Whether there is such a file."""
        return bool(self._info().is_file)

    def _info(self) -> Any:
        system, path = self.located
        with translate_bucket_errors(self):
            return system.get_file_info(path)

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Return what is known of the file, which is its size and its time of change.

        Raises
        ------
        FileNotFoundError
            There is no such file.
        """
        info = self._info()
        if not info.is_file:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))
        fields = (
            0,
            0,
            0,
            0,
            0,
            0,
            info.size,
            0,
            0,
            0,
        )
        return os.stat_result(fields, {"st_mtime_ns": info.mtime_ns})

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Do nothing: a bucket has no folders of their own."""

    def resolve(self, strict: bool = False) -> Self:
        """Return the path itself: a bucket has no links."""
        return self

    def absolute(self) -> Self:
        """Return the path itself: a URL names the same everywhere."""
        return self

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove the file, or the folder with all that is in it, if it is there."""
        system, path = self.located
        files = [entry for entry, about in self.listing().items() if about.size is not None]
        try:
            with translate_bucket_errors(self):
                if files:
                    system.delete_dir(path)
                else:
                    system.delete_file(path)
        except (StoreError, FileNotFoundError):
            # A server may refuse to remove many at once, or the marker that Arrow puts in place of an empty folder.
            for file in files:
                file.unlink()
            if self.exists():
                raise

    def open(self, *_: Any, **__: Any) -> Any:
        """Open the file for reading bytes, at any place."""
        system, path = self.located
        with translate_bucket_errors(self):
            return system.open_input_file(path)

    def head(self, length: int = 0) -> FileHead:
        """Return the size of the file, its first bytes and its version: one request, or two.

        Raises
        ------
        StoreError
            The file is gone, or cannot be read.
        """
        try:
            with translate_bucket_errors(self), self.open() as file:
                return FileHead(file.size(), file.read(length), version_of(self, file))
        except FileNotFoundError as error:
            raise StoreError(
                str(self),
                "the file was removed while it was read",
                way_out="run the command again",
            ) from error

    def read_text(self, *_: Any, **__: Any) -> str:
        """Return all bytes, which are UTF-8."""
        with translate_bucket_errors(self), self.open() as file:
            return file.read().decode()

    def listing(self) -> dict[Self, ListedEntry]:
        """Return size and time of change of all entries of a folder and of its folders: a request for each thousand.

        Raises
        ------
        StoreError
            There is no such bucket, or it cannot be read.
        """
        from pyarrow.fs import FileSelector

        system, path = self.located
        try:
            with translate_bucket_errors(self):
                infos = system.get_file_info(FileSelector(path, recursive=True))
        # The bucket has no files of such names; a bucket that does not exist raises another error.
        except FileNotFoundError:
            return {}
        entries = {}
        for info in infos:
            name = PurePosixPath(info.path).relative_to(path)
            entries[self / name] = ListedEntry(info.size, info.mtime_ns)
        return entries

    def glob(self, pattern: str, **_: Any) -> Iterator[Self]:  # type: ignore[override]
        """Yield the entries of a folder that match a pattern without ``**``."""
        depth = len(self.parts) + pattern.count("/") + 1
        for path in self.listing():
            if len(path.parts) == depth and path.match(pattern):
                yield path


def version_of(path: RemotePath, file: Any) -> str:
    """Return what identifies this version of an open file: a digest of its URL, size, time and ETag."""
    metadata = sorted(file.metadata().items())
    facts = (str(path), file.size(), *metadata)
    return short_digest(repr(facts))


def short_digest(text: str) -> str:
    """Return a short digest of a text, which can be a file name."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def open_file_system(url: str) -> tuple[Any, str]:
    """Return Arrow's file system of a bucket, and the bucket's path in it."""
    # Imported late: a command on files of this machine does not need it.
    from pyarrow.fs import FileSystem

    # Without a network, Arrow retries for a quarter of an hour with Google; with Amazon for seconds.
    is_google = url.startswith("gs:")
    return FileSystem.from_uri(f"{url}?retry_limit_seconds=20" if is_google else url)


@contextmanager
def translate_bucket_errors(place: Path) -> Iterator[None]:
    """Turn what a library says of a bucket into one line that names the place and the way out.

    Raises
    ------
    StoreError
        No such bucket, no access, no network. DuckDB repeats Arrow's errors in errors of its own.
    """
    try:
        yield
    except Exception as error:
        code = _bucket_code(error)
        if code is None:
            raise
        fault = next(fault for start, fault in _FAULTS.items() if code.startswith(start))
        raise StoreError(str(place), fault.what, got=code, way_out=fault.way_out) from error


def _bucket_code(error: Exception) -> str | None:
    """Return the code of a server, or what Arrow says of a bucket; None for any other error."""
    # The code alone: what a server says may repeat parts of the request. A HEAD has a status in its place.
    match = re.search(
        r"A(?:WS|zure) Error:? (?:UNKNOWN \(|\[)?(HTTP status \d+|\w*)",
        str(error),
    )
    if match:
        return match[1] or "NETWORK_CONNECTION"
    # An OSError with a number is about a file of this machine, or one that does not exist.
    is_unnumbered = isinstance(error, OSError) and error.errno is None
    if is_unnumbered or type(error).__name__ == "ArrowException":
        return first_line(error)[:60]
    return None


@contextmanager
def expect_unchanged(place: RemotePath, besides: Path | None = None) -> Iterator[None]:
    """Refuse what was read from a folder of a bucket in which anything has changed meanwhile.

    Parameters
    ----------
    place
        The folder.
    besides
        A folder below it that may change: what is read there is compared by those who read it.

    Raises
    ------
    StoreError
        In place of any other error: a mixture of two versions looks like a damaged file. Or the bucket cannot be read.
    """
    before = _listing_besides(place, besides)
    try:
        with translate_bucket_errors(place):
            yield
    finally:
        if _listing_besides(place, besides) != before:
            raise StoreError(
                str(place),
                "the bucket has changed meanwhile",
                way_out="run the command again when nobody writes there",
            )


def _listing_besides(place: RemotePath, besides: Path | None) -> dict[RemotePath, ListedEntry]:
    entries = place.listing()
    if besides is None:
        return entries
    return {path: about for path, about in entries.items() if not path.is_relative_to(besides)}
