"""A file of a bucket as one of this machine, whose blocks are fetched when they are first needed.

The copy is sparse: it has the length of the file, and takes the disk of what was fetched.  It is kept in the user's
cache under the URL and what the server says of the file (size, time, ETag), so another version is another copy.
"""

import mmap
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from borgtrace.errors import StoreError
from borgtrace.storage.local import user_cache
from borgtrace.storage.remote import RemotePath, key, told, version_of
from borgtrace.storage.replacing import remove

BLOCK = 1 << 18
"""Bytes of a block: what arrives within a few milliseconds, the time that a request takes by itself."""
_PIECE = 1 << 23
"""Most bytes of one request, so that several share the line."""
_GAP = 8
"""Most blocks between two that are needed, which then come too: they arrive in the time of another request or two."""
_REQUESTS = 8
"""At a time: with 20, an epoch from a server on two cores took half as long again."""

Index = npt.NDArray[np.int64]


class Blocks:
    """The copy of one file.

    Attributes
    ----------
    path
        The copy.  Bytes that were not asked for by `fetch` may be 0.
    """

    def __init__(self, remote: RemotePath, cache: Path | None = None) -> None:
        self.remote, self._file = remote, remote.open()
        self.version = version_of(remote, self._file)
        self.size: int = self._file.size()
        versions = (cache or user_cache()) / "remote" / key(str(remote))
        folder = versions / self.version
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
        fetch_all([(self, starts, stops)])

    def lacking(self, starts: Index, stops: Index) -> list[tuple[int, int]]:
        """Return the requests that some spans of bytes still need: the first block, and the one after the last."""
        if self._has.all():
            return []
        spans = starts < stops
        steps = np.zeros(len(self._has) + 1, np.int64)
        np.add.at(steps, starts[spans] // BLOCK, 1)
        np.add.at(steps, -(-stops[spans] // BLOCK), -1)
        lacking = (np.cumsum(steps)[:-1] > 0) & (self._has == 0)
        edges = np.flatnonzero(np.diff(lacking, prepend=False, append=False))
        gaps = edges[1:-1].reshape(-1, 2)
        runs = np.concatenate(
            [edges[:1], gaps[np.diff(gaps)[:, 0] > _GAP].ravel(), edges[-1:]]
        ).reshape(-1, 2)
        return [
            (at, min(at + _PIECE // BLOCK, last))
            for first, last in runs
            for at in range(first, last, _PIECE // BLOCK)
        ]

    def copy(self, piece: tuple[int, int]) -> None:
        """Make a request of `lacking`."""
        at, end = piece[0] * BLOCK, min(piece[1] * BLOCK, self.size)
        with told(self.remote):
            content = self._file.read_at(end - at, at)
        with self.path.open("r+b") as copy:
            copy.seek(at)
            copy.write(content)

    def keep(self, pieces: Sequence[tuple[int, int]]) -> None:
        """Take what was copied for what it is from now on."""
        for first, last in pieces:
            self._has[first:last] = 1

    def whole(self) -> Path:
        """Fetch what is not here, and return the copy."""
        self.fetch(np.array([0]), np.array([self.size]))
        return self.path


def fetch_all(spans: Iterable[tuple[Blocks, Index, Index]]) -> None:
    """Fetch spans of several files at a time; see :meth:`Blocks.fetch`."""
    # Looked up before threads start: of most batches of an epoch everything is here, and a pool takes milliseconds.
    lacking = [
        (file, pieces) for file, starts, stops in spans if (pieces := file.lacking(starts, stops))
    ]
    if not lacking:
        return
    requests = [(file, piece) for file, pieces in lacking for piece in pieces]
    with ThreadPoolExecutor(_REQUESTS) as pool:
        try:
            list(pool.map(lambda each: each[0].copy(each[1]), requests))
        finally:
            # After the bytes arrived: whoever replaced a file before that is seen now, also where reading it failed.
            list(pool.map(lambda each: _expect(each[0].remote, each[0].version), lacking))
    for file, pieces in lacking:
        file.keep(pieces)


def on_this_machine(paths: Sequence[Path]) -> list[Path]:
    """Return files as files of this machine: those of a bucket are copied, once."""
    return [Blocks(path).whole() if isinstance(path, RemotePath) else path for path in paths]


@contextmanager
def fetched(path: Path, version: str) -> Iterator[Path]:
    """Yield a file as one of this machine: of a bucket, a copy in the temporary folder, removed when the block ends.

    Parameters
    ----------
    path
        The file.
    version
        What `RemotePath.head` said of it; another version is not taken.

    Raises
    ------
    StoreError
        The file has changed or gone since, or cannot be read.
    """
    if not isinstance(path, RemotePath):
        yield path
        return
    _expect(path, version)
    with TemporaryDirectory(prefix="borgtrace-") as folder:
        yield Blocks(path, Path(folder)).whole()


def _expect(remote: RemotePath, version: str) -> None:
    if remote.head()[2] != version:
        what, way_out = "the file has changed while it was read", "run the command again"
        raise StoreError(str(remote), what, way_out=way_out)
