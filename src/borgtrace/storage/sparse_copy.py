"""A file of a bucket as one of this machine, whose blocks are fetched when they are first needed.

The copy is sparse: it has the length of the file, and takes the disk of what was fetched. It is kept in the user's
cache under the URL and what the server says of the file (size, time, ETag), so another version is another copy.
"""

import mmap
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from borgtrace.errors import StoreError
from borgtrace.kernels.arrays import Bytes, Flags, Index
from borgtrace.storage.remote import (
    RemotePath,
    short_digest,
    translate_bucket_errors,
    version_of,
)
from borgtrace.storage.replacing import remove
from borgtrace.storage.scratch import scratch_folder
from borgtrace.storage.shortage import reserve
from borgtrace.user_cache import user_cache

BLOCK = 1 << 18
"""Bytes of a block: what arrives within a few milliseconds, the time that a request takes by itself."""
LARGEST_REQUEST = 1 << 23
"""Most bytes of one request, so that several share the line."""
LARGEST_GAP = 8
"""Most blocks between two that are needed, which then come too: they arrive in the time of another request or two."""
_REQUESTS = 8
"""At a time: with 20, an epoch from a server on two cores took half as long again."""


class BlockRange(NamedTuple):
    """Blocks that follow each other: the number of the first, and that after the last."""

    first: int
    end: int


class SparseCopy:
    """The copy of one file.

    Attributes
    ----------
    path
        The copy. Bytes that were not requested by `fetch` may be 0.
    """

    def __init__(self, remote: RemotePath, cache: Path | None = None) -> None:
        self.remote = remote
        self._file = remote.open()
        self.version = version_of(remote, self._file)
        self.size: int = self._file.size()
        versions = (cache or user_cache()) / "remote" / short_digest(str(remote))
        folder = versions / self.version
        folder.mkdir(parents=True, exist_ok=True)
        for other in versions.iterdir():
            if other != folder:
                remove(other)
        self.path = folder / remote.name
        self._is_fetched = self._make_files(folder / "fetched")

    def _make_files(self, flags_path: Path) -> Bytes:
        """Make the copy and its flags unless they are there, and map the flags: one for each block."""
        n_blocks = -(-self.size // BLOCK)
        with self.path.open("ab") as copy:
            copy.truncate(self.size)
        # One byte for each block, not one bit: processes that fetch different blocks write different bytes.
        with flags_path.open("ab") as flags:
            flags.truncate(max(1, n_blocks))
            reserve(flags, max(1, n_blocks))
        with flags_path.open("r+b") as flags:
            return np.frombuffer(mmap.mmap(flags.fileno(), 0), np.uint8)

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

    def missing_ranges(self, starts: Index, stops: Index) -> list[BlockRange]:
        """Return the blocks that some spans of bytes still need, a range for each request."""
        if self._is_fetched.all():
            return []
        is_missing = self._covered(starts, stops) & (self._is_fetched == 0)
        edges = np.flatnonzero(np.diff(is_missing, prepend=False, append=False))
        blocks_of_request = LARGEST_REQUEST // BLOCK
        ranges = []
        for first, end in _without_small_gaps(edges):
            for start in range(first, end, blocks_of_request):
                ranges.append(BlockRange(start, min(start + blocks_of_request, end)))
        return ranges

    def _covered(self, starts: Index, stops: Index) -> Flags:
        """Return for each block whether any span of bytes touches it."""
        has_bytes = starts < stops
        changes = np.zeros(len(self._is_fetched) + 1, np.int64)
        np.add.at(changes, starts[has_bytes] // BLOCK, 1)
        np.add.at(changes, -(-stops[has_bytes] // BLOCK), -1)
        return np.cumsum(changes)[:-1] > 0

    def copy(self, blocks: BlockRange) -> None:
        """Copy a range of blocks, in one request."""
        start = blocks.first * BLOCK
        end = min(blocks.end * BLOCK, self.size)
        with translate_bucket_errors(self.remote):
            content = self._file.read_at(end - start, start)
        with self.path.open("r+b") as copy:
            copy.seek(start)
            copy.write(content)

    def mark_fetched(self, ranges: Sequence[BlockRange]) -> None:
        """Trust copied blocks from now on."""
        for first, end in ranges:
            self._is_fetched[first:end] = 1

    def fetch_whole(self) -> Path:
        """Fetch all blocks that are not here, and return the copy."""
        self.fetch(np.array([0]), np.array([self.size]))
        return self.path


def _without_small_gaps(edges: Index) -> Index:
    """Return runs of missing blocks as (n, 2), where those with few blocks in between are one run.

    Parameters
    ----------
    edges
        First block of each run, and the one after its last, in turn.
    """
    gaps = edges[1:-1].reshape(-1, 2)
    lengths = gaps[:, 1] - gaps[:, 0]
    large_gaps = gaps[lengths > LARGEST_GAP]
    remaining_edges = [edges[:1], large_gaps.ravel(), edges[-1:]]
    return np.concatenate(remaining_edges).reshape(-1, 2)


def fetch_all(spans: Iterable[tuple[SparseCopy, Index, Index]]) -> None:
    """Fetch spans of several files at a time; see :meth:`SparseCopy.fetch`."""
    # Computed before threads start: for most batches of an epoch everything is here, and a pool takes milliseconds.
    missing = []
    for copy, starts, stops in spans:
        ranges = copy.missing_ranges(starts, stops)
        if ranges:
            missing.append((copy, ranges))
    if not missing:
        return
    copies = [copy for copy, _ in missing]
    requests = [(copy, blocks) for copy, ranges in missing for blocks in ranges]
    with ThreadPoolExecutor(_REQUESTS) as pool:
        try:
            list(pool.map(lambda request: request[0].copy(request[1]), requests))
        finally:
            # After the bytes arrived, so that a file replaced before that is noticed, even where reading it failed.
            list(pool.map(lambda copy: _check_version(copy.remote, copy.version), copies))
    for copy, ranges in missing:
        copy.mark_fetched(ranges)


def local_copies(paths: Sequence[Path]) -> list[Path]:
    """Return files as files of this machine: those of a bucket are copied, once."""
    return [
        SparseCopy(path).fetch_whole() if isinstance(path, RemotePath) else path for path in paths
    ]


@contextmanager
def local_copy(path: Path, version: str) -> Iterator[Path]:
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
    _check_version(path, version)
    with TemporaryDirectory(dir=scratch_folder()) as folder:
        yield SparseCopy(path, Path(folder)).fetch_whole()


def _check_version(remote: RemotePath, version: str) -> None:
    if remote.head().version != version:
        raise StoreError(
            str(remote),
            "the file has changed while it was read",
            way_out="run the command again",
        )
