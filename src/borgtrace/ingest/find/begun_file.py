"""The first bytes of a file, and of each file in an archive: decompressed, and in UTF-8."""

import codecs
import os
from codecs import BOM_UTF8
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from isal import isal_zlib

from borgtrace.errors import SourceError
from borgtrace.ingest.files.archives import Member, archive_of, is_document, members
from borgtrace.ingest.files.encodings import encoding_of, unmarked_utf16
from borgtrace.ingest.files.lines_above import lines_above_header
from borgtrace.ingest.files.packing import DAMAGE, damaged, packing_of
from borgtrace.ingest.files.raw_file import RawFile
from borgtrace.ingest.files.streams import foreign_byte, open_stream
from borgtrace.ingest.find.beside_data import is_beside_data, may_be_beside_data
from borgtrace.storage import (
    NotRegularError,
    RemotePath,
    describe_kind,
    open_regular,
    refuse_shortage,
)
from borgtrace.storage.sparse_copy import local_copies

HEAD = 1 << 16
"""Bytes of a file that are looked at before it is known what it is."""
PACKED_HEAD = HEAD // 4
"""Of a packed file in a bucket: as much text, while of a trace of small files it is less of what there is."""
_UTF32_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
EXPECTED = "a file of a published format, or a table with columns such as task, time and cpu"


class BegunFile(NamedTuple):
    """A raw file, and its first plain bytes."""

    file: RawFile
    head: bytes


def begun_files(path: Path) -> list[BegunFile]:
    """Return the file of a path, or the files in it where it is an archive, each with its first bytes.

    Raises
    ------
    SourceError
        When it is empty, unreadable, or damaged at its start.
    """
    opened = _open(path)
    packing = packing_of(opened.head)
    file = RawFile(path, packing=packing, size=opened.size, version=opened.version)
    head = _unpacked_head(file, opened.head)
    archive = archive_of(head)
    if archive:
        (local_path,) = local_copies([path])
        listed = members(Path(local_path), archive)
        if not is_document(listed):
            data = [member for member in listed if member.size and not is_beside_data(member.name)]
            return _begun_members(file, data)
    return [_decoded(file, head)]


def _begun_members(archive: RawFile, members_with_data: Sequence[Member]) -> list[BegunFile]:
    begun = []
    for member in members_with_data:
        try:
            begun.append(_begun_member(archive, member))
        except SourceError:
            # A description that cannot be read keeps nothing else from being read.
            if not may_be_beside_data(member.name):
                raise
    return begun


def _begun_member(archive: RawFile, member: Member) -> BegunFile:
    stored = replace(archive, member=member.name, size=member.packed_size, packing="")
    packing = packing_of(_read_head(stored))
    file = replace(stored, packing=packing)
    return _decoded(file, _read_head(file))


def _decoded(file: RawFile, head: bytes) -> BegunFile:
    """Return a file with its encoding, and its first bytes in UTF-8."""
    if head.startswith(_UTF32_MARKS):
        raise SourceError(
            file.label,
            "UTF-32 is not read",
            expected="UTF-8",
            way_out="write it as UTF-8: iconv -f UTF-32 -t UTF-8",
        )
    encoding = encoding_of(head)
    unmarked = unmarked_utf16(head) if encoding == "utf-8" else ""
    if unmarked:
        raise SourceError(
            file.label,
            "UTF-16 without a byte order mark",
            expected="UTF-8",
            way_out=f"write it as UTF-8: iconv -f {unmarked} -t UTF-8",
        )
    text = head
    if encoding != "utf-8":
        # The last character may be cut.
        text = codecs.getincrementaldecoder(encoding)("replace").decode(head).encode()
    text = text.removeprefix(BOM_UTF8)
    above = lines_above_header(text)
    begun = replace(
        file,
        encoding=encoding,
        skipped_bytes=above.n_bytes,
        skipped_lines=above.n_lines,
    )
    return BegunFile(begun, text[above.n_bytes :])


def in_its_encoding(begun: BegunFile) -> BegunFile:
    """Return a file of one's own that was begun as UTF-8 in the encoding that its bytes tell.

    Parameters
    ----------
    begun
        The file; a damaged one stays as it is.
    """
    file = begun.file
    # To look through a file of a bucket is to fetch it: a foreign byte in it refuses its row.
    is_far = isinstance(file.path, RemotePath) and file.copy is None
    if file.encoding != "utf-8" or is_far:
        return begun
    foreign = foreign_byte(file)
    if foreign is None:
        return begun
    remark = (
        f"byte 0x{foreign.byte:02X} in line {foreign.line + file.skipped_lines:,} is no UTF-8: "
        "the text is read as Windows-1252 (Latin-1)"
    )
    # Above its header, which the marks of comments end, cp1252 may be longer in UTF-8.
    decoded = replace(file, encoding="cp1252", remark=remark, skipped_bytes=0, skipped_lines=0)
    with open_stream(decoded) as stream:
        head = stream.read(HEAD)
    above = lines_above_header(head)
    decoded = replace(decoded, skipped_bytes=above.n_bytes, skipped_lines=above.n_lines)
    return BegunFile(decoded, head[above.n_bytes :])


def _unpacked_head(file: RawFile, head: bytes) -> bytes:
    if not file.packing:
        return head
    if file.packing == "gzip":
        return _inflate(file, head)
    return _read_head(file)


def _read_head(file: RawFile) -> bytes:
    with open_stream(file) as stream:
        return stream.read(HEAD)


class _OpenedFile(NamedTuple):
    """The size of a file, its first bytes, and the version that a bucket gives it."""

    size: int
    head: bytes
    version: str


def _open(path: Path) -> _OpenedFile:
    if isinstance(path, RemotePath):
        return _OpenedFile(*path.head(PACKED_HEAD if path.suffix == ".gz" else HEAD))
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            return _OpenedFile(size, file.read(HEAD), "")
    except NotRegularError as error:
        raise SourceError(
            str(path),
            "not a file",
            expected=EXPECTED,
            got=describe_kind(path.stat().st_mode),
            way_out="remove it, or name the file itself",
        ) from error
    except PermissionError as error:
        raise SourceError(
            str(path),
            "permission denied",
            way_out="make the file readable",
        ) from error
    except FileNotFoundError as error:
        raise SourceError(
            str(path),
            "a link to a file that is not there",
            way_out="remove it, or correct it",
        ) from error
    except OSError as error:  # a link to itself, a disk that fails
        refuse_shortage(error, path)
        raise SourceError(
            str(path),
            f"cannot be read ({error.strerror})",
            way_out="remove it, or correct it",
        ) from error


def _inflate(file: RawFile, head: bytes) -> bytes:
    try:
        # At most so many bytes: a file of zeros would otherwise fill memory before it is found to be no trace.
        return isal_zlib.decompressobj(wbits=31).decompress(head, 4 * HEAD)
    except DAMAGE as error:
        raise damaged(file.label, file.packing, error) from error
