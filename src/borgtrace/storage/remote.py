"""Files of a bucket as paths: what `pathlib` offers of files that are read, over pyarrow.fs.

Which account reads is for the usual environment to say (``AWS_ACCESS_KEY_ID``, ``AWS_PROFILE``, ``AWS_ENDPOINT_URL``;
the default credentials of Google and Azure): a URL names a place, and is printed.
"""

import errno
import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path, PosixPath, PurePosixPath
from typing import Any, Self

from borgtrace.errors import StoreError, first_line

# At least two letters: a single one is a drive of Windows.  One slash: a `Path` keeps no second one.
SCHEME = re.compile(r"^([a-z][a-z0-9+.-]+):/+", re.IGNORECASE)
_KEYS = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, to an account that may do this"
_AZURE = "set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, or run az login"
_LATER = "run the command again later"
_FAULTS = {
    "NO_SUCH_BUCKET": ("there is no such bucket", "check its name, and AWS_ENDPOINT_URL"),
    "ACCESS_DENIED": ("access denied", _KEYS),
    "INVALID_ACCESS_KEY_ID": ("access denied", _KEYS),
    "SIGNATURE_DOES_NOT_MATCH": ("access denied", _KEYS),
    "NETWORK_CONNECTION": ("it cannot be reached", "check the network, and AWS_ENDPOINT_URL"),
    "ContainerNotFound": ("there is no such container", "check its name and the account"),
    "Auth": ("access denied", _AZURE),
    "SLOW_DOWN": ("the server is busy", _LATER),
    "INTERNAL_FAILURE": ("the server fails", _LATER),
    "HTTP status 5": ("the server fails", _LATER),
    "": ("it cannot be read", "check its name, the account and the network"),
}


class RemotePath(PosixPath):
    """A file or folder of a bucket, which is read; see :mod:`borgtrace.storage.outputs` for what is written there."""

    __slots__ = ()

    def __str__(self) -> str:
        return SCHEME.sub(r"\1://", super().__str__())

    @property
    def located(self) -> tuple[Any, str]:
        """The file system of the bucket, and the path in it."""
        with told(self):
            system, base = _bucket(f"{self.parts[0]}//{self.parts[1]}")
        # Of Azure the base ends with a slash.
        return system, "/".join([base.rstrip("/"), *self.parts[2:]])

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
        with told(self):
            return system.get_file_info(path)

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Return what is known of the file, which is its size and its time of change.

        Raises
        ------
        FileNotFoundError
            There is no such file.
        """
        found = self._info()
        if not found.is_file:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))
        return os.stat_result((0,) * 6 + (found.size, 0, 0, 0), {"st_mtime_ns": found.mtime_ns})

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Do nothing: a bucket has no folders of their own."""

    def resolve(self, strict: bool = False) -> Self:
        """Return the path: nothing leads elsewhere in a bucket."""
        return self

    def absolute(self) -> Self:
        """Return itself: a URL names the same everywhere."""
        return self

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove the file, or the folder with all that is in it, if it is there."""
        (system, path), inside = (
            self.located,
            [one for one, (size, _) in self.listing().items() if size is not None],
        )
        try:
            with told(self):
                (system.delete_dir if inside else system.delete_file)(path)
        except (StoreError, FileNotFoundError):
            # A server may refuse to remove many at once, or the marker that Arrow puts in place of an empty folder.
            for one in inside:
                one.unlink()
            if self.exists():
                raise

    def open(self, *_: Any, **__: Any) -> Any:
        """Open the file for reading bytes, at any place."""
        system, path = self.located
        with told(self):
            return system.open_input_file(path)

    def head(self, length: int = 0) -> tuple[int, bytes, str]:
        """Return the size of the file, its first bytes and its version: one request, or two.

        Raises
        ------
        StoreError
            There is no such file any more, or it cannot be read.
        """
        try:
            with told(self), self.open() as file:
                return file.size(), file.read(length), version_of(self, file)
        except FileNotFoundError as error:
            what, way_out = "the file was removed while it was read", "run the command again"
            raise StoreError(str(self), what, way_out=way_out) from error

    def read_text(self, *_: Any, **__: Any) -> str:
        """Return all bytes, which are UTF-8."""
        with told(self), self.open() as file:
            return file.read().decode()

    def listing(self) -> dict[Self, tuple[int | None, int]]:
        """Return size and time of change of all that is in a folder and in its folders: a request for each thousand.

        Folders have no size.

        Raises
        ------
        StoreError
            There is no such bucket, or it cannot be read.
        """
        from pyarrow.fs import FileSelector

        system, path = self.located
        try:
            with told(self):
                found = system.get_file_info(FileSelector(path, recursive=True))
        # A bucket without files of such names; one that is not there has an error of its own.
        except FileNotFoundError:
            return {}
        return {
            self / PurePosixPath(each.path).relative_to(path): (each.size, each.mtime_ns)
            for each in found
        }

    def glob(self, pattern: str, **_: Any) -> Iterator[Self]:  # type: ignore[override]
        """Yield what a pattern without ``**`` finds in a folder."""
        depth = len(self.parts) + pattern.count("/") + 1
        yield from (
            path for path in self.listing() if len(path.parts) == depth and path.match(pattern)
        )


def version_of(path: RemotePath, file: Any) -> str:
    """Return what tells this version of an open file from others: a digest of its URL, size, time and ETag."""
    return key(repr((str(path), file.size(), *sorted(file.metadata().items()))))


def key(text: str) -> str:
    """Return a short digest of a text, which can be a name."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def readable(path: Path) -> Any:
    """Return what Arrow reads: the path, or the opened file of a bucket, for whose URL it would make another client."""
    return path.open() if isinstance(path, RemotePath) else path


@cache
def _bucket(url: str) -> tuple[Any, str]:
    # Inside: a command on files of this machine does not need it.
    from pyarrow.fs import FileSystem

    # Arrow asks Google again for a quarter of an hour, where there is no network; Amazon for seconds.
    return FileSystem.from_uri(f"{url}?retry_limit_seconds=20" if url.startswith("gs:") else url)


@contextmanager
def told(place: Path) -> Iterator[None]:
    """Turn what a library says of a bucket into one line that names the place and the way out.

    Raises
    ------
    StoreError
        No such bucket, no access, no network.  DuckDB repeats in errors of its own what Arrow says.
    """
    try:
        yield
    except Exception as error:
        if (code := _code(error)) is None:
            raise
        what, way_out = next(said for known, said in _FAULTS.items() if code.startswith(known))
        raise StoreError(str(place), what, got=code, way_out=way_out) from error


def _code(error: Exception) -> str | None:
    """Return what a server or Arrow says of a bucket; None for any other error."""
    # The code alone: what a server says may repeat parts of the request.  A HEAD has a status in its place.
    if found := re.search(
        r"A(?:WS|zure) Error:? (?:UNKNOWN \(|\[)?(HTTP status \d+|\w*)", str(error)
    ):
        return found[1] or "NETWORK_CONNECTION"
    # With a number it is about a file of this machine, or one that is not there.
    is_of_arrow = type(error).__name__ == "ArrowException" or (
        isinstance(error, OSError) and error.errno is None
    )
    return first_line(error)[:60] if is_of_arrow else None


@contextmanager
def unchanged(place: RemotePath) -> Iterator[None]:
    """Refuse what was read of a folder of a bucket in which anything has changed meanwhile.

    Raises
    ------
    StoreError
        In place of any other error: files of two versions read as damaged ones.  Or the bucket cannot be read.
    """
    before = place.listing()
    try:
        with told(place):
            yield
    finally:
        if place.listing() != before:
            way_out = "run the command again when nobody writes there"
            raise StoreError(str(place), "the bucket has changed meanwhile", way_out=way_out)
