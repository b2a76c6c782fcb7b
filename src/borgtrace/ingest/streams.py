"""Bytes of a raw file, decompressed."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from isal import igzip, isal_zlib

from borgtrace.errors import SourceError

READ_SIZE = 1 << 18
DAMAGE: tuple[type[Exception], ...] = (igzip.BadGzipFile, isal_zlib.error, zlib.error)  # type: ignore[assignment]
"""What damaged gzip data raise."""


@contextmanager
def open_stream(path: Path, *, is_gzip: bool) -> Iterator[BinaryIO]:
    """Yield the decompressed stream of a file.

    Parameters
    ----------
    path
        The file.
    is_gzip
        Whether it is compressed, by its first bytes.

    Raises
    ------
    SourceError
        When the file cannot be opened, or its gzip data are truncated or damaged.
    """
    try:
        with path.open("rb", buffering=READ_SIZE) as raw:
            # ISA-L inflates faster than zlib and DuckDB do, and verifies the checksum at the end.
            yield igzip.GzipFile(fileobj=raw, mode="rb") if is_gzip else raw
    except EOFError as error:
        raise SourceError(str(path), "gzip data ends early: the file is truncated", way_out="fetch it again") from error
    except DAMAGE as error:
        raise damaged(path, error) from error
    except PermissionError as error:
        raise SourceError(str(path), "permission denied", way_out="make the file readable") from error


@contextmanager
def plain_file(path: Path, *, is_gzip: bool) -> Iterator[Path]:
    """Yield the path of a file that is not compressed: the file itself, or a copy of it in the temporary directory.

    For readers that take no stream: Parquet is read from its end, and DuckDB takes a path.

    Parameters
    ----------
    path
        The file.
    is_gzip
        Whether it is compressed, by its first bytes.

    Raises
    ------
    SourceError
        When its gzip data are truncated or damaged.
    """
    if not is_gzip:
        yield path
        return
    with tempfile.NamedTemporaryFile(prefix="borgtrace-") as copy:
        with open_stream(path, is_gzip=True) as stream:
            shutil.copyfileobj(stream, copy, READ_SIZE)
        copy.flush()
        yield Path(copy.name)


def damaged(path: Path, error: Exception) -> SourceError:
    """Return the error for damaged gzip data."""
    return SourceError(str(path), f"gzip data is damaged ({error})", way_out="fetch it again")


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
