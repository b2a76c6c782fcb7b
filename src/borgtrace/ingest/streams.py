"""Bytes of a raw file, decompressed."""

from __future__ import annotations

import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from isal import igzip, isal_zlib

from borgtrace.errors import SourceError
from borgtrace.ingest.sources import Source

READ_SIZE = 1 << 18
DAMAGE: tuple[type[Exception], ...] = (igzip.BadGzipFile, isal_zlib.error, zlib.error)  # type: ignore[assignment]
"""What damaged gzip data raise."""


@contextmanager
def open_stream(source: Source) -> Iterator[BinaryIO]:
    """Yield the decompressed stream of a file.

    Raises
    ------
    SourceError
        When the file cannot be opened, or its gzip data are truncated or damaged.
    """
    path = source.path
    try:
        with path.open("rb", buffering=READ_SIZE) as raw:
            # ISA-L inflates faster than zlib and DuckDB do, and verifies the checksum at the end.
            yield igzip.GzipFile(fileobj=raw, mode="rb") if source.is_gzip else raw
    except EOFError as error:
        raise SourceError(str(path), "gzip data ends early: the file is truncated", way_out="fetch it again") from error
    except DAMAGE as error:
        raise damaged(path, error) from error
    except PermissionError as error:
        raise SourceError(str(path), "permission denied", way_out="make the file readable") from error


@contextmanager
def open_lines(source: Source) -> Iterator[BinaryIO]:
    """Yield the decompressed data lines of a file; a header is skipped."""
    with open_stream(source) as stream:
        if source.has_header:
            stream.readline()
        yield stream


@contextmanager
def plain_file(source: Source) -> Iterator[Path]:
    """Yield the path of a file that is not compressed: the file itself, or a copy of it in the temporary directory.

    For readers that take no stream: Parquet is read from its end, and DuckDB takes a path.

    Raises
    ------
    SourceError
        When its gzip data are truncated or damaged.
    """
    if not source.is_gzip:
        yield source.path
        return
    with tempfile.NamedTemporaryFile(prefix="borgtrace-") as copy:
        with open_stream(source) as stream:
            shutil.copyfileobj(stream, copy, READ_SIZE)
        copy.flush()
        yield Path(copy.name)


def damaged(path: Path, error: Exception) -> SourceError:
    """Return the error for damaged gzip data."""
    return SourceError(str(path), f"gzip data is damaged ({error})", way_out="fetch it again")
