"""Bytes of a raw file, decompressed and hashed in one pass."""

from __future__ import annotations

import hashlib
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from isal import igzip, isal_zlib

from borgtrace.errors import SourceError

READ_SIZE = 1 << 18
_DAMAGE: tuple[type[Exception], ...] = (igzip.BadGzipFile, isal_zlib.error, zlib.error)  # type: ignore[assignment]


class HashingReader(io.RawIOBase):
    """A file that hashes what is read from it; gzip and plain readers sit on top."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)
        self.digest = hashlib.sha256()

    def readable(self) -> bool:
        """Return True: it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into `buffer`, hashing the bytes on their way."""
        count = self._file.readinto(buffer) or 0
        self.digest.update(memoryview(buffer)[:count])
        return count

    def close(self) -> None:
        """Close the file below."""
        self._file.close()
        super().close()

    def hexdigest(self) -> str:
        """Read what is left, and return the SHA-256 of the whole file."""
        while self.read(READ_SIZE):
            pass
        return self.digest.hexdigest()


@contextmanager
def open_stream(path: Path, *, is_gzip: bool) -> Iterator[tuple[BinaryIO, HashingReader]]:
    """Yield the decompressed stream of a file and the reader that hashes its raw bytes.

    Raises
    ------
    SourceError
        When the file cannot be opened, or its gzip data are truncated or damaged.
    """
    with _as_source_error(path):
        raw = HashingReader(path)
        buffered = io.BufferedReader(raw, READ_SIZE)
        stream = igzip.GzipFile(fileobj=buffered, mode="rb") if is_gzip else buffered
        try:
            yield stream, raw
        finally:
            stream.close()
            raw.close()


@contextmanager
def _as_source_error(path: Path) -> Iterator[None]:
    try:
        yield
    except EOFError as error:
        raise SourceError(str(path), "gzip data end early: the file is truncated", way_out="fetch it again") from error
    except _DAMAGE as error:
        raise SourceError(str(path), f"gzip data are damaged ({error})", way_out="fetch it again") from error
    except PermissionError as error:
        raise SourceError(str(path), "permission denied", way_out="make the file readable") from error


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
