"""The folder of answers: which query they answer, and which stretches of time they cover."""

import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from borgtrace.errors import SourceError, UsageError
from borgtrace.fetch.ledger import Entry, Ledger
from borgtrace.fetch.prometheus.metrics import ALL_NAMES
from borgtrace.fetch.prometheus.stretches import Stretch
from borgtrace.fetch.version import Version
from borgtrace.storage import INCOMPLETE, open_regular, read_regular, write_file

QUERY = ".fetch.json"
_TIME = "%Y%m%dT%H%M%SZ"
_NAME = re.compile(
    r"(?P<metric>[a-z0-9_.]+)/(?P=metric)_(?P<first>\d{8}T\d{6}Z)_(?P<last>\d{8}T\d{6}Z)\.json\.gz"
)
_DIGEST = "sha256"


@dataclass(frozen=True, slots=True)
class FolderQuery:
    """What all answers of a folder have in common.

    Attributes
    ----------
    server
        Its address.
    tenant
        Of the server; empty where none was named.
    selector
        Matchers of labels, as they are sent.
    step
        Seconds between samples.
    """

    server: str
    tenant: str
    selector: str
    step: int


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """What a folder holds of one metric for a stretch of time."""

    metric: str
    interval: Stretch


def file_of(metric: str, interval: Stretch) -> str:
    """Return the name of an answer's file in the folder.

    Examples
    --------
    >>> file_of("kube_pod_owner", Stretch(1_793_491_200, 1_793_494_740))
    'kube_pod_owner/kube_pod_owner_20261101T000000Z_20261101T005900Z.json.gz'
    """
    # No system of files forbids a dot, and no metric has one.
    metric = metric.replace(":", ".")
    first = datetime.fromtimestamp(interval.first, UTC).strftime(_TIME)
    last = datetime.fromtimestamp(interval.last, UTC).strftime(_TIME)
    return f"{metric}/{metric}_{first}_{last}.json.gz"


def kept_answer(path: str) -> KeptAnswer | None:
    """Return what a file of the folder answers; None for other names."""
    match = _NAME.fullmatch(path)
    if match is None:
        return None
    metric = match["metric"].replace(".", ":")
    if metric not in ALL_NAMES:
        return None
    try:
        first, last = (
            int(datetime.strptime(match[end], _TIME).replace(tzinfo=UTC).timestamp())
            for end in ("first", "last")
        )
    except ValueError:
        return None
    return KeptAnswer(metric, Stretch(first, last))


@dataclass
class AnswerFolder:
    """The answers of one fetch, and of those that went on with it.

    Attributes
    ----------
    path
        Of the folder.
    ledger
        What is known of its files.
    """

    path: Path
    ledger: Ledger

    @classmethod
    def read(cls, path: Path, query: FolderQuery) -> Self:
        """Look into a folder without writing to it.

        Raises
        ------
        UsageError
            It holds the answers to other queries.
        """
        require_same_query(path, query)
        return cls(path, Ledger.read(path))

    @classmethod
    @contextmanager
    def open(cls, path: Path, query: FolderQuery) -> Iterator[Self]:
        """Open a folder for writing, alone.

        Raises
        ------
        UsageError
            It holds the answers to other queries, or another fetch is writing to it.
        """
        with Ledger.open(path) as ledger:
            require_same_query(path, query)
            write_file(path / QUERY, json.dumps(asdict(query), indent=1) + "\n")
            yield cls(path, ledger)

    def intervals(self) -> dict[str, list[Stretch]]:
        """Return the stretches of time that are here, by metric: whole files as they were received."""
        intervals: dict[str, list[Stretch]] = {}
        for path, entry in self.ledger.entries.items():
            answer = kept_answer(path)
            if answer is not None and self.is_whole(path, entry):
                intervals.setdefault(answer.metric, []).append(answer.interval)
        return intervals

    def is_whole(self, path: str, entry: Entry) -> bool:
        """Return whether a file is the one that was received; an empty answer has none."""
        if entry.state == "empty":
            return True
        file = self.path / path
        if entry.state != "done" or not file.is_file():
            return False
        stat = file.stat()
        if stat.st_size != entry.version.size:
            return False
        # Of a folder that was copied, the digests tell.
        return stat.st_mtime_ns == entry.mtime_ns or digest_of(file) == entry.version.digests.get(
            _DIGEST
        )

    def new_file(self, path: str) -> Path:
        """Return where an answer is written until it was judged."""
        draft = self.path / (path + INCOMPLETE)
        draft.parent.mkdir(parents=True, exist_ok=True)
        return draft

    def keep(self, path: str, *, is_empty: bool) -> None:
        """Give an answer that was judged its name; one without any series has no file."""
        draft = self.path / (path + INCOMPLETE)
        if is_empty:
            draft.unlink()
            self.ledger.record(path, Entry("empty", Version(0)))
            return
        with open_regular(draft) as file:
            # On the disk before it has its name: after a power cut a named file would otherwise be empty.
            os.fsync(file.fileno())
        version = Version(draft.stat().st_size, digests={_DIGEST: digest_of(draft)})
        target = self.path / path
        draft.replace(target)
        self.ledger.record(path, Entry("done", version, target.stat().st_mtime_ns))

    def n_files(self) -> int:
        """Return how many answers have a file."""
        return sum(entry.state == "done" for entry in self.ledger.entries.values())

    def size(self) -> int:
        """Return the bytes of all answers."""
        return sum(
            entry.version.size or 0
            for entry in self.ledger.entries.values()
            if entry.state == "done"
        )


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, _DIGEST).hexdigest()


def read_query(path: Path) -> FolderQuery | None:
    """Return what the answers of a folder have in common; None for a folder without answers.

    Raises
    ------
    SourceError
        The folder does not say it.
    """
    file = path / QUERY
    if not file.exists():
        return None
    try:
        return FolderQuery(**json.loads(read_regular(file)))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise SourceError(
            str(file),
            "does not say what the answers beside it are",
            way_out="fetch to another folder",
        ) from error


def require_same_query(path: Path, query: FolderQuery) -> None:
    """Refuse a folder that holds the answers to other queries: together they would be ingested as one cluster.

    Raises
    ------
    UsageError
        It names what differs.
    """
    earlier = read_query(path)
    if earlier is None or earlier == query:
        return
    differences = [
        (name, before, now)
        for (name, before), now in zip(asdict(earlier).items(), asdict(query).values(), strict=True)
        if before != now
    ]
    raise UsageError(
        str(path),
        "holds answers to other queries",
        expected=", ".join(f"{name} {before or 'none'}" for name, before, _ in differences),
        got=", ".join(f"{name} {now or 'none'}" for name, _, now in differences),
        way_out="fetch to another folder",
    )
