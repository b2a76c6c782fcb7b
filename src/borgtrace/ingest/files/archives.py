"""Archives: the files in them, and the bytes of each, without unpacking anything onto the disk."""

import io
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from borgtrace.errors import SourceError
from borgtrace.ingest.files.packing import DAMAGE, packing_of, unpacked
from borgtrace.storage import open_regular

Archive = Literal["", "zip", "tar"]
"""Kinds of archives; empty for none."""

MOST_MEMBERS = 100_000
"""Files in an archive: more are no trace that anybody packs."""
_ZIP_MAGIC = b"PK\x03\x04"
_TAR_MAGIC = b"ustar"
_TAR_MAGIC_AT = 257
# What a workbook or a document of an office program is: a zip of parts that mean nothing alone.
_OFFICE_PART = "[Content_Types].xml"


_BAD_ARCHIVE: tuple[type[Exception], ...] = (
    zipfile.BadZipFile,
    tarfile.TarError,
    EOFError,
    # A compression or an encryption that Python does not know.
    NotImplementedError,
    *DAMAGE,
)


class Member(NamedTuple):
    """One file of an archive: its name there, its bytes, and as how many it is packed."""

    name: str
    size: int
    packed_size: int


def archive_of(head: bytes) -> Archive:
    r"""Return which archive a file is whose plain bytes begin with `head`.

    Examples
    --------
    >>> archive_of(b"PK\x03\x04more"), archive_of(b"task,time,cpu")
    ('zip', '')
    """
    if head.startswith(_ZIP_MAGIC):
        return "zip"
    if head[_TAR_MAGIC_AT : _TAR_MAGIC_AT + len(_TAR_MAGIC)] == _TAR_MAGIC:
        return "tar"
    return ""


def members(path: Path, archive: Archive) -> list[Member]:
    """Return the files in an archive, in the order in which they lie there.

    Parameters
    ----------
    path
        The archive, on this machine.
    archive
        What it is.

    Raises
    ------
    SourceError
        It is damaged, encrypted, or has more than `MOST_MEMBERS` files.

    Notes
    -----
    A tar that is compressed as a whole is read to its end.
    """
    listed = []
    for member in _members(path, archive):
        listed.append(member)
        if len(listed) > MOST_MEMBERS:
            raise SourceError(
                str(path),
                "too many files in one archive",
                expected=f"at most {MOST_MEMBERS:,}",
                way_out="unpack it, and name the folder",
            )
    return listed


def is_document(members: list[Member]) -> bool:
    """Return whether the members of a zip are parts of one document, such as a workbook."""
    return any(member.name == _OFFICE_PART for member in members)


def _members(path: Path, archive: Archive) -> Iterator[Member]:
    try:
        if archive == "zip":
            with open_regular(path) as file, zipfile.ZipFile(file) as opened:
                for info in opened.infolist():
                    if info.flag_bits & 1:
                        raise _encrypted(path, info.filename)
                    if not info.is_dir():
                        yield Member(info.filename, info.file_size, info.compress_size)
            return
        with open_regular(path) as file, _open_tar(file) as opened_tar:
            for entry in opened_tar:
                # Links and devices hold nothing of their own.
                if entry.isfile():
                    yield Member(entry.name, entry.size, entry.size)
    except _BAD_ARCHIVE as error:
        raise _damaged(path, archive, error) from error


def _open_tar(file: BinaryIO) -> tarfile.TarFile:
    packing = packing_of(file.peek(8)[:8])  # type: ignore[attr-defined]
    # A stream, read once from its start: its members are not looked for in a compressed file by going back.
    return tarfile.open(fileobj=unpacked(file, packing), mode="r|")


@contextmanager
def open_member(path: Path, archive: Archive, name: str) -> Iterator[BinaryIO]:
    """Yield the bytes of one file of an archive.

    Parameters
    ----------
    path, archive
        The archive on this machine, and what it is.
    name
        The file's name there.

    Raises
    ------
    SourceError
        The archive is damaged, or holds no such file any more.

    Notes
    -----
    In a zip the file is found at once; a tar is read up to it.
    """
    try:
        if archive == "zip":
            with (
                open_regular(path) as file,
                zipfile.ZipFile(file) as opened,
                opened.open(name) as member,
            ):
                yield io.BufferedReader(member)  # type: ignore[type-var]
            return
        with open_regular(path) as file, _open_tar(file) as opened_tar:
            for entry in opened_tar:
                content = opened_tar.extractfile(entry) if entry.name == name else None
                if content is not None and entry.isfile():
                    yield content  # type: ignore[misc]
                    return
            raise KeyError(name)
    except KeyError as error:
        raise SourceError(
            str(path), "no such file in the archive", got=name, way_out="name it again"
        ) from error
    except _BAD_ARCHIVE as error:
        raise _damaged(path, archive, error) from error


def _damaged(path: Path, archive: Archive, error: Exception) -> SourceError:
    return SourceError(
        str(path),
        f"the {archive} archive is damaged or of a kind that is not read ({error})",
        way_out="fetch it again, or unpack it yourself and name the files",
    )


def _encrypted(path: Path, name: str) -> SourceError:
    return SourceError(
        str(path),
        "a file of the archive is encrypted",
        got=name,
        way_out="unpack it with its password, and name the files",
    )
