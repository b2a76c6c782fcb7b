"""Where things are in a store: paths only."""

from pathlib import Path

from borgtrace.storage import INCOMPLETE

FORMAT_VERSION = "1.1"
"""Major.minor of the store's layout; another major version is refused.  1.1: content digests."""


class Layout:
    """Paths inside the store at ``root``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.manifest = root / "manifest.json"
        """What the store holds; written last."""
        self.traces = root / "traces"
        """Memory-mapped usage columns in task order."""
        self.quarantine = root / "quarantine"
        """Refused rows with their reasons."""
        self.cache = root / "cache"
        """Derived tables that several questions share; may be deleted at any time."""
        self.staging = root / "staging"
        """Checked Parquet parts that wait to be clustered."""
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

    def table(self, name: str) -> Path:
        """Folder of a table's Parquet files."""
        return self.root / name

    def parts(self, name: str) -> list[Path]:
        """Parquet files of a table, in order; empty where there is none."""
        # Names have five digits, so that the order of the names is the order of the rows.
        return sorted(self.table(name).glob("part-*.parquet"))

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
    return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name)


def part_name(number: int) -> str:
    """Return the file name of a table's `number`-th Parquet file.

    Examples
    --------
    >>> part_name(3)
    'part-00003.parquet'
    """
    return f"part-{number:05d}.parquet"
