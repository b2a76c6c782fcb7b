"""Bytes of a raw file: decompressed, without a byte order mark, in lines of bounded length."""

import io
import shutil
import tempfile
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
from isal import igzip, isal_zlib

from borgtrace.errors import SourceError
from borgtrace.ingest.files.limits import ExpandedStream
from borgtrace.ingest.files.sources import Source
from borgtrace.storage import open_regular, scratch_folder

READ_SIZE = 1 << 18
LONGEST_LINE = 1 << 24
"""Bytes of a line; the longest of the published traces has some thousands."""
_PATTERN_MARKS = frozenset("*?[")
"""DuckDB takes a path that has any of these for a pattern."""
DAMAGE: tuple[type[Exception], ...] = (igzip.BadGzipFile, isal_zlib.error, zlib.error)  # type: ignore[assignment]
"""What damaged gzip data raise."""


@contextmanager
def open_stream(source: Source) -> Iterator[BinaryIO]:
    """Yield the decompressed stream of a file, behind its byte order mark if it has one.

    Raises
    ------
    SourceError
        When the file cannot be opened, its data are truncated or damaged, or they expand beyond all reason.
    """
    path = source.path
    try:
        with open_regular(source.here, buffering=READ_SIZE) as raw:
            # ISA-L inflates faster than zlib and DuckDB do, and verifies the checksum at the end.
            stream: Any = igzip.GzipFile(fileobj=raw, mode="rb") if source.is_gzip else raw
            if source.is_zstd:
                stream = io.BufferedReader(
                    pa.CompressedInputStream(pa.PythonFile(raw), "zstd"),
                    READ_SIZE,
                )
            # Here, so that no reader meets it: some forgive it, and others take it for a part of the first field.
            if stream.peek(3)[:3] == BOM_UTF8:
                stream.read(3)
            is_packed = source.is_gzip or source.is_zstd
            yield ExpandedStream(stream, path, source.size) if is_packed else stream  # type: ignore[misc]
    except EOFError as error:
        raise SourceError(
            str(path),
            "gzip data ends early: the file is truncated",
            way_out="fetch it again",
        ) from error
    except DAMAGE as error:
        raise damaged(path, error) from error
    except PermissionError as error:
        raise SourceError(
            str(path),
            "permission denied",
            way_out="make the file readable",
        ) from error
    except OSError as error:
        if source.is_zstd and error.errno is None:
            raise SourceError(
                str(path),
                "zstd data is damaged or ends early",
                way_out="fetch it again",
            ) from error
        raise


def check_expansion(source: Source) -> None:
    """Decompress a file once to see that it ends, before it is read by what takes more time than that.

    Raises
    ------
    SourceError
        As `open_stream`.
    """
    if source.is_gzip or source.is_zstd:
        with open_stream(source) as stream:
            while stream.read(READ_SIZE):
                pass


@contextmanager
def open_lines(source: Source) -> Iterator[BinaryIO]:
    """Yield the decompressed data lines of a file; a header is skipped.

    Raises
    ------
    SourceError
        Where a line is longer than `LONGEST_LINE`, and whatever `open_stream` raises.
    """
    if source.format == "swf":
        # Its lines are taken apart in Python: of a hundred million empty ones that takes minutes.
        check_expansion(source)
    with open_stream(source) as stream:
        if source.has_header:
            stream.readline(LONGEST_LINE)
        lines = BoundedLines(stream, source.path)
        yield WorkloadLines(lines) if source.format == "swf" else lines  # type: ignore[misc]


class LineLengths:
    """Checks the blocks of a file for a line that is too long: a file without line ends would fill memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._open = 0

    def look(self, block: bytes) -> None:
        """Look at the next block.

        Raises
        ------
        SourceError
            Where a line is longer than `LONGEST_LINE`.
        """
        # From line end to line end in the longest steps that are allowed: a few searches, not one for each line.
        at = 0
        allowed = LONGEST_LINE - self._open
        while True:
            end = block.rfind(b"\n", at, at + allowed + 1)
            if end < 0:
                break
            at = end + 1
            allowed = LONGEST_LINE
        self._open = LONGEST_LINE - allowed + len(block) - at
        if self._open > LONGEST_LINE:
            raise SourceError(
                str(self._path),
                "a line is too long",
                expected="lines of at most 16 MiB",
                way_out="remove it, or fetch it again",
            )


class _Blocks(io.RawIOBase):
    """A stream of the blocks that `read` returns."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self.read(len(buffer)) or b""
        buffer[: len(block)] = block
        return len(block)


class BoundedLines(_Blocks):
    """A stream that refuses lines which are too long."""

    def __init__(self, stream: BinaryIO, path: Path) -> None:
        self._stream = stream
        self._lengths = LineLengths(path)

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        block = self._stream.read(size)
        self._lengths.look(block)
        return block


class WorkloadLines(_Blocks):
    """The lines of the Standard Workload Format as delimited ones: no comments, and a comma for blanks."""

    def __init__(self, stream: io.RawIOBase) -> None:
        self._lines = io.BufferedReader(stream, READ_SIZE)
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes of the delimited lines."""
        block = bytearray(self._rest)
        while size < 0 or len(block) < size:
            line = self._lines.readline(LONGEST_LINE)
            if not line:
                break
            # A comma would make two fields of one.
            fields = line.replace(b",", b";").split()
            # A comment, or a line without fields, is no row.
            if fields and not fields[0].startswith(b";"):
                block += b",".join(fields) + b"\n"
        end = len(block) if size < 0 else size
        self._rest = bytes(block[end:])
        return bytes(block[:end])


@contextmanager
def plain_file(source: Source) -> Iterator[Path]:
    """Yield the path of a file as it is to be read: the file itself, or a plain copy in the temporary directory.

    For readers that take no stream: Parquet is read from its end, and DuckDB takes a path, or a pattern of paths.

    Raises
    ------
    SourceError
        As `open_stream`.
    """
    is_packed = source.is_gzip or source.is_zstd
    is_pattern = bool(_PATTERN_MARKS & set(str(source.here)))
    if not (is_packed or is_pattern or _has_byte_order_mark(source.here)):
        yield source.here
        return
    with tempfile.NamedTemporaryFile(dir=scratch_folder()) as copy:
        with open_stream(source) as stream:
            shutil.copyfileobj(stream, copy, READ_SIZE)
        copy.flush()
        yield Path(copy.name)


def _has_byte_order_mark(path: Path) -> bool:
    with open_regular(path) as file:
        return file.read(3) == BOM_UTF8


def damaged(path: Path, error: Exception) -> SourceError:
    """Return the error for damaged gzip data."""
    return SourceError(str(path), f"gzip data is damaged ({error})", way_out="fetch it again")
