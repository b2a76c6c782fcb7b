"""Compressed output files: gzip without a time stamp, so that equal content gives equal bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from isal import isal_zlib

LEVEL: Final = 1
_GZIP: Final = 31


class GzipFile:
    """A gzip file that is written once, in pieces; closes with its SHA-256 known.

    Parameters
    ----------
    path
        The file; its folder is made when needed.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.digest = hashlib.sha256()
        self._file = path.open("wb")
        self._stream = isal_zlib.compressobj(LEVEL, isal_zlib.DEFLATED, _GZIP)

    def write(self, data: bytes | memoryview) -> None:
        """Compress and append `data`."""
        self._put(self._stream.compress(data))

    def _put(self, data: bytes) -> None:
        self.digest.update(data)
        self._file.write(data)

    def close(self) -> str:
        """Finish the file and return its SHA-256 as hex."""
        self._put(self._stream.flush())
        self._file.close()
        return self.digest.hexdigest()


def write_gzip(path: Path, blocks: Iterable[bytes | memoryview]) -> str:
    """Write a whole gzip file from blocks; return its SHA-256 as hex."""
    file = GzipFile(path)
    for block in blocks:
        file.write(block)
    return file.close()
