"""The buckets that traces are published in; the dialect says where they are and how files are named.

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
            table=table,
            part=part,
            parts=self.n_parts(table),
            format=self.format,
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
        if not names:
            return list(self.tables)
        raw_names = self._raw_names()
        for name in names:
            if name not in raw_names:
                raise UsageError(
                    "--tables",
                    f"{self.dialect.name} has no such table",
                    expected=", ".join(self.tables),
                    got=name,
                )
        wanted = {raw_names[name] for name in names}
        return [table for table in self.tables if table in wanted]

    def _raw_names(self) -> dict[str, str]:
        """Return the raw table that each name means."""
        raw_names: dict[str, str] = {}
        # Canonical names mean the raw table that holds them (constraints of 2019 lie in instance_events) …
        for raw in self.dialect.tables.values():
            for part in (*raw.lists, raw):
                raw_names[part.table] = raw.name
        # … and raw names mean themselves.
        for name in self.tables:
            raw_names[name] = name
        return raw_names

    def parts_of(self, table: str, parts: Numbers) -> Numbers:
        """Return the wanted parts of one table: all of those about machines, which are small and always needed."""
        canonical = self.dialect.tables[table].table
        return ALL if TRACE_TABLES[canonical].is_about_machines else parts


def bucket(
    generation: str,
    cell: str = "",
    raw_format: str | None = None,
) -> Bucket:
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
    published = {dialect.name: dialect for dialect in DIALECTS.values() if dialect.publication}
    check_names("GENERATION", [generation], published, "no such trace")
    dialect = published[generation]
    _check_cell(dialect, cell)
    chosen_format = dialect.formats[0] if raw_format is None else raw_format
    what = f"{generation} is not published in this format"
    check_names("--format", [chosen_format], dialect.formats, what)
    assert dialect.publication is not None
    return Bucket(dialect, dialect.publication, cell, chosen_format)


def _check_cell(dialect: Dialect, cell: str) -> None:
    cells = dialect.cells
    if cell and not cells:
        raise UsageError(
            "--cell",
            f"{dialect.name} is one cell without a name",
            expected="no --cell",
            got=cell,
        )
    # No default: the eight cells are eight separate traces.
    if cells and cell not in cells:
        first = cells[0]
        last = cells[-1]
        raise UsageError(
            "--cell",
            f"{dialect.name} has {len(cells)} cells",
            expected=f"one of {first} … {last}",
            got=cell or "none",
            way_out=f"try --cell {first}",
        )
