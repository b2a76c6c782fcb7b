"""Fetch one file whole: resume, verify, rename."""

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import httpx

from borgtrace.fetch.digests import feed_file, hasher, strongest
from borgtrace.fetch.ledger import Entry, Ledger
from borgtrace.fetch.plan import RemoteFile
from borgtrace.fetch.retry import Fault, NotPublished
from borgtrace.fetch.session import Session
from borgtrace.fetch.version import Version, content_range, version_of
from borgtrace.fetch.whole import describe, flaw, starts_right
from borgtrace.storage import INCOMPLETE

# Of eight attempts: a whole file for nothing three times is enough.
_WRONG_FILE_COST = 3
_NOT_PUBLISHED_COST = 2


class Transfer:
    """One file on its way from a server to a folder.

    ``<path>.incomplete`` always holds a prefix of one version of the file, which the ledger names; it
    is renamed to ``<path>`` only when its bytes have been checked.

    Parameters
    ----------
    session
        Connections to use.
    file
        What to fetch.
    folder
        Where it goes.
    ledger
        What is known of the folder.

    Attributes
    ----------
    version
        The version that the bytes here belong to.
    offset
        Bytes that are here.
    farthest
        The most bytes that have been here.
    """

    def __init__(
        self,
        session: Session,
        file: RemoteFile,
        folder: Path,
        ledger: Ledger,
    ) -> None:
        self.session = session
        self.version = file.version
        self.offset = 0
        self.farthest = 0
        self._file = file
        self._ledger = ledger
        self._target = folder / file.path
        self._partial = folder / (file.path + INCOMPLETE)
        # The published list holds for any version that comes; headers of an answer only for their own.
        listed = {name: digest for name, digest in file.version.digests.items() if name == "sha256"}
        self._listed = Version(digests=listed)
        self._announced_sizes = {file.version.size}
        self._hash: Any = None

    def run(self) -> Path:
        """Fetch until the file is whole, and return its path.

        Raises
        ------
        SourceError
            The server did not manage, however often it was asked.
        """
        self._target.parent.mkdir(parents=True, exist_ok=True)
        self.adopt()
        return self.session.repeat(self._file.path, self._attempt, lambda: self.farthest)

    def _attempt(self) -> Path:
        try:
            self._receive()
        except NotPublished as missing:
            raise Fault(f"the server answers {missing}", cost=_NOT_PUBLISHED_COST) from missing
        self.verify()
        return self._finish()

    # What is already here

    def adopt(self) -> None:
        """Go on from what an earlier run, or another program, has left."""
        if self._target.exists():
            # Not verified, or changed since: it is only a beginning again until its bytes are checked.
            self._target.replace(self._partial)
        if not self._partial.exists() or not self._is_prefix(self._partial.stat().st_size):
            self.discard()
            return
        self._begin()
        # A digest cannot be continued from a file: what is here is read once.
        if self._hash:
            feed_file(self._hash, self._partial)
        self.offset = self._partial.stat().st_size
        self.farthest = self.offset

    def _is_prefix(self, size: int) -> bool:
        """Return whether the bytes here may be the beginning of the wanted version."""
        entry = self._ledger.entries.get(self._file.path)
        is_known = False
        if entry is not None and not entry.version.differs(self.version):
            is_known = True
            self.version = entry.version.merged(self.version)
        total = self.version.size
        if total and size > total:
            return False
        # Bytes of unknown origin are kept only if a digest will judge them, or if they are already as many as wanted.
        has_digest = strongest(self.version.digests) is not None
        return is_known or has_digest or size == total

    def _begin(self) -> None:
        algorithm = strongest(self.version.digests)
        self._hash = hasher(algorithm) if algorithm else None
        self.offset = 0

    def discard(self) -> None:
        """Remove the bytes that are here."""
        self._partial.unlink(missing_ok=True)
        self.session.listener.received(self._file.path, -self.offset)
        self._begin()

    # What comes

    def _receive(self) -> None:
        # Everything is here already; asking for the rest would be answered with 416.
        if self.version.size is not None and self.offset == self.version.size:
            return
        with self.session.get(self._file.url, self.range_headers()) as response:
            match response.status_code:
                case httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
                    self.accept_end(response)
                case httpx.codes.PARTIAL_CONTENT:
                    self.go_on(response)
                case _:
                    self.start_over(response)
        self.check_length()

    def range_headers(self) -> dict[str, str]:
        """Return the headers that ask for the bytes that are not here yet; none to ask for all of them."""
        if not self.offset:
            return {}
        headers = {"range": f"bytes={self.offset}-"}
        if self.version.validator:
            # With it a changed file comes whole (200), not as the end of another one.
            headers["if-range"] = self.version.validator
        elif not strongest(self.version.digests):
            # Nothing would tell two versions apart: all of it comes again.
            return {}
        return headers

    def accept_end(self, response: httpx.Response) -> None:
        """Take the answer that nothing comes after the bytes here."""
        total = content_range(response).total
        # Exactly at the end is whole: the length was not known before.
        if total != self.offset:
            self.discard()
            raise Fault("the file on the server is shorter than what has arrived")
        self.version = self.version.merged(Version(size=total))

    def go_on(self, response: httpx.Response) -> None:
        """Append the rest of the file."""
        version = version_of(response)
        if version.differs(self.version) or self.settles_on_another_length(version):
            self.version = version.merged(self._listed)
            self.discard()
            raise Fault("the file changed on the server")
        if content_range(response).first != self.offset:
            raise Fault("the server sent another range than requested")
        # Raw bytes: httpx would unpack the gzip that the file is.
        self.append("ab", response.iter_raw())

    def start_over(self, response: httpx.Response) -> None:
        """Take the whole file, in place of the bytes here."""
        chunks = response.iter_raw()
        first = next(chunks, b"")
        # Checked first: an error page with status 200 must not cost a byte.
        if not starts_right(first):
            raise Fault(f"{describe(first)} came instead of an archive")
        version = version_of(response)
        if version.differs(self.version):
            self.version = version.merged(self._listed)
        else:
            self.settles_on_another_length(version)
            self.version = self.version.merged(version)
        # What had arrived comes again, so the bar goes back.
        self.session.listener.received(self._file.path, -self.offset)
        self._begin()
        # Before the first byte: after a kill the next run knows which version the beginning belongs to.
        entry = Entry("started", self.version)
        self._ledger.record(self._file.path, entry)
        self.append("wb", chain([first], chunks))

    def settles_on_another_length(self, version: Version) -> bool:
        """Return whether to believe a new length, one that is announced for the second time.

        Raises
        ------
        Fault
            It is announced for the first time.
        """
        if version.size is None or self.version.size in (None, version.size):
            return False
        if version.size not in self._announced_sizes:
            self._announced_sizes.add(version.size)
            raise Fault(f"the server gave two lengths, the last {version.size:,} bytes")
        return True

    def append(self, mode: str, chunks: Iterator[bytes]) -> None:
        """Write bytes as they come.

        Parameters
        ----------
        mode
            ``"ab"`` after the bytes here, ``"wb"`` in their place.
        chunks
            The bytes.
        """
        with self._partial.open(mode) as file:
            for chunk in chunks:
                self.session.wait()
                file.write(chunk)
                if self._hash:
                    self._hash.update(chunk)
                self.offset += len(chunk)
                # Only new bytes are progress: bytes that come again must not keep a hopeless fetch alive.
                self.farthest = max(self.farthest, self.offset)
                self.session.listener.received(self._file.path, len(chunk))

    def check_length(self) -> None:
        """Raise Fault unless as many bytes are here as were announced."""
        size = self.version.size
        if size is None:
            return
        # Too short can be continued; too long, below, cannot be mended by more bytes.
        if self.offset < size:
            arrived = f"{self.offset:,} of {size:,} bytes"
            raise Fault(f"the connection ended after {arrived}")
        if self.offset > size:
            self.discard()
            raise Fault(f"more than the {size:,} bytes that were announced", cost=_WRONG_FILE_COST)

    # When all is here

    def verify(self) -> None:
        """Raise Fault unless the bytes here are those that were published, or at least a whole archive."""
        problem = self._problem()
        if problem:
            self.discard()
            raise Fault(problem, cost=_WRONG_FILE_COST)

    def _problem(self) -> str | None:
        """Return what is wrong with the bytes here, None if nothing is."""
        algorithm = strongest(self.version.digests)
        if algorithm is None:
            return flaw(self._partial)
        digest = self._hash.digest().hex()
        if digest != self.version.digests[algorithm]:
            return f"its {algorithm} is not the published one"
        return None

    def _finish(self) -> Path:
        with self._partial.open("rb") as file:
            # On the disk before it has its name: after a power cut a named file would otherwise be empty.
            os.fsync(file.fileno())
        self._partial.replace(self._target)
        version = self.version.merged(Version(self.offset))
        entry = Entry("done", version, self._target.stat().st_mtime_ns)
        self._ledger.record(self._file.path, entry)
        return self._target
