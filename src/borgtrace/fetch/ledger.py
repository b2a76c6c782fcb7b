"""The ledger of a folder of fetched files: one line of JSON per change; the last one of each file counts."""

from __future__ import annotations

import fcntl
import json
from dataclasses import asdict, dataclass, replace
from itertools import starmap
from pathlib import Path
from threading import Lock
from typing import IO, Literal, Self

from borgtrace.errors import UsageError
from borgtrace.fetch.version import Version
from borgtrace.storage import RemotePath, read_regular, upload, user_cache, write_file
from borgtrace.storage.remote import short_digest

LEDGER = ".fetch.jsonl"
_BUCKET_LEDGER_LOCK = Lock()
State = Literal["started", "done", "staged", "empty"]


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known about one file.

    ``started``: its ``.incomplete`` file holds the first bytes of ``version``.  ``done``: it was checked
    when it had this length and modification time, by the strongest digest of ``version`` if there is one.
    ``staged``: a store took it in and it was deleted.  ``empty``: the answer to a query held nothing,
    and there is no file.
    """

    state: State
    version: Version
    mtime_ns: int = 0
    store: str = ""


@dataclass
class Ledger:
    """The entries of a folder, by path; appends are single writes, so a kill loses at most the last.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with Ledger.open(folder) as ledger:
    ...     ledger.record("part-00000.csv.gz", Entry("started", Version(10, '"tag"')))
    >>> Ledger.read(folder).entries["part-00000.csv.gz"].version.size
    10
    """

    entries: dict[str, Entry]
    _file: IO[bytes] | None = None

    @classmethod
    def read(cls, folder: Path) -> Ledger:
        """Read the ledger of a folder without locking or making anything."""
        path = folder / LEDGER
        content = read_regular(path) if path.exists() else b""
        return cls(_parse(content))

    @classmethod
    def open(cls, folder: Path) -> Ledger:
        """Open for writing, alone.

        Raises
        ------
        UsageError
            Another fetch is writing to the folder.
        """
        here = arrivals(folder)
        here.mkdir(parents=True, exist_ok=True)
        # The lock is on the ledger itself and ends with the process, however it ends: no stale lock files.
        file = (here / LEDGER).open("ab", buffering=0)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise UsageError(
                str(folder),
                "another fetch is writing here",
                way_out="wait for it, or fetch to another folder",
            ) from None
        content = read_regular(here / LEDGER)
        # The last line was cut by a kill.
        if content and not content.endswith(b"\n"):
            file.write(b"\n")
        return cls(_parse(content), file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._file.close()

    def record(self, path: str, entry: Entry) -> None:
        """Write down what is now known about a file."""
        if self._file:
            # Unbuffered, at the end: threads cannot mix their lines.
            self._file.write(_line(path, entry))
        # After the line: what is remembered was written down before.
        self.entries[path] = entry

    def staged(self, path: str, store: Path) -> None:
        """Write down that a store has taken the file in."""
        entry = self.entries[path]
        staged = replace(entry, state="staged", store=str(store.resolve()))
        self.record(path, staged)


def deliver(
    arrived: Path,
    path: str,
    entry: Entry,
    folder: RemotePath,
) -> None:
    """Copy a checked file to its folder in a bucket, record it in the ledger there, and remove it here.

    Parameters
    ----------
    arrived
        The file.
    path, entry
        Its name in the folder, and what is known of it.
    folder
        The folder of the bucket.

    Raises
    ------
    StoreError
        The bucket cannot be written to.
    """
    upload(arrived, folder / path)
    with _BUCKET_LEDGER_LOCK:
        entries = Ledger.read(folder).entries
        delivered = (folder / path).stat()
        entries[path] = replace(entry, mtime_ns=delivered.st_mtime_ns)
        lines = starmap(_line, entries.items())
        # Written whole, since a bucket appends nothing; after the file, so that every file it names is there.
        write_file(folder / LEDGER, b"".join(lines))
    arrived.unlink()


def arrivals(folder: Path) -> Path:
    """Return where files of a folder arrive: there, or for a folder of a bucket in one of the user's cache."""
    if isinstance(folder, RemotePath):
        return user_cache() / "fetch" / short_digest(str(folder))
    return folder


def _line(path: str, entry: Entry) -> bytes:
    fields = {"path": path, **asdict(entry)}
    text = json.dumps(fields, separators=(",", ":"), sort_keys=True)
    return text.encode() + b"\n"


def _parse(content: bytes) -> dict[str, Entry]:
    entries = {}
    for line in content.splitlines():
        try:
            fields = json.loads(line)
            path = fields.pop("path")
            version = Version(**fields.pop("version"))
            entries[path] = Entry(version=version, **fields)
        except (ValueError, KeyError, TypeError, AttributeError):
            # Cut by a kill: what it said will be found out again.
            continue
    return entries
