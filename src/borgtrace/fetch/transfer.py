"""Bring one file here, whole: resume, verify, rename."""

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
_WRONG_FILE = 3
_NOT_PUBLISHED_AFTER_ALL = 2


class Transfer:
    """One file on its way from a server to a folder.

    ``<path>.incomplete`` always holds a prefix of one version of the file, which the ledger names; it
    is renamed to ``<path>`` only when its bytes have been checked.
    """

    def __init__(self, session: Session, file: RemoteFile, folder: Path, ledger: Ledger) -> None:
        self._session, self._file, self._ledger = session, file, ledger
        self._target = folder / file.path
        self._partial = folder / (file.path + INCOMPLETE)
        # The published list holds for any version that comes; headers of an answer only for their own.
        self._listed = Version(
            digests={k: v for k, v in file.version.digests.items() if k == "sha256"}
        )
        self._version = file.version
        self._said = {file.version.size}
        self._offset = self._farthest = 0
        self._hash: Any = None

    def run(self) -> Path:
        """Fetch until the file is whole, and return its path.

        Raises
        ------
        SourceError
            The server did not manage, however often it was asked.
        """
        self._target.parent.mkdir(parents=True, exist_ok=True)
        self._adopt()
        return self._session.repeat(self._file.path, self._attempt, lambda: self._farthest)

    def _attempt(self) -> Path:
        try:
            self._receive()
        except NotPublished as gone:
            raise Fault(f"the server answers {gone}", cost=_NOT_PUBLISHED_AFTER_ALL) from gone
        self._verify()
        return self._finish()

    # What is already here

    def _adopt(self) -> None:
        """Go on from what an earlier run, or another program, has left."""
        if self._target.exists():
            # Not verified, or changed since: it is only a beginning again until its bytes are checked.
            self._target.replace(self._partial)
        if not self._partial.exists() or not self._is_prefix(self._partial.stat().st_size):
            self._discard()
            return
        self._begin()
        # A digest cannot be continued from a file: what is here is read once.
        if self._hash:
            feed_file(self._hash, self._partial)
        self._offset = self._farthest = self._partial.stat().st_size

    def _is_prefix(self, size: int) -> bool:
        """Return whether what is here may be the beginning of the wanted version."""
        entry = self._ledger.entries.get(self._file.path)
        known = entry is not None and not entry.version.differs(self._version)
        if entry is not None and known:
            self._version = entry.version.merged(self._version)
        total = self._version.size
        # Bytes of unknown origin are kept only if a digest will judge them, or if they are already as many as wanted.
        return size <= (total or size) and (
            known or size == total or strongest(self._version.digests) is not None
        )

    def _begin(self) -> None:
        algorithm = strongest(self._version.digests)
        self._hash = hasher(algorithm) if algorithm else None
        self._offset = 0

    def _discard(self) -> None:
        self._partial.unlink(missing_ok=True)
        self._session.listener.received(self._file.path, -self._offset)
        self._begin()

    # What comes

    def _receive(self) -> None:
        # All is here already; asking for the rest would be answered with 416.
        if self._version.size is not None and self._offset == self._version.size:
            return
        with self._session.get(self._file.url, self._range_headers()) as response:
            if response.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
                self._past_the_end(response)
            elif response.status_code == httpx.codes.PARTIAL_CONTENT:
                self._go_on(response)
            else:
                self._start_over(response)
        self._check_length()

    def _range_headers(self) -> dict[str, str]:
        if not self._offset:
            return {}
        headers = {"range": f"bytes={self._offset}-"}
        if self._version.validator:
            # With it a changed file comes whole (200), not as the end of another one.
            headers["if-range"] = self._version.validator
        elif not strongest(
            self._version.digests
        ):  # nothing would tell two versions apart: all of it comes again
            return {}
        return headers

    def _past_the_end(self, response: httpx.Response) -> None:
        total = content_range(response)[1]
        # Exactly at the end is whole: the length was not known before.
        if total != self._offset:
            self._discard()
            raise Fault("the file on the server is shorter than what has arrived")
        self._version = self._version.merged(Version(size=total))

    def _go_on(self, response: httpx.Response) -> None:
        version = version_of(response)
        if version.differs(self._version) or self._settled_on_another_length(version):
            self._version = version.merged(self._listed)
            self._discard()
            raise Fault("the file changed on the server")
        if content_range(response)[0] != self._offset:
            raise Fault("the server sent another range than requested")
        # Raw bytes: httpx would unpack the gzip that the file is.
        self._append("ab", response.iter_raw())

    def _start_over(self, response: httpx.Response) -> None:
        chunks = response.iter_raw()
        first = next(chunks, b"")
        if not starts_right(
            first
        ):  # asked first: an error page with status 200 must not cost a byte
            raise Fault(f"{describe(first)} came instead of an archive")
        version = version_of(response)
        if version.differs(self._version):
            self._version = version.merged(self._listed)
        else:
            self._settled_on_another_length(version)
            self._version = self._version.merged(version)
        # What had arrived comes again, so the bar goes back.
        self._session.listener.received(self._file.path, -self._offset)
        self._begin()
        # Before the first byte: after a kill the next run knows which version the beginning is of.
        self._ledger.record(self._file.path, Entry("started", self._version))
        self._append("wb", chain([first], chunks))

    def _settled_on_another_length(self, version: Version) -> bool:
        """Return whether a new length has to be believed: one that is said for the second time."""
        if version.size is None or self._version.size in (None, version.size):
            return False
        if version.size not in self._said:
            self._said.add(version.size)
            raise Fault(f"the server gave two lengths, the last {version.size:,} bytes")
        return True

    def _append(self, mode: str, chunks: Iterator[bytes]) -> None:
        with self._partial.open(mode) as file:
            for chunk in chunks:
                self._session.wait()
                file.write(chunk)
                if self._hash:
                    self._hash.update(chunk)
                self._offset += len(chunk)
                # Progress is what never came before: bytes that come again must not keep a hopeless fetch alive.
                self._farthest = max(self._farthest, self._offset)
                self._session.listener.received(self._file.path, len(chunk))

    def _check_length(self) -> None:
        size = self._version.size
        if size is not None and self._offset < size:
            raise Fault(f"the connection ended after {self._offset:,} of {size:,} bytes")
        # Too long cannot be mended by more bytes; too short, above, can be continued.
        if size is not None and self._offset > size:
            self._discard()
            raise Fault(f"more than the {size:,} bytes that were announced", cost=_WRONG_FILE)

    # When all is here

    def _verify(self) -> None:
        algorithm = strongest(self._version.digests)
        if algorithm:
            is_right = self._hash.digest().hex() == self._version.digests[algorithm]
            wrong = None if is_right else f"its {algorithm} is not the published one"
        else:
            wrong = flaw(self._partial)
        if wrong:
            self._discard()
            raise Fault(wrong, cost=_WRONG_FILE)

    def _finish(self) -> Path:
        with self._partial.open("rb") as file:
            # On the disk before it has its name: after a power cut a named file would else be empty.
            os.fsync(file.fileno())
        self._partial.replace(self._target)
        entry = Entry(
            "done", self._version.merged(Version(self._offset)), self._target.stat().st_mtime_ns
        )
        self._ledger.record(self._file.path, entry)
        return self._target
