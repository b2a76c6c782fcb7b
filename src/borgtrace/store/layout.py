"""Where things are in a store."""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.storage import INCOMPLETE, RemotePath, user_cache
from borgtrace.storage.sparse_copy import local_copies

FORMAT_VERSION = "1.1"
"""Major.minor of the store's layout; another major version is refused.  1.1: content digests."""


class Layout:
    """Paths inside the store at ``root``."""

    def __init__(self, root: Path, staging: Path | None = None) -> None:
        self.root = root
        self.manifest = root / "manifest.json"
        """What the store holds; written last."""
        self.traces = root / "traces"
        """Memory-mapped usage columns in task order."""
        self.quarantine = root / "quarantine"
        """Refused rows with their reasons."""
        self.cache = (
            user_cache() / "stores" / source_key(str(root)) if self.is_remote else root / "cache"
        )
        """Derived tables that several questions share; may be deleted at any time."""
        self.staging = staging or root / "staging"
        """Checked Parquet parts that wait to be clustered; in a bucket where it is all that workers share."""
        self.discarded = root / f"staging{INCOMPLETE}"
        """Those parts once the store holds their rows: nobody reads them, and whoever finds them removes them."""
        self.next = root / "next"
        """A finished new version of tables, about to replace the present one."""
        self.unfinished = root / f"next{INCOMPLETE}"
        """That version while it is made; without the number of a process, for the next one to find and remove."""
        self.spill = root / f"spill{INCOMPLETE}"
        """Where external sorts spill."""
        self.lock = root / ".lock"
        """Held by the one process that writes."""

    @property
    def is_remote(self) -> bool:
        """Whether the store is in a bucket: it is read only."""
        return isinstance(self.root, RemotePath)

    @cached_property
    def _listed(self) -> list[Path]:
        # One request for all tables of a bucket, which a finished store never changes.
        return list(self.root.glob("*/part-*.parquet"))

    def table(self, name: str) -> Path:
        """Folder of a table's Parquet files."""
        return self.root / name

    def parts(self, name: str) -> list[Path]:
        """Parquet files of a table, in order; empty where there is none."""
        folder = self.table(name)
        # Names have five digits, so that the order of the names is the order of the rows.
        if self.is_remote:
            return sorted(path for path in self._listed if path.parent == folder)
        return sorted(folder.glob("part-*.parquet"))

    def here(self, name: str) -> list[Path]:
        """Files of a table as files of this machine: those of a bucket are copied, once."""
        return local_copies(self.parts(name))

    def tasks(self, columns: Sequence[str]) -> pa.Table:
        """Read columns of the table ``tasks``."""
        return pq.read_table(self.here("tasks"), columns=list(columns))

    def refused(self, table: str, source: str) -> Path:
        """File of the rows of a source that were refused; there is none where all were stored."""
        return self.quarantine / table / f"{source_key(source)}.parquet"

    def array(self, column: str) -> Path:
        """File of one trace column."""
        return self.traces / f"{column}.npy"

    def array_digest(self, column: str) -> Path:
        """File of the SHA-256 of a trace column that was made on first use: the manifest lists the others."""
        return self.traces / f"{column}.npy.sha256"


def source_key(name: str) -> str:
    """Return what files made of a source are called: ``task_usage/part-00001`` → ``task_usage-part-00001``."""
    key = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name)
    # Folders ``a/b`` and ``a-b`` are two.
    return f"{key}-{hashlib.sha256(name.encode()).hexdigest()[:8]}" if folder_of(name) else key


def folder_of(name: str) -> str:
    """Return what tells a source apart from others of the same name: ``usage/day1/part-00001`` → ``day1``."""
    return "/".join(name.split("/")[1:-1])


def name_alone(name: str) -> str:
    """Return the name of a source without its folder: ``usage/day1/part-00001`` → ``usage/part-00001``."""
    return f"{name.partition('/')[0]}/{name.rpartition('/')[2]}"


def part_name(number: int) -> str:
    """Return the file name of a table's `number`-th Parquet file.

    Examples
    --------
    >>> part_name(3)
    'part-00003.parquet'
    """
    return f"part-{number:05d}.parquet"
