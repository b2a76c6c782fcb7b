"""What a trace format is: one value that holds everything in which two traces differ.

Code that must treat two traces differently asks the dialect; nothing else in the package compares names of formats.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

from borgtrace.errors import UsageError
from borgtrace.schema.data_files import read_rows
from borgtrace.schema.dialects.raw import Absent, Flattened, RawTable, Source
from borgtrace.schema.records import FILLS
from borgtrace.schema.tables import TABLES, TRACE_TABLES
from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE, TRACE_START

Tiers = tuple[tuple[str, int, int], ...]
"""(tier, lowest, highest) priority, ascending."""

Codes = Mapping[Any, str]
"""Name by code: numbers, or the words that the files write."""


@dataclass(frozen=True, slots=True)
class Citation:
    """One work; `marks` are the words by which references to it are known."""

    text: str
    address: str
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rate:
    """How often a documented anomaly occurs.

    Parameters
    ----------
    expected
        The documented rate in words.
    source
        Where that is written.
    documented
        Lowest and highest share (or count, where `is_count`); None where only its existence is documented.
    """

    expected: str
    source: str
    documented: tuple[float, float] | None = None
    is_count: bool = False


@dataclass(frozen=True, slots=True)
class Publication:
    """Where a trace is published: `bucket` and `path` are templates over cell, table, part, parts and format.

    `sums` is the file that lists the SHA-256 of all others, where there is one.
    """

    host: str
    bucket: str
    path: str
    sums: str = ""


@dataclass(frozen=True, slots=True)
class Conversion:
    """How rows of a format that is not Google's become canonical ones, beside what its fields say.

    Parameters
    ----------
    clock
        Whether times are since 1970 (``"epoch"``), or since the start of the trace (``"relative"``).
    step
        Length of the window of a measurement that says no end, in µs.
    label
        Which end of its window the time of such a measurement is.
    is_regular
        Whether measurements keep to the step: else a window ends where the next one of its task begins.
    window
        Length of the slots that the measurements of a task are merged into, in µs; None where each stays as it is.
    of
        Of what usage of ``cpu`` and ``memory`` is a share: ``"request"``, ``"clock"`` (of the cores requested),
        ``"machine"`` or ``"largest"`` (of the machines); else it is in cores and bytes.
    shares
        Resources whose requests and capacities are shares of the largest machine already.
    waits
        Regular expression of the names of tasks that wait for others of their job: its groups are the number of the
        task, and those of the others.
    is_scattered
        Whether files tell parts of a row: those of one task (at one time) and of one machine are put together.
    first, last
        First and last instant of the trace on its own clock, in µs, where they are known: what starts at the one began
        before it, what ends at the other went on.
    is_cut
        Whether the latest end that the files tell is that of the trace: what ends then went on.
    """

    clock: Literal["epoch", "relative"] = "relative"
    step: int | None = None
    label: Literal["start", "end"] = "start"
    is_regular: bool = False
    window: int | None = None
    of: Mapping[str, str] = field(default_factory=dict)
    shares: tuple[str, ...] = ()
    waits: str = ""
    is_scattered: bool = False
    first: int | None = None
    last: int | None = None
    is_cut: bool = False


# Compared by identity: so a dialect can be the key of a cache, which its mappings could not.
@dataclass(frozen=True, eq=False)
class Dialect:
    """One trace format.

    Parameters
    ----------
    name
        What ``--generation``, ``--dialect`` and messages call it.
    trace
        The trace whose rows these are; what manifests say (the flattened sample of 2019 says ``"2019"``).
    formats
        Formats its files come in, the usual one first.
    tables
        Raw tables by name, the small ones first.
    codes, null_codes
        For each enumeration the name of each code, and the codes that mean "nothing to say" (NULL).
    none
        Numbers that stand for "none" and become NULL, by column; where a column is mandatory its row is refused.
    dedicated_machine
        The number that stands for a machine of its own, where there is one.
    absent
        Why a column is not published, by column, ``table.column`` or table.
    tie_order
        What settles equal times: the order of the files, or the life cycle (where shards are unordered).
    shards
        Whether the parts of a table are cut by time or by a hash.
    tiers
        Tiers of its priorities.
    further_tiers
        Names of parts of these, which can be asked for: questions that divide all tasks do not know them.
    origin
        The instant of `TRACE_START`.
    time_zones
        Time zone of each cell; of the cell ``""`` where cells have no names.
    span
        Length of the whole published trace.
    anomalies
        Rates of its documented anomalies.
    has_equal_windows
        Whether usage windows are all of one length (the last of a task aside); else weigh them by it.
    flattened
        How rows of a file that joins several tables are taken apart, else None.
    licence
        A sentence about the terms under which it is published; empty where nothing is known of them.
    conversion
        How rows become canonical, where its raw tables hold rows of `borgtrace.schema.records`; else None.
    """

    name: str
    trace: str
    title: str
    formats: tuple[str, ...]
    tables: Mapping[str, RawTable]
    codes: Mapping[str, Codes]
    tie_order: Literal["file", "life_cycle"]
    shards: Literal["time", "hash"]
    tiers: Tiers
    origin: datetime
    span: timedelta
    time_zones: Mapping[str, str]
    anomalies: Mapping[str, Rate]
    publication: Publication | None
    null_codes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    none: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    dedicated_machine: int | None = None
    has_equal_windows: bool = False
    flattened: Flattened | None = None
    licence: str = ""
    further_tiers: Tiers = ()
    conversion: Conversion | None = None

    @property
    def citations(self) -> tuple[Citation, ...]:
        """What to cite where the trace is used: the rows of ``citations.csv`` of it."""
        rows = read_rows(Path(__file__).with_name("citations.csv"))
        return tuple(
            Citation(row["text"], row["address"]) for row in rows if row["trace"] == self.trace
        )

    @property
    def cells(self) -> tuple[str, ...]:
        """Names of its cells; empty where there is one without a name."""
        return tuple(cell for cell in self.time_zones if cell)

    def source(self, table: str, column: str) -> Source:
        """Return where a column of a canonical table comes from, or why it comes from nowhere.

        Parameters
        ----------
        table
            The canonical table.
        column
            One of its columns.

        Examples
        --------
        >>> from borgtrace.schema.dialects import dialect
        >>> dialect("2011").source("instance_usage", "average_cpu")
        'task_usage.6'
        >>> dialect("2019").source("instance_usage", "average_cpu")
        'instance_usage.average_usage.cpus'
        >>> dialect("2011").source("instance_usage", "alloc_collection_id").reason
        '2011 has no alloc sets'
        """
        if table not in TRACE_TABLES:
            return Absent("derived at ingest")
        wanted = [(table, column)]
        if self.conversion:
            wanted = [
                (each.split(".")[0], each.split(".")[1])
                for each in FILLS.get(table, {}).get(column, ())
            ]
        found = (raw.source(*each) for each in wanted for raw in self.tables.values())
        return next(filter(None, found), Absent(self._why_absent(table, column)))

    def publishes(self, column: str, table: str | None = None) -> bool:
        """Return whether raw files hold a column of a canonical table (of any table, where None).

        Parameters
        ----------
        column
            The canonical column.
        table
            The canonical table; any table of the trace where None.

        Examples
        --------
        >>> from borgtrace.schema.dialects import dialect
        >>> [dialect(name).publishes("alloc_collection_id") for name in ("2011", "2019")]
        [False, True]
        """
        tables = TRACE_TABLES if table is None else (table,)
        return any(
            isinstance(self.source(name, column), str)
            for name in tables
            if column in TABLES[name].names
        )

    def tells(self, table: str, column: str) -> bool:
        """Return whether a store of the trace can have values in a column; of a derived table, in what it is made of.

        Parameters
        ----------
        table
            Its table.
        column
            The canonical column.

        Examples
        --------
        >>> from borgtrace.schema.dialects import dialect
        >>> [dialect("2011").tells("tasks", name) for name in ("disk_request", "gpu_request", "n_windows")]
        [True, False, True]
        """
        tables = (
            [table]
            if table in TRACE_TABLES
            else [each.name for each in TRACE_TABLES.values() if column in each.names]
        )
        return (
            not tables or column in _DERIVED or any(self.publishes(column, name) for name in tables)
        )

    def tier_of(self, priority: int) -> str:
        """Name the tier of a priority; KeyError outside the published range.

        Raises
        ------
        KeyError
            No tier has the priority.

        Examples
        --------
        >>> from borgtrace.schema.dialects import dialect
        >>> dialect("2019").tier_of(115), dialect("2011").tier_of(9)
        ('beb', 'production')
        """
        for name, lowest, highest in self.tiers:
            if lowest <= priority <= highest:
                return name
        raise KeyError(priority)

    def time_zone(self, cell: str = "") -> str:
        """Return the time zone of a cell; UTC where the cell is not known.

        Examples
        --------
        >>> from borgtrace.schema.dialects import dialect
        >>> dialect("2019").time_zone("g")
        'Asia/Singapore'
        """
        return self.time_zones.get(cell if self.cells else "", "UTC")

    def wall_clock(self, time: int, cell: str = "") -> datetime:
        """Convert a trace time in µs to the local time of a cell.

        Parameters
        ----------
        time
            On the trace's clock, in µs.
        cell
            Name of the cell, where cells have names.

        Raises
        ------
        UsageError
            For the sentinels 0 and 2⁶³−1, which are not instants.

        Examples
        --------
        >>> from borgtrace.schema.dialects import dialect
        >>> dialect("2011").wall_clock(600_000_000).isoformat()
        '2011-05-01T19:00:00-04:00'
        """
        if time in (BEFORE_TRACE, AFTER_TRACE):
            raise UsageError(
                "time",
                "a sentinel has no wall clock",
                expected="a time inside the trace",
                got=str(time),
            )
        # By way of UTC: adding to a local time would ignore that daylight saving begins or ends in between.
        instant = self.origin.astimezone(UTC) + timedelta(microseconds=time - TRACE_START)
        return instant.astimezone(ZoneInfo(self.time_zone(cell)))

    def _why_absent(self, table: str, column: str) -> str:
        # The narrower reason first: a column may be absent from one table only.
        for key in (f"{table}.{column}", column):
            if key in self.absent:
                return self.absent[key]
        return _DERIVED.get(column) or self.absent.get(table, f"not published in {self.trace}")


_DERIVED = {
    "source_part": "given at ingest",
    "source_row": "given at ingest",
    "position": "given at ingest",
    "is_on_dedicated_machine": "derived: true where the raw machine id is −1",
}
