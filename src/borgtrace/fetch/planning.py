"""Find out which files there are to fetch, before the first byte is fetched."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from borgtrace.errors import SourceError, UsageError
from borgtrace.fetch.bucket import Bucket
from borgtrace.fetch.ledger import Ledger, arrivals
from borgtrace.fetch.plan import FetchPlan, RemoteFile
from borgtrace.fetch.session import Session
from borgtrace.fetch.version import Version
from borgtrace.schema.ranges import Numbers, parse_numbers
from borgtrace.storage import INCOMPLETE, as_path

_NO_END = 10**12
_END_OF_TABLE = 2
"""Missing parts in a row that end a table of unknown length; a single one is a hole."""


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
) -> FetchPlan:
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
    wanted_parts = parse_numbers(parts, "--parts")
    wanted_tables = bucket.tables if tables is None else tables
    base = _base_url(base_url or bucket.url)
    folder = as_path(dest) / bucket.name
    with session.threads(jobs) as pool:
        sums = _published_sums(session, bucket, base)
        finder = _TableFinder(session, pool, bucket, base, sums, window=max(2, jobs))
        files: list[RemoteFile] = []
        missing: list[str] = []
        for table in wanted_tables:
            table_files = finder.find(table, bucket.parts_of(table, wanted_parts))
            files += table_files.files
            missing += table_files.missing
        # By part, then by table: equal numbers mean equal time in 2011, so that an interrupted fetch leaves whole
        # stretches of time.
        files.sort(key=lambda file: file.part)
        todo = _not_here(files, folder, store, pool)
    return FetchPlan(
        bucket,
        folder,
        files=tuple(files),
        todo=tuple(todo),
        missing=tuple(missing),
        remaining=_remaining_bytes(todo, arrivals(folder)),
    )


def _not_here(
    files: Sequence[RemoteFile],
    folder: Path,
    store: Path | None,
    pool: ThreadPoolExecutor,
) -> list[RemoteFile]:
    """Return the files that are still to be fetched."""
    ledger = Ledger.read(folder)
    # In parallel: each question to a bucket is a request.
    are_here = pool.map(lambda file: is_here(file, folder, ledger, store), files)
    return [file for file, is_there in zip(files, are_here, strict=True) if not is_there]


def _base_url(url: str) -> str:
    base = url.rstrip("/")
    if not base.startswith(("http://", "https://")):
        raise UsageError("--base-url", "not an address", expected="http://… or https://…", got=base)
    return base


def _published_sums(
    session: Session,
    bucket: Bucket,
    base: str,
) -> dict[str, str]:
    """Return the SHA-256 of each path, where the publisher lists them."""
    name = bucket.publication.sums
    return session.sums(f"{base}/{name}") if name else {}


def _remaining_bytes(files: Iterable[RemoteFile], folder: Path) -> int:
    remaining = 0
    for file in files:
        size = file.version.size or 0
        # Not below 0: the file here may be longer than the published one has become.
        remaining += max(0, size - received_bytes(folder, file.path))
    return remaining


def received_bytes(folder: Path, path: str) -> int:
    """Return how many bytes of a file have arrived.

    Parameters
    ----------
    folder
        Where files arrive.
    path
        Path of the file in it.
    """
    for name in (path, path + INCOMPLETE):
        file = folder / name
        if file.exists():
            return file.stat().st_size
    return 0


@dataclass(frozen=True, slots=True)
class TableFiles:
    """The wanted files of a table that exist, and the paths of those that ought to."""

    files: list[RemoteFile]
    missing: list[str]


@dataclass(frozen=True, slots=True)
class _TableFinder:
    """Asks for the files of table after table, `window` at a time."""

    session: Session
    pool: ThreadPoolExecutor
    bucket: Bucket
    base: str
    sums: dict[str, str]
    window: int

    def find(self, table: str, parts: Numbers) -> TableFiles:
        """Return the wanted parts of a table."""
        n_parts = self.bucket.n_parts(table)
        first = next(parts.numbers(_NO_END))
        if n_parts is not None and first >= n_parts:
            raise SourceError(
                f"{self.base}/{table}",
                f"has no part {first}",
                expected=f"0 … {n_parts - 1}",
                way_out="check --parts",
            )
        answers: list[RemoteFile | str] = []
        missing_in_a_row = 0
        for answer in self._ask(table, parts.numbers(n_parts or _NO_END)):
            answers.append(answer)
            missing_in_a_row = missing_in_a_row + 1 if isinstance(answer, str) else 0
            if n_parts is None and missing_in_a_row == _END_OF_TABLE:
                break
        if missing_in_a_row == len(answers):
            raise SourceError(
                f"{self.base}/{self.bucket.path(table, first)}",
                "not found",
                way_out="check --parts, --format and --base-url",
            )
        # Where the number of parts is not known, missing ones at the end are the end.
        if n_parts is None:
            answers = answers[: len(answers) - missing_in_a_row]
        return TableFiles(
            files=[answer for answer in answers if isinstance(answer, RemoteFile)],
            missing=[answer for answer in answers if isinstance(answer, str)],
        )

    def _ask(
        self,
        table: str,
        numbers: Iterator[int],
    ) -> Iterator[RemoteFile | str]:
        """Yield the file of each number, or the path of one that is missing."""
        while window := list(islice(numbers, self.window)):
            files = self.pool.map(lambda part: self._file(table, part), window)
            yield from list(files)

    def _file(self, table: str, part: int) -> RemoteFile | str:
        path = self.bucket.path(table, part)
        url = f"{self.base}/{path}"
        # Asked twice: one wrong 404 would otherwise end a table, or leave a hole in it.
        version = self.session.head(url) or self.session.head(url)
        # A file on the publisher's list exists, whatever the server says now.
        if path in self.sums:
            listed = Version(digests={"sha256": self.sums[path]})
            version = (version or Version()).merged(listed)
        return RemoteFile(table, part, path, url, version) if version else path


def is_here(
    file: RemoteFile,
    folder: Path,
    ledger: Ledger,
    store: Path | None,
) -> bool:
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
    entry = ledger.entries.get(file.path)
    # What the server offers now decides: a file of an older version counts as not here.
    if entry is None or entry.state == "started":
        return False
    if entry.version.differs(file.version):
        return False
    path = folder / file.path
    if path.exists():
        stat = path.stat()
        # Length and modification time instead of reading it again: 41 GB take minutes to digest.
        has_same_size = stat.st_size == entry.version.size
        has_same_time = stat.st_mtime_ns == entry.mtime_ns
        return entry.state == "done" and has_same_size and has_same_time
    if entry.state != "staged" or store is None:
        return False
    return entry.store == str(store.resolve())
