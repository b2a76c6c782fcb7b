"""How a file is compressed, by its first bytes, and its stream of plain bytes."""

import bz2
import io
import lzma
import zlib
from typing import Any, BinaryIO, Literal

import pyarrow as pa
from isal import igzip, isal_zlib

from borgtrace.errors import SourceError

Packing = Literal["", "gzip", "zstd", "bz2", "xz", "lz4"]
"""How a file is compressed; empty where it is not."""

MAGIC: dict[bytes, Packing] = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bz2",
    b"\xfd7zXZ\x00": "xz",
    b"\x04\x22\x4d\x18": "lz4",
}
"""First bytes of each packing."""
ENDINGS = (".gz", ".zst", ".bz2", ".xz", ".lz4")
"""Endings of names of packed files, which say nothing about what is inside."""
DAMAGE: tuple[type[Exception], ...] = (
    igzip.BadGzipFile,  # type: ignore[assignment]
    isal_zlib.error,
    zlib.error,
    lzma.LZMAError,
)
"""What damaged data raise, beside an `OSError` without a number."""
_BUFFER = 1 << 18


def packing_of(head: bytes) -> Packing:
    """Return how a file that begins with some bytes is compressed.

    Examples
    --------
    >>> packing_of(b"BZh91AY&SY"), packing_of(b"task,time,cpu")
    ('bz2', '')
    """
    for magic, packing in MAGIC.items():
        if head.startswith(magic):
            return packing
    return ""


def unpacked(raw: BinaryIO, packing: Packing) -> BinaryIO:
    """Return the plain bytes of a stream.

    Parameters
    ----------
    raw
        The bytes as they lie on the disk.
    packing
        How they are compressed.
    """
    stream: Any = raw
    match packing:
        case "gzip":
            # ISA-L inflates faster than zlib and DuckDB do, and verifies the checksum at the end.
            stream = igzip.GzipFile(fileobj=raw, mode="rb")
        case "bz2":
            stream = bz2.BZ2File(raw)
        case "xz":
            stream = lzma.LZMAFile(raw)  # noqa: SIM115 - who opened the bytes below closes them
        case "zstd" | "lz4":
            inflated: Any = pa.CompressedInputStream(pa.PythonFile(raw), packing)
            stream = io.BufferedReader(inflated, _BUFFER)
    return stream


def ends_early(label: str, packing: Packing) -> SourceError:
    """Return the error for packed data that are truncated."""
    return SourceError(
        label,
        f"{packing} data ends early: the file is truncated",
        way_out="fetch it again",
    )


def damaged(label: str, packing: Packing, error: Exception) -> SourceError:
    """Return the error for packed data that are damaged."""
    return SourceError(
        label,
        f"{packing} data is damaged ({error})",
        way_out="fetch it again",
    )
