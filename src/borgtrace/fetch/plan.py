"""Find out what there is to fetch before the first byte is fetched."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from borgtrace.errors import SourceError, UsageError
from borgtrace.fetch.bucket import Bucket
from borgtrace.fetch.crew import in_order
from borgtrace.fetch.digests import parse_sums
from borgtrace.fetch.faults import Fault
from borgtrace.fetch.ledger import Ledger
from borgtrace.fetch.selection import parts_of
from borgtrace.fetch.session import Session
from borgtrace.fetch.version import Version
from borgtrace.schema.ranges import Numbers, parse_numbers

SUMS = "SHA256SUM"
_NO_END = 10**12
_END_OF_TABLE = 2
"""Absent parts in a row that end a table; a lonely one is a hole."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """One published file: where it is, where it goes, what the server says about it."""

    table: str
    part: int
    path: str
    url: str
    version: Version


@dataclass(frozen=True, slots=True)
class Plan:
    """What a fetch would do.

    Attributes
    ----------
    bucket
        What is fetched.
    folder
        Where it goes: ``DEST/<name of the bucket>``.
    files
        Every wanted file that exists, in the order of parts.
    todo
        Those of ``files`` that are not here yet (or taken into a store already).
    missing
        Paths that ought to exist and do not.
    remaining
        Bytes still to come, what lies in ``.incomplete`` files not counted.
    """

    bucket: Bucket
    folder: Path
    files: tuple[RemoteFile, ...]
    todo: tuple[RemoteFile, ...]
    missing: tuple[str, ...]
    remaining: int

    @property
    def total(self) -> int:
        """Bytes of all wanted files."""
        return sum(file.version.size or 0 for file in self.files)

    @property
    def free(self) -> int:
        """Bytes free on the disk of the folder."""
        existing = next(path for path in (self.folder, *self.folder.parents) if path.exists())
        return shutil.disk_usage(existing).free

    def check_space(self) -> None:
        """Refuse a fetch that the disk cannot hold.

        Raises
        ------
        UsageError
            More bytes are to come than the disk has free.
        """
        if self.remaining > self.free:
            raise UsageError(
                str(self.folder.parent),
                "the disk is too small",
                expected=f"{self.remaining:,} bytes",
                got=f"{self.free:,} bytes free",
                way_out="choose fewer --parts or --tables, or store part by part: --delete-raw --store STORE",
            )


def make_plan(
    session: Session,
    bucket: Bucket,
    dest: Path,
    *,
    tables: Iterable[str] | None = None,
    parts: str = "all",
    base_url: str | None = None,
    store: Path | None = None,
    jobs: int = 4,
) -> Plan:
    """Ask the server which of the wanted files exist, and the folder which of them it has.

    Nothing is written.  2011 has a fixed number of parts; 2019 is probed with HEAD until the numbers
    end.  A lonely hole is asked twice and, if it stays, reported as missing, for a table cut short
    without notice would be worse than an error.

    Parameters
    ----------
    session
        Connections to use.
    bucket
        Which trace.
    dest
        Folder under which the bucket gets its own.
    tables, parts
        What is wanted; all by default.  Parts are numbers and ranges, such as ``0-9,12``.
    base_url
        Address that holds the bucket's files, in place of Google's.
    store
        Files that this store has taken in count as fetched.
    jobs
        Requests at a time.

    Raises
    ------
    SourceError
        A wanted table is not there, or the server does not answer.
    UsageError
        The base URL is none.
    """
    wanted = parse_numbers(parts, "--parts")
    base = (base_url or bucket.url).rstrip("/")
    if not base.startswith(("http://", "https://")):
        raise UsageError("--base-url", "not an address", expected="http://… or https://…", got=base)
    finder = _Finder(session, bucket, base, _published_sums(session, bucket, base), jobs)
    for table in tables if tables is not None else bucket.tables:
        finder.find(table, parts_of(bucket, table, wanted))
    files = sorted(finder.files, key=lambda file: file.part)
    return _compare(bucket, dest / bucket.name, files, finder.missing, store)


def _published_sums(session: Session, bucket: Bucket, base: str) -> dict[str, str]:
    if bucket.generation != "2011":
        return {}

    def ask() -> dict[str, str]:
        text = session.text(f"{base}/{SUMS}")
        sums = parse_sums(text or "")
        if text and not sums:
            raise Fault(f"{SUMS} holds no checksums")
        return sums

    return session.repeat(f"{base}/{SUMS}", ask)


class _Finder:
    """Collects the files of table after table."""

    def __init__(self, session: Session, bucket: Bucket, base: str, sums: dict[str, str], jobs: int) -> None:
        self._session, self._bucket, self._base, self._sums = (session, bucket, base, sums)
        self._window = max(2, jobs)
        self.files: list[RemoteFile] = []
        self.missing: list[str] = []

    def find(self, table: str, parts: Numbers) -> None:
        """Add the wanted parts of a table."""
        before = len(self.files)
        n_parts = self._bucket.n_parts(table)
        if n_parts is None:
            self._probe(table, parts)
        else:
            self._ask_all(table, parts, n_parts)
        if len(self.files) == before:
            first = self._bucket.path(table, next(parts.numbers(_NO_END)))
            way_out = "check --parts, --format and --base-url"
            raise SourceError(f"{self._base}/{first}", "not found", way_out=way_out)

    def _ask_all(self, table: str, parts: Numbers, n_parts: int) -> None:
        numbers = parts.below(n_parts)
        if not numbers:
            raise SourceError(
                f"{self._base}/{table}",
                f"has no part {next(parts.numbers(_NO_END))}",
                expected=f"0 … {n_parts - 1}",
                way_out="check --parts",
            )
        for part, version in self._ask(table, numbers):
            if version is None:
                self._miss(table, [part])
            else:
                self._add(table, part, version)

    def _probe(self, table: str, parts: Numbers) -> None:
        holes: list[int] = []
        for part, version in self._ask(table, parts.numbers(_NO_END)):
            if version is not None:
                self._miss(table, holes)  # there is something behind them: not the end
                holes = []
                self._add(table, part, version)
            elif len(holes) + 1 == _END_OF_TABLE:
                return
            else:
                holes.append(part)

    def _ask(self, table: str, numbers: Iterable[int]) -> Iterator[tuple[int, Version | None]]:
        iterator = iter(numbers)
        while window := list(islice(iterator, self._window)):
            yield from zip(window, in_order(lambda part: self._version(table, part), window), strict=True)

    def _version(self, table: str, part: int) -> Version | None:
        path = self._bucket.path(table, part)
        url = f"{self._base}/{path}"
        version = self._session.head(url) or self._session.head(url)
        listed = self._sums.get(path)
        if listed:
            return (version or Version()).with_digests({"sha256": listed})
        return version

    def _add(self, table: str, part: int, version: Version) -> None:
        path = self._bucket.path(table, part)
        self.files.append(RemoteFile(table, part, path, f"{self._base}/{path}", version))

    def _miss(self, table: str, holes: list[int]) -> None:
        self.missing += [self._bucket.path(table, part) for part in holes]


def _compare(bucket: Bucket, folder: Path, files: list[RemoteFile], missing: list[str], store: Path | None) -> Plan:
    ledger = Ledger.read(folder)
    todo = tuple(file for file in files if not is_here(file, folder, ledger, store))
    remaining = sum(max(0, (file.version.size or 0) - _received(folder, file.path)) for file in todo)
    return Plan(bucket, folder, tuple(files), todo, tuple(missing), remaining)


def is_here(file: RemoteFile, folder: Path, ledger: Ledger, store: Path | None) -> bool:
    """Return whether a file was verified and not touched since, or taken in by ``store`` and deleted."""
    entry, path = ledger.entries.get(file.path), folder / file.path
    if entry is None or entry.state == "started" or entry.version.differs(file.version):
        return False
    if path.exists():
        stat = path.stat()
        return entry.state == "done" and (stat.st_size, stat.st_mtime_ns) == (entry.version.size, entry.mtime_ns)
    return entry.state == "staged" and store is not None and entry.store == str(store.resolve())


def _received(folder: Path, path: str) -> int:
    found = (folder / name for name in (path, path + ".incomplete"))
    return next((file.stat().st_size for file in found if file.exists()), 0)
