"""Find out what there is to fetch before the first byte is fetched."""

import shutil
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from borgtrace.errors import SourceError, UsageError
from borgtrace.fetch.bucket import Bucket
from borgtrace.fetch.ledger import Ledger, arrivals
from borgtrace.fetch.session import Session
from borgtrace.fetch.version import Version
from borgtrace.schema.ranges import Numbers, parse_numbers
from borgtrace.storage import INCOMPLETE, RemotePath, as_path

_NO_END = 10**12
_END_OF_TABLE = 2
"""Missing parts in a row that end a table of unknown length; a single one is a hole."""


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
        Those of ``files`` that are not here yet (nor in the store already).
    missing
        Paths that ought to exist and do not.
    remaining
        Bytes still to download; what ``.incomplete`` files hold is not counted.
    """

    bucket: Bucket
    folder: Path
    files: tuple[RemoteFile, ...]
    todo: tuple[RemoteFile, ...]
    missing: tuple[str, ...]
    remaining: int

    @property
    def here(self) -> tuple[RemoteFile, ...]:
        """Files that are here already, or in the store."""
        todo = {file.path for file in self.todo}
        return tuple(file for file in self.files if file.path not in todo)

    @property
    def total(self) -> int:
        """Bytes of all wanted files."""
        return sum(file.version.size or 0 for file in self.files)

    @property
    def free(self) -> int:
        """Bytes free on the disk where files arrive."""
        here = arrivals(self.folder)
        existing = next(path for path in (here, *here.parents) if path.exists())
        return shutil.disk_usage(existing).free

    def check_space(self) -> None:
        """Refuse a fetch that the disk cannot hold.

        Raises
        ------
        UsageError
            More bytes are to come than the disk has free.
        """
        # To a bucket files go on as they come, so the sum of all need not fit.
        if self.remaining > self.free and not isinstance(self.folder, RemotePath):
            where, expected, got = (
                str(self.folder.parent),
                f"{self.remaining:,} bytes",
                f"{self.free:,} bytes free",
            )
            way_out = "choose fewer --parts or --tables, or store part by part: --delete-raw --store STORE"
            raise UsageError(
                where, "the disk is too small", expected=expected, got=got, way_out=way_out
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

    Nothing is written.  Where the number of parts is not published (2019), HEAD requests find the end.  A
    single hole is asked for twice and, if it stays, reported as missing, for a table cut short without
    notice would be worse than an error.

    Parameters
    ----------
    session
        Connections to use.
    bucket
        Which trace.
    dest
        Folder, or URL in a bucket of yours, under which the bucket gets a folder of its own.
    tables, parts
        What is wanted; all by default.  Parts are numbers and ranges, such as ``0-9,12``.
    base_url
        Address that holds the bucket's files, in place of Google's.
    store
        Files that this store holds count as fetched.
    jobs
        Requests at a time.

    Raises
    ------
    SourceError
        A wanted table is not there, or the server does not answer.
    UsageError
        The base URL is not an address, or the parts are not numbers.
    """
    wanted = parse_numbers(parts, "--parts")
    base = (base_url or bucket.url).rstrip("/")
    if not base.startswith(("http://", "https://")):
        raise UsageError("--base-url", "not an address", expected="http://… or https://…", got=base)
    sums = session.sums(f"{base}/{bucket.publication.sums}") if bucket.publication.sums else {}
    with session.threads(jobs) as pool:
        finder = _Finder(session, pool, bucket, base, sums, max(2, jobs))
        chosen = bucket.tables if tables is None else tables
        found = [
            item for table in chosen for item in finder.find(table, bucket.parts_of(table, wanted))
        ]
        # By part, then by table: equal numbers mean equal time in 2011, so that an interrupted fetch leaves whole
        # stretches of time.
        files = tuple(
            sorted(
                (file for file in found if isinstance(file, RemoteFile)), key=lambda file: file.part
            )
        )
        folder = as_path(dest) / bucket.name
        ledger = Ledger.read(folder)
        # At a time: of a bucket each is a request.
        here = pool.map(lambda file: is_here(file, folder, ledger, store), files)
        todo = tuple(file for file, is_there in zip(files, here, strict=True) if not is_there)
    missing = tuple(path for path in found if isinstance(path, str))
    # Not below 0: what is here may be longer than the file has become.
    remaining = sum(
        max(0, (file.version.size or 0) - _received(arrivals(folder), file.path)) for file in todo
    )
    return Plan(bucket, folder, files, todo, missing, remaining)


@dataclass(frozen=True, slots=True)
class _Finder:
    """Asks for the files of table after table, `window` at a time."""

    session: Session
    pool: ThreadPoolExecutor
    bucket: Bucket
    base: str
    sums: dict[str, str]
    window: int

    def find(self, table: str, parts: Numbers) -> list[RemoteFile | str]:
        """Return the wanted parts of a table: the file, or only the path of one that is missing."""
        n_parts = self.bucket.n_parts(table)
        first = next(parts.numbers(_NO_END))
        if n_parts is not None and first >= n_parts:
            where, expected = f"{self.base}/{table}", f"0 … {n_parts - 1}"
            raise SourceError(
                where, f"has no part {first}", expected=expected, way_out="check --parts"
            )
        found: list[RemoteFile | str] = []
        holes = 0
        for file in self._ask(table, parts.numbers(n_parts or _NO_END)):
            found.append(file)
            holes = holes + 1 if isinstance(file, str) else 0
            if n_parts is None and holes == _END_OF_TABLE:
                break
        if holes == len(found):
            where = f"{self.base}/{self.bucket.path(table, first)}"
            raise SourceError(where, "not found", way_out="check --parts, --format and --base-url")
        # Where the number of parts is not known, holes at the end are the end.
        return found if n_parts is not None else found[: len(found) - holes]

    def _ask(self, table: str, numbers: Iterator[int]) -> Iterator[RemoteFile | str]:
        while window := list(islice(numbers, self.window)):
            yield from list(self.pool.map(lambda part: self._file(table, part), window))

    def _file(self, table: str, part: int) -> RemoteFile | str:
        path = self.bucket.path(table, part)
        url = f"{self.base}/{path}"
        # Asked twice: one wrong 404 would otherwise end a table, or leave a hole in it.
        version = self.session.head(url) or self.session.head(url)
        # A file on the publisher's list exists, whatever the server says now.
        if path in self.sums:
            version = (version or Version()).merged(Version(digests={"sha256": self.sums[path]}))
        return RemoteFile(table, part, path, url, version) if version else path


def is_here(file: RemoteFile, folder: Path, ledger: Ledger, store: Path | None) -> bool:
    """Return whether a file was checked and not touched since, or staged by ``store`` and deleted.

    Parameters
    ----------
    file
        What the server offers.
    folder
        Where the bucket's files are kept.
    ledger
        What is known of that folder.
    store
        The store that staged files count for; None counts none.
    """
    entry, path = ledger.entries.get(file.path), folder / file.path
    # What the server offers now decides: a file of an older version counts as not here.
    if entry is None or entry.state == "started" or entry.version.differs(file.version):
        return False
    if path.exists():
        stat = path.stat()
        # Length and time of change in place of reading it again: 41 GB take minutes to digest.
        return entry.state == "done" and (stat.st_size, stat.st_mtime_ns) == (
            entry.version.size,
            entry.mtime_ns,
        )
    return entry.state == "staged" and store is not None and entry.store == str(store.resolve())


def _received(folder: Path, path: str) -> int:
    found = (folder / name for name in (path, path + INCOMPLETE))
    return next((file.stat().st_size for file in found if file.exists()), 0)
