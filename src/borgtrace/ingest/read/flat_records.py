"""Own data as JSON, where each record holds single values: typed chunks, through delimited lines.

A record is cut out of its list, or its line, by a compiled kernel; what it cannot cut is read by the general parser.
"""

from collections.abc import Iterator, Sequence
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from borgtrace.ingest.files.blocks import Blocks
from borgtrace.ingest.files.partitions import partition_columns
from borgtrace.ingest.files.raw_layout import NeedsValidation, RawLayout
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.files.streams import open_stream
from borgtrace.ingest.read.delimited import typed_chunks
from borgtrace.ingest.read.record_scanner import (
    COMMA,
    DELIMITER,
    ENDED,
    LINE_END,
    UNKNOWN,
    scan_records,
)
from borgtrace.ingest.read.tables.monitoring_records import KEYS_OF_REPEATS

_BLOCK = 1 << 23
"""Bytes of JSON that become one batch; a record is no longer."""
_BLANKS = b" \t\n\r"
_MOST_KEYS = 64
"""Keys of a record whose places are remembered; the last of these places is that of all further ones."""


def read_listed_records(source: Source, layout: RawLayout) -> Iterator[pa.Table]:
    """Yield chunks of a file of JSON that is one list of flat records.

    Parameters
    ----------
    source
        The file.
    layout
        What a record holds.

    Raises
    ------
    NeedsValidation
        Where it is another kind of file or document, or a record is not flat, or its fields are not plain.
    SourceError
        Where the file cannot be read to its end.
    """
    # A column that a folder names is of no record.
    names_of_folders = set(partition_columns(source)) & set(
        source.dialect.tables[source.table].names
    )
    if source.kind != "JSON" or source.inner or names_of_folders:
        raise NeedsValidation
    with open_stream(source) as stream:
        yield from _chunks(_BracketedRecords(stream, layout), layout)


def read_record_lines(source: Source, layout: RawLayout) -> Iterator[pa.Table]:
    """Yield chunks of a file of own data that has a flat record on each line.

    Parameters
    ----------
    source, layout
        As for `read_listed_records`.

    Raises
    ------
    NeedsValidation
        Where a record is not flat, or its fields are not plain.
    SourceError
        Where the file cannot be read to its end.
    """
    with open_stream(source) as stream:
        yield from _chunks(_RecordLines(stream, layout), layout)


def _chunks(lines: "_RecordLines", layout: RawLayout) -> Iterator[pa.Table]:
    are_outer = all(len(field.raw.path) == 1 for field in layout.fields)
    if not (layout.is_plain and are_outer) or layout.lists or layout.raw.spellings:
        raise NeedsValidation
    names = [field.name for field in layout.fields]
    yield from typed_chunks(lines, layout, names, chr(DELIMITER))  # type: ignore[arg-type]


class _RecordLines(Blocks):
    """The fields of a layout, tab-separated, of records that lie on a line each."""

    separator = LINE_END
    keys_of_repeats: Sequence[str] = ()

    def __init__(self, stream: BinaryIO, layout: RawLayout) -> None:
        self._stream = stream
        wanted = [field.raw.name for field in layout.fields]
        names = list(dict.fromkeys([*wanted, *self.keys_of_repeats]))
        encoded = [name.encode() for name in names]
        self._names = np.frombuffer(b"".join(encoded), np.uint8)
        self._name_ends = np.cumsum([len(name) for name in encoded])
        # A name may be empty: then there is none.
        must_not_be_empty = {field.raw.name for field in layout.fields if not field.is_name}
        self._may_be_empty = np.array([name not in must_not_be_empty for name in names])
        self._fields = np.array([names.index(name) for name in wanted])
        repeated = [names.index(name) for name in self.keys_of_repeats]
        self._repeated = np.array(repeated, np.int64)
        self._spans = np.empty((len(names), 2), np.int64)
        self._keys = np.empty((_MOST_KEYS, 3), np.int64)
        self._rest = b""
        self._has_begun = False
        self._is_over = False

    def read(self, size: int = -1) -> bytes:
        """Return the lines of the next block of records, however many bytes they have; empty at the end."""
        lines = b""
        while not (lines or self._is_over):
            block = self._stream.read(_BLOCK)
            text = self._rest + block
            if not self._has_begun:
                text = self._begun(text)
                self._has_begun = True
            text += b"" if block else self._end()
            lines = self._lines_of(text)
            if not block:
                self._finish()
        return lines

    def _begun(self, text: bytes) -> bytes:
        """Return what is behind the beginning of the records."""
        return text

    def _end(self) -> bytes:
        """Return what ends the last record: a last line may lack its line end."""
        return b"" if self._rest.endswith(b"\n") or not self._rest else b"\n"

    def _finish(self) -> None:
        if self._rest:
            raise NeedsValidation
        self._is_over = True

    def _lines_of(self, text: bytes) -> bytes:
        lines = np.empty(2 * len(text), np.uint8)
        status, consumed, written = scan_records(
            np.frombuffer(text, np.uint8),
            self.separator,
            self._names,
            self._name_ends,
            self._may_be_empty,
            self._fields,
            self._repeated,
            self._spans,
            self._keys,
            lines,
        )
        self._rest = text[consumed:]
        if status == UNKNOWN or len(self._rest) > _BLOCK:
            raise NeedsValidation
        if status == ENDED:
            self._require_end()
        return lines[:written].tobytes()

    def _require_end(self) -> None:
        """Require that nothing follows a list."""
        self._is_over = True
        while self._rest:
            if self._rest.strip(_BLANKS):
                raise NeedsValidation
            self._rest = self._stream.read(_BLOCK)


class _BracketedRecords(_RecordLines):
    """The fields of records in a list."""

    separator = COMMA
    keys_of_repeats = KEYS_OF_REPEATS

    def _begun(self, text: bytes) -> bytes:
        begun = text.lstrip(_BLANKS)
        if not begun.startswith(b"["):
            raise NeedsValidation
        return begun[1:]

    def _end(self) -> bytes:
        return b""

    def _finish(self) -> None:
        # The bracket is missing.
        raise NeedsValidation
