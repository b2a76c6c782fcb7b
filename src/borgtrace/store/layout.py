"""Where the files and folders of a store are, and what they are called."""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.schema import TABLES
from borgtrace.schema.arrow import arrow_schema
from borgtrace.schema.evolution import names_in_files
from borgtrace.storage import INCOMPLETE, RemotePath, user_cache
from borgtrace.storage.sparse_copy import local_copies

FORMAT_VERSION = "1.1"
"""Major.minor of the store's layout; another major version is refused. 1.1: content digests."""


class Layout:
    """Paths inside the store at ``root``.

    Parameters
    ----------
    root
        The store's folder.
    staging
        Folder of staged parts, where it is not in the store.
    """

    def __init__(self, root: Path, staging: Path | None = None) -> None:
        self.root = root
        self.manifest = root / "manifest.json"
        """What the store holds; written last."""
        self.traces = root / "traces"
        """Memory-mapped usage columns in task order."""
        self.quarantine = root / "quarantine"
        """Refused rows with their reasons."""
        self.cache = root / "cache"
        """Derived tables that several questions share; may be deleted at any time."""
        self.shared_cache = self.cache
        """The same where workers see it: in the bucket of a store in one, whose other aggregates are kept here."""
        self.staging = staging or root / "staging"
        """Checked Parquet parts that wait to be clustered; in a bucket where that is all that workers share."""
        self.discarded = root / f"staging{INCOMPLETE}"
        """Those parts once the store holds their rows: nobody reads them, and any process may remove them."""
        self.replaced = root / f"replaced{INCOMPLETE}"
        """Tables of the version before, which the next one has just replaced: nobody reads them by a name any more."""
        self.next = root / "next"
        """A finished new version of tables, about to replace the present one."""
        self.unfinished = root / f"next{INCOMPLETE}"
        """That version while it is made; its name has no process number, so that the next process can remove it.

        It keeps files that alone have rows which were staged, see `borgtrace.ingest.build.freed_rows`.
        """
        self.spill = root / f"spill{INCOMPLETE}"
        """Where external sorts spill."""
        self.lock = root / ".lock"
        """Held by the one process that writes."""
        if self.is_remote:
            self.cache = user_cache() / "stores" / source_key(str(root))

    @property
    def is_remote(self) -> bool:
        """Whether the store is in a bucket: it is read only."""
        return isinstance(self.root, RemotePath)

    @cached_property
    def _all_parts(self) -> list[Path]:
        # One request for all tables of a bucket: a finished store does not change.
        return list(self.root.glob("*/part-*.parquet"))

    def table(self, name: str) -> Path:
        """Return the folder of a table's Parquet files."""
        return self.root / name

    def parts(self, name: str) -> list[Path]:
        """Return the Parquet files of a table, in order; empty where there is none."""
        folder = self.table(name)
        if self.is_remote:
            files = [path for path in self._all_parts if path.parent == folder]
        else:
            files = list(folder.glob("part-*.parquet"))
        # Names have five digits, so that the order of the names is the order of the rows.
        return sorted(files)

    def local_parts(self, name: str) -> list[Path]:
        """Return the files of a table as files of this machine: those of a bucket are copied, once."""
        return local_copies(self.parts(name))

    def tasks(self, columns: Sequence[str]) -> pa.Table:
        """Read columns of the table ``tasks``; one that an earlier version did not write is NULL."""
        table = TABLES["tasks"]
        parts = self.local_parts("tasks")
        stored_names = names_in_files(table, pq.read_schema(parts[0]).names)
        wanted = [stored_names[column] for column in columns]
        present = [name for name in wanted if name is not None]
        # Without partitions: a folder called `priority=3` above the store is no column.
        stored = pq.read_table(parts, columns=present, partitioning=None)
        schema = arrow_schema(table)
        arrays = []
        for column, name in zip(columns, wanted, strict=True):
            if name is None:
                arrays.append(pa.nulls(stored.num_rows, schema.field(column).type))
            else:
                arrays.append(stored.column(name))
        return pa.table(arrays, names=list(columns))

    def refused(self, table: str, source: str) -> Path:
        """Return the file of a source's refused rows; there is none where all were stored."""
        return self.quarantine / table / f"{source_key(source)}.parquet"

    def array(self, column: str) -> Path:
        """Return the file of one trace column."""
        return self.traces / f"{column}.npy"


def source_key(name: str) -> str:
    """Return the name of files that are made from a source.

    Examples
    --------
    >>> source_key("task_usage/part-00001")
    'task_usage-part-00001'
    >>> source_key("usage/day1/part-00001")
    'usage-day1-part-00001-1e9ab61d'
    """
    letters = [letter if letter.isalnum() or letter in "-_." else "-" for letter in name]
    key = "".join(letters)
    if not folder_of(name):
        return key
    # Folders ``a/b`` and ``a-b`` must not share a name.
    digest = hashlib.sha256(name.encode()).hexdigest()
    return f"{key}-{digest[:8]}"


def folder_of(name: str) -> str:
    """Return the folder by which a source differs from others of the same name.

    Examples
    --------
    >>> folder_of("usage/day1/part-00001")
    'day1'
    """
    return "/".join(name.split("/")[1:-1])


def name_alone(name: str) -> str:
    """Return the name of a source without its folder.

    Examples
    --------
    >>> name_alone("usage/day1/part-00001")
    'usage/part-00001'
    """
    names = name.split("/")
    return f"{names[0]}/{names[-1]}"


def part_name(number: int) -> str:
    """Return the file name of a table's `number`-th Parquet file.

    Examples
    --------
    >>> part_name(3)
    'part-00003.parquet'
    """
    return f"part-{number:05d}.parquet"
