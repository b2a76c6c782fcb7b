"""Compressed output files: gzip without a time stamp, so that equal content gives equal bytes.

A file may consist of segments that were compressed separately, by several threads: each ends on a byte
boundary (full flush), and their checksums combine, so the result is one ordinary gzip member.
"""

import hashlib
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isal import isal_zlib

LEVEL = isal_zlib.ISAL_DEFAULT_COMPRESSION
# Raw deflate with the largest window: header and trailer are ours, because several segments share them.
_RAW = -15
# No modification time, no name, no flags, unknown system: nothing that differs from one run or machine to the next.
_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
# An empty last block; every segment before it ends in blocks that are not the last.
_END = b"\x03\x00"


@dataclass(frozen=True, slots=True)
class CompressedBlock:
    """Compressed bytes that end on a byte boundary, with checksum and size of the uncompressed bytes."""

    data: bytes
    crc: int
    size: int


class Deflater:
    """Compresses blocks of bytes (anything with the buffer protocol) to one segment."""

    def __init__(self) -> None:
        self._stream = isal_zlib.compressobj(LEVEL, isal_zlib.DEFLATED, _RAW)
        self._pieces: list[bytes] = []
        self._crc = 0
        self._size = 0

    def write(self, block: Any) -> None:
        """Compress one block; it may be overwritten afterward."""
        view = memoryview(block)
        self._pieces.append(self._stream.compress(view))
        self._crc = isal_zlib.crc32(view, self._crc)
        self._size += view.nbytes

    def close(self) -> CompressedBlock:
        """Finish and return the segment."""
        # A full flush also resets the window, so that the next segment may be appended without knowing this one.
        self._pieces.append(self._stream.flush(isal_zlib.Z_FULL_FLUSH))
        return CompressedBlock(b"".join(self._pieces), self._crc, self._size)


def compressed(text: str) -> CompressedBlock:
    """Compress a text to one segment."""
    deflater = Deflater()
    deflater.write(text.encode())
    return deflater.close()


class GzipFile:
    """A gzip file that is written once, segment by segment.

    Parameters
    ----------
    path
        The file; its folder is made when needed.

    Examples
    --------
    >>> import gzip, tempfile
    >>> file = GzipFile(Path(tempfile.mkdtemp()) / "a.gz")
    >>> file.append(compressed("one,"))
    >>> file.append(compressed("two"))
    >>> len(file.close()), gzip.decompress(file.path.read_bytes())
    (64, b'one,two')
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._digest = hashlib.sha256()
        self._file = path.open("wb")
        self._crc = 0
        self._size = 0
        self._put(_HEADER)

    def append(self, segment: CompressedBlock) -> None:
        """Append one segment."""
        self._put(segment.data)
        self._crc = isal_zlib.crc32_combine(self._crc, segment.crc, segment.size)
        self._size += segment.size

    def _put(self, data: bytes) -> None:
        self._digest.update(data)
        self._file.write(data)

    def close(self) -> str:
        """Finish the file and return its SHA-256 as hex."""
        # The trailer holds the size modulo 2³² (RFC 1952).
        trailer = struct.pack("<II", self._crc, self._size & 0xFFFFFFFF)
        self._put(_END + trailer)
        self._file.close()
        return self._digest.hexdigest()
