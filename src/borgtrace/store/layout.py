"""Where things are in a store: paths only."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from borgtrace.storage import INCOMPLETE

FORMAT_VERSION = "1.1"
"""Major.minor of the store's layout; another major version is refused.  1.1: content digests."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Paths inside the store at ``root``."""

    root: Path

    @property
    def manifest(self) -> Path:
        """What the store holds; written last."""
        return self.root / "manifest.json"

    @property
    def traces(self) -> Path:
        """Memory-mapped usage columns in task order."""
        return self.root / "traces"

    @property
    def quarantine(self) -> Path:
        """Refused rows with their reasons."""
        return self.root / "quarantine"

    @property
    def cache(self) -> Path:
        """Derived tables that several questions share; may be deleted at any time."""
        return self.root / "cache"

    @property
    def staging(self) -> Path:
        """Checked Parquet parts that wait to be clustered."""
        return self.root / "staging"

    @property
    def next(self) -> Path:
        """A finished new version of tables, about to replace the present one."""
        return self.root / "next"

    @property
    def unfinished(self) -> Path:
        """That version while it is made; without the number of a process, for the next one to find and remove."""
        return self.root / f"next{INCOMPLETE}"

    @property
    def spill(self) -> Path:
        """Where external sorts spill."""
        return self.root / f"spill{INCOMPLETE}"

    @property
    def lock(self) -> Path:
        """Held by the one process that writes."""
        return self.root / ".lock"

    def table(self, name: str) -> Path:
        """Folder of a table's Parquet files."""
        return self.root / name

    def parts(self, name: str) -> list[Path]:
        """Parquet files of a table, in order; empty where there is none."""
        # Names have five digits, so that the order of the names is the order of the rows.
        return sorted(self.table(name).glob("part-*.parquet"))

    def array(self, column: str) -> Path:
        """File of one trace column."""
        return self.traces / f"{column}.npy"


def part_name(number: int) -> str:
    """Return the file name of a table's `number`-th Parquet file.

    Examples
    --------
    >>> part_name(3)
    'part-00003.parquet'
    """
    return f"part-{number:05d}.parquet"
