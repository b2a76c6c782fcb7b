"""Where Google publishes the traces: buckets, tables, file names.

Sources: the 2011 format document ("Obtaining the data") and ``ClusterData2019.md``.  Both buckets
answer plain HTTPS without an account, and neither promises a listing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from borgtrace.errors import UsageError
from borgtrace.schema import Generation
from borgtrace.schema.dialects import GOOGLE_2011, GOOGLE_2019

RawFormat = Literal["csv", "json", "parquet"]

CELLS = "abcdefgh"
TABLES_2019 = tuple(GOOGLE_2019.tables)
"""Raw tables of 2019; constraints are nested in the events there."""
WHOLE_TABLES = ("machine_events", "machine_attributes")
"""Small tables that come whole whatever parts are asked for: every analysis needs all machines."""

_HOST = {"2011": "https://commondatastorage.googleapis.com", "2019": "https://storage.googleapis.com"}


@dataclass(frozen=True, slots=True)
class Bucket:
    """One published trace: a generation, its cell, the format of its files.

    Examples
    --------
    >>> bucket = Bucket("2019", "a", "json")
    >>> bucket.url
    'https://storage.googleapis.com/clusterdata_2019_a'
    >>> bucket.path("instance_usage", 7)
    'instance_usage-000000000007.json.gz'
    >>> Bucket("2011", "", "csv").path("task_events", 7)
    'task_events/part-00007-of-00500.csv.gz'
    """

    generation: Generation
    cell: str
    format: RawFormat

    @property
    def name(self) -> str:
        """Name of the bucket, and of the folder its files are kept in."""
        return "clusterdata-2011-2" if self.generation == "2011" else f"clusterdata_2019_{self.cell}"

    @property
    def url(self) -> str:
        """Public address of the bucket."""
        return f"{_HOST[self.generation]}/{self.name}"

    @property
    def has_sums(self) -> bool:
        """Whether a file beside the tables lists checksums."""
        return self.generation == "2011"

    @property
    def tables(self) -> tuple[str, ...]:
        """Raw tables of this generation, the small ones first."""
        return tuple(GOOGLE_2011.tables) if self.generation == "2011" else TABLES_2019

    def n_parts(self, table: str) -> int | None:
        """Return how many files a table has, or None where only asking can tell (2019)."""
        return GOOGLE_2011.tables[table].parts if self.generation == "2011" else None

    def path(self, table: str, part: int) -> str:
        """Return the path of one file inside the bucket."""
        if self.generation == "2011":
            return f"{table}/part-{part:05d}-of-{GOOGLE_2011.tables[table].parts:05d}.csv.gz"
        return f"{table}-{part:012d}.{self.format}.gz"


def bucket(generation: str, cell: str = "", raw_format: str | None = None) -> Bucket:
    """Return the bucket of a generation and cell, or say what is wrong with the request.

    Raises
    ------
    UsageError
        Unknown generation, cell or format, or a cell where there is none (2011).

    Examples
    --------
    >>> bucket("2011").name
    'clusterdata-2011-2'
    """
    if generation == "2011":
        return _bucket_2011(cell, raw_format)
    if generation != "2019":
        raise UsageError("GENERATION", "no such trace", expected="2011 or 2019", got=generation)
    if len(cell) != 1 or cell not in CELLS:
        raise UsageError(
            "--cell", "2019 has eight cells", expected="one of a … h", got=cell or "none", way_out="try --cell a"
        )
    if raw_format not in (None, "json", "parquet"):
        raise UsageError("--format", "no such format in 2019", expected="json or parquet", got=raw_format)
    return Bucket("2019", cell, "parquet" if raw_format == "parquet" else "json")


def _bucket_2011(cell: str, raw_format: str | None) -> Bucket:
    if cell:
        raise UsageError("--cell", "2011 is one cell without a name", expected="no --cell", got=cell)
    if raw_format not in (None, "csv"):
        raise UsageError("--format", "2011 is published as CSV only", expected="csv", got=raw_format)
    return Bucket("2011", "", "csv")
