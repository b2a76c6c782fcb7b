"""A file of a bucket as one of this machine, whose blocks are fetched when they are first needed.

The copy is sparse: it has the length of the file, and takes the disk of what was fetched.  It is kept in the user's
cache under the URL and what the server says of the file (size, time, ETag), so another version is another copy.
"""

import hashlib
import mmap
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from borgtrace.errors import StoreError
from borgtrace.storage.local import user_cache
from borgtrace.storage.remote import RemotePath, told
from borgtrace.storage.replacing import remove

BLOCK = 1 << 18
"""Bytes of a block: what arrives within a few milliseconds, the time that a request takes by itself."""
_PIECE = 1 << 23
"""Most bytes of one request, so that several share the line."""
_REQUESTS = 16

Index = npt.NDArray[np.int64]


class Blocks:
    """The copy of one file.

    Attributes
    ----------
    path
        The copy.  Bytes that were not asked for by `fetch` may be 0.
    """

    def __init__(self, remote: RemotePath) -> None:
        self.remote, self._file = remote, remote.open()
        self._said = _said(self._file)
        self.size: int = self._file.size()
        versions = user_cache() / "remote" / _key(str(remote))
        folder = versions / _key(repr(self._said))
        folder.mkdir(parents=True, exist_ok=True)
        for other in versions.iterdir():
            if other != folder:
                remove(other)
        self.path = folder / remote.name
        # One byte for each block, not one bit: processes that fetch different blocks write different bytes.
        with (folder / "fetched").open("ab") as flags, self.path.open("ab") as copy:
            flags.truncate(max(1, -(-self.size // BLOCK)))
            copy.truncate(self.size)
        with (folder / "fetched").open("r+b") as flags:
            self._has = np.frombuffer(mmap.mmap(flags.fileno(), 0), np.uint8)

    def fetch(self, starts: Index, stops: Index) -> None:
        """Fetch the blocks that hold some spans of bytes, unless they are here.

        Parameters
        ----------
        starts, stops
            Ends of the spans, shape (n,).

        Raises
        ------
        StoreError
            The file has changed since it was opened, or cannot be read.
        """
        spans = starts < stops
        steps = np.zeros(len(self._has) + 1, np.int64)
        np.add.at(steps, starts[spans] // BLOCK, 1)
        np.add.at(steps, -(-stops[spans] // BLOCK), -1)
        lacking = (np.cumsum(steps)[:-1] > 0) & (self._has == 0)
        edges = np.flatnonzero(np.diff(lacking, prepend=False, append=False)).reshape(-1, 2)
        pieces = [
            (at, min(at + _PIECE // BLOCK, last)) for first, last in edges for at in range(first, last, _PIECE // BLOCK)
        ]
        if not pieces:
            return
        with told(self.remote), ThreadPoolExecutor(_REQUESTS) as pool:
            list(pool.map(self._copy, pieces))
            # After the bytes arrived: whoever replaced the file before that is seen now.
            with self.remote.open() as again:
                said = _said(again)
        if said != self._said:
            way_out = "run the command again"
            raise StoreError(str(self.remote), "the file has changed while it was read", way_out=way_out)
        for first, last in pieces:
            self._has[first:last] = 1

    def _copy(self, piece: tuple[int, int]) -> None:
        at, end = piece[0] * BLOCK, min(piece[1] * BLOCK, self.size)
        with self.path.open("r+b") as copy:
            copy.seek(at)
            copy.write(self._file.read_at(end - at, at))

    def whole(self) -> Path:
        """Fetch what is not here, and return the copy."""
        self.fetch(np.array([0]), np.array([self.size]))
        return self.path


def fetch_all(spans: Iterable[tuple[Blocks, Index, Index]]) -> None:
    """Fetch spans of several files at a time; see :meth:`Blocks.fetch`."""
    with ThreadPoolExecutor(_REQUESTS) as pool:
        list(pool.map(lambda each: each[0].fetch(*each[1:]), spans))


def on_this_machine(paths: Sequence[Path]) -> list[Path]:
    """Return files as files of this machine: those of a bucket are copied, once."""
    return [Blocks(path).whole() if isinstance(path, RemotePath) else path for path in paths]


def _said(file: Any) -> tuple[Any, ...]:
    return (file.size(), *sorted(file.metadata().items()))


def _key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
