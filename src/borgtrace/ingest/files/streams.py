"""Bytes of a raw file: decompressed, without a byte order mark, in lines of bounded length."""

import hashlib
import io
import shutil
import tempfile
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from borgtrace.errors import SourceError
from borgtrace.ingest.files.archives import archive_of, open_member
from borgtrace.ingest.files.blocks import Blocks
from borgtrace.ingest.files.encodings import ForeignByte, ForeignByteSearch, Transcoded
from borgtrace.ingest.files.limits import ExpandedStream
from borgtrace.ingest.files.packing import DAMAGE, damaged, ends_early, packing_of, unpacked
from borgtrace.ingest.files.raw_file import RawFile
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.files.workload_lines import WorkloadLines
from borgtrace.storage import open_regular, scratch_folder
from borgtrace.store.digest import file_digest

READ_SIZE = 1 << 18
_BEGINNING = 1 << 25
"""Bytes from which the columns of a text are told: two of the longest lines."""
LONGEST_LINE = 1 << 24
"""Bytes of a line; the longest of the published traces has some thousands."""
_PATTERN_MARKS = frozenset("*?[")
"""DuckDB takes a path that has any of these for a pattern."""


@contextmanager
def open_stream(file: RawFile) -> Iterator[BinaryIO]:
    """Yield the plain stream of a file: out of its archive, decompressed, in UTF-8, behind its byte order mark.

    Raises
    ------
    SourceError
        When the file cannot be opened, its data are truncated or damaged, or they expand beyond all reason.
    """
    try:
        with _open_packed(file) as raw:
            stream: Any = unpacked(raw, file.packing)
            if file.packing or file.member:
                stream = ExpandedStream(stream, file.path, file.size)
            if file.encoding != "utf-8":
                stream = io.BufferedReader(Transcoded(stream, file.encoding), READ_SIZE)
            # Here, so that no reader meets it: some forgive it, and others take it for a part of the first field.
            if stream.peek(3)[:3] == BOM_UTF8:
                stream.read(3)
            if file.skipped_bytes:
                stream.read(file.skipped_bytes)
            yield stream
    except EOFError as error:
        raise ends_early(file.label, file.packing) from error
    except DAMAGE as error:
        raise damaged(file.label, file.packing, error) from error
    except PermissionError as error:
        raise SourceError(
            file.label,
            "permission denied",
            way_out="make the file readable",
        ) from error
    except OSError as error:
        if file.packing and error.errno is None:
            raise SourceError(
                file.label,
                f"{file.packing} data is damaged or ends early",
                way_out="fetch it again",
            ) from error
        raise


@contextmanager
def _open_packed(file: RawFile) -> Iterator[BinaryIO]:
    """Yield the bytes of a file as they lie on the disk, or in its archive."""
    if not file.member:
        with open_regular(file.here, buffering=READ_SIZE) as raw:
            yield raw
        return
    with open_regular(file.here) as raw:
        head = unpacked(raw, packing_of(raw.peek(8)[:8])).read(512)
    with open_member(file.here, archive_of(head), file.member) as member:
        yield member


def source_digest(file: RawFile) -> str:
    """Return the SHA-256 of a file as it lies on the disk; of one in an archive, that of its own bytes.

    Parameters
    ----------
    file
        The file, on this machine.
    """
    if not file.member:
        return file_digest(file.here)
    digest = hashlib.sha256()
    with _open_packed(file) as stream:
        while block := stream.read(READ_SIZE):
            digest.update(block)
    return digest.hexdigest()


def foreign_byte(file: RawFile) -> ForeignByte | None:
    """Return the first byte of a file that tells its text is cp1252; None where it is UTF-8, damaged or not.

    Parameters
    ----------
    file
        The file.
    """
    search = ForeignByteSearch()
    with open_stream(file) as stream:
        while block := stream.read(READ_SIZE):
            search.look(block)
            if search.is_over:
                break
    return search.result()


def check_expansion(source: RawFile) -> None:
    """Decompress a file once to see that it ends, before it is read by what takes more time than that.

    Raises
    ------
    SourceError
        As `open_stream`.
    """
    if source.packing or source.member:
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
        # Its lines may be taken apart in Python: of a hundred million empty ones that takes minutes.
        check_expansion(source)
    with open_stream(source) as stream:
        if source.has_header:
            stream.readline(LONGEST_LINE)
        lines = BoundedLines(stream, source.path)
        yield WorkloadLines(lines, source.order) if source.format == "swf" else lines  # type: ignore[misc]


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


class BoundedLines(Blocks):
    """A stream that refuses lines which are too long."""

    def __init__(self, stream: BinaryIO, path: Path) -> None:
        self._stream = stream
        self._lengths = LineLengths(path)

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        block = self._stream.read(size)
        self._lengths.look(block)
        return block


@contextmanager
def plain_file(source: RawFile) -> Iterator[Path]:
    """Yield the path of a file as it is to be read: the file itself, or a plain copy in the temporary directory.

    For readers that take no stream: Parquet is read from its end, and DuckDB takes a path, or a pattern of paths.

    Raises
    ------
    SourceError
        As `open_stream`.
    """
    is_pattern = bool(_PATTERN_MARKS & set(str(source.here)))
    if source.is_plain and not (is_pattern or _has_byte_order_mark(source.here)):
        yield source.here
        return
    with tempfile.NamedTemporaryFile(dir=scratch_folder()) as copy:
        with open_stream(source) as stream:
            shutil.copyfileobj(stream, copy, READ_SIZE)
        copy.flush()
        yield Path(copy.name)


@contextmanager
def first_lines_file(source: RawFile) -> Iterator[Path]:
    """Yield the path of a file that has the first lines of a text: the file itself, or a plain copy of its beginning.

    Raises
    ------
    SourceError
        As `open_stream`.
    """
    if source.is_plain:
        with plain_file(source) as path:
            yield path
        return
    with tempfile.NamedTemporaryFile(dir=scratch_folder()) as copy:
        with open_stream(source) as stream:
            beginning = b""
            while len(beginning) < _BEGINNING and (block := stream.read(READ_SIZE)):
                beginning += block
        is_whole = len(beginning) < _BEGINNING
        end = len(beginning) if is_whole else beginning.rfind(b"\n") + 1
        copy.write(beginning[:end])
        copy.flush()
        yield Path(copy.name)


def _has_byte_order_mark(path: Path) -> bool:
    with open_regular(path) as file:
        return file.read(3) == BOM_UTF8
