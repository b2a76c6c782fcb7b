"""The buckets that traces are published in; where they are and how files are named, the dialect says.

Sources: the 2011 format document ("Obtaining the data") and ``ClusterData2019.md``.  The buckets answer plain
HTTPS without an account, and none of them promises a listing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from borgtrace.errors import UsageError, check_names
from borgtrace.schema import TRACE_TABLES
from borgtrace.schema.dialects import DIALECTS, Dialect, Publication
from borgtrace.schema.ranges import ALL, Numbers


@dataclass(frozen=True, slots=True)
class Bucket:
    """One published trace: its dialect and publication, its cell, the format of its files.

    Examples
    --------
    >>> one = bucket("2019", "a")
    >>> one.url
    'https://storage.googleapis.com/clusterdata_2019_a'
    >>> one.path("instance_usage", 7)
    'instance_usage-000000000007.json.gz'
    >>> bucket("2011").path("task_events", 7)
    'task_events/part-00007-of-00500.csv.gz'
    """

    dialect: Dialect
    publication: Publication
    cell: str
    format: str

    @property
    def name(self) -> str:
        """Name of the bucket, and of the folder its files are kept in."""
        return self.publication.bucket.format(cell=self.cell)

    @property
    def url(self) -> str:
        """Public address of the bucket."""
        return f"{self.publication.host}/{self.name}"

    @property
    def tables(self) -> tuple[str, ...]:
        """Raw tables, the small ones first."""
        return tuple(self.dialect.tables)

    def n_parts(self, table: str) -> int | None:
        """Return how many files a table has, or None where only asking can tell (2019)."""
        return self.dialect.tables[table].parts

    def path(self, table: str, part: int) -> str:
        """Return the path of one file inside the bucket."""
        return self.publication.path.format(
            table=table, part=part, parts=self.n_parts(table), format=self.format
        )

    def select_tables(self, names: Sequence[str]) -> list[str]:
        """Return the raw tables meant by `names` (raw or canonical), in the bucket's order; all if empty.

        Raises
        ------
        UsageError
            A name that this trace does not have.

        Examples
        --------
        >>> bucket("2011").select_tables(["instance_events", "machine_events"])
        ['machine_events', 'task_events']
        """
        # Canonical names lead to the raw table that holds them (constraints of 2019 lie in instance_events), raw
        # names to themselves.
        raw_names = {
            part.table: raw.name
            for raw in self.dialect.tables.values()
            for part in (*raw.lists, raw)
        } | {name: name for name in self.tables}
        for name in names:
            if name not in raw_names:
                expected = ", ".join(self.tables)
                raise UsageError(
                    "--tables",
                    f"{self.dialect.name} has no such table",
                    expected=expected,
                    got=name,
                )
        wanted = {raw_names[name] for name in names} or set(self.tables)
        return [table for table in self.tables if table in wanted]

    def parts_of(self, table: str, parts: Numbers) -> Numbers:
        """Return the parts wanted of one table: all of those about machines, which are small and which all need."""
        return ALL if TRACE_TABLES[self.dialect.tables[table].table].is_about_machines else parts


def bucket(generation: str, cell: str = "", raw_format: str | None = None) -> Bucket:
    """Return the bucket of a trace and cell, or say what is wrong with the request.

    Parameters
    ----------
    generation
        ``"2011"`` or ``"2019"``.
    cell
        A letter from a to h where the trace has cells; else empty.
    raw_format
        ``"json"`` or ``"parquet"`` where there is a choice; None: the first that is published.

    Raises
    ------
    UsageError
        Unknown trace, cell or format, or a cell where there is none (2011).

    Examples
    --------
    >>> bucket("2011").name
    'clusterdata-2011-2'
    """
    published = {one.name: one for one in DIALECTS.values() if one.publication}
    check_names("GENERATION", [generation], published, "no such trace")
    found = published[generation]
    cells, formats = found.cells, found.formats
    if cell and not cells:
        raise UsageError(
            "--cell", f"{generation} is one cell without a name", expected="no --cell", got=cell
        )
    # No default: the eight cells are eight traces of their own.
    if cells and cell not in cells:
        what, expected = f"{generation} has {len(cells)} cells", f"one of {cells[0]} … {cells[-1]}"
        raise UsageError(
            "--cell", what, expected=expected, got=cell or "none", way_out=f"try --cell {cells[0]}"
        )
    chosen = formats[0] if raw_format is None else raw_format
    check_names("--format", [chosen], formats, f"{generation} is not published in this format")
    assert found.publication is not None
    return Bucket(found, found.publication, cell, chosen)
