"""What a trace format is: one value that holds everything in which two traces differ.

Code that must treat two traces differently asks the dialect; nothing else in the package compares names of formats.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple
from zoneinfo import ZoneInfo

from borgtrace.errors import UsageError
from borgtrace.schema.dialects.raw import Absent, Flattened, RawTable, Source
from borgtrace.schema.enums import EnumName
from borgtrace.schema.records import FILLS, FILLS_OF_WHOLE_LIVES, USE_OF_WHOLE_LIVES
from borgtrace.schema.tables import TABLES, TRACE_TABLES
from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE, TRACE_START

FileFormat = Literal["csv", "json", "parquet", "kaggle", "prometheus", "swf", "log"]
"""How the files of a trace are written."""

Codes = Mapping[Any, str]
"""Name by code: numbers, or the words that the files write."""

EVENTS_FROM_TIMES: Codes = {"SUBMIT": "SUBMIT", "SCHEDULE": "SCHEDULE"}
"""Events that a converted format gives as times of a row, not as words: part of its codes."""

RELATIVE_ORIGIN = datetime(1970, 1, 1, tzinfo=UTC)
"""What 600 s on a trace's clock means where its times are not those of a calendar."""


class PriorityTier(NamedTuple):
    """A tier, and the priorities that belong to it, both ends included."""

    name: str
    lowest: int
    highest: int


ALL_PRIORITIES = PriorityTier("all", 0, 2**31 - 1)
"""The one tier of a format without priorities."""


@dataclass(frozen=True, slots=True)
class Citation:
    """One work; `marks` are the words by which references to it are known."""

    text: str
    address: str
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AnomalyRate:
    """How often a documented anomaly occurs.

    Parameters
    ----------
    expected
        The documented rate in words.
    source
        Where that is written.
    documented
        Lowest and highest share (or count, where `is_count`), such as `exactly`, `at_most` and `some_up_to` make it;
        None where only its existence is documented.
    is_count
        Whether the rate is a number of cases rather than a share.

    Examples
    --------
    >>> AnomalyRate("< 1 %", "the publisher's notes", documented=at_most(0.01)).documented
    (0.0, 0.01)
    """

    expected: str
    source: str
    documented: tuple[float, float] | None = None
    is_count: bool = False


def exactly(share: float) -> tuple[float, float]:
    """Return the range of a rate that is documented as one number; a verdict allows a quarter of the rarer side."""
    return float(share), float(share)


def at_most(share: float) -> tuple[float, float]:
    """Return the range of a rate that is documented as an upper bound."""
    return 0.0, float(share)


def some_up_to(share: float) -> tuple[float, float]:
    """Return the range of a rate of which it is only said that the anomaly occurs: more than none."""
    return sys.float_info.min, float(share)


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
)
class Publication:
    """Where a trace is published.

    Parameters
    ----------
    host
        Address of the server.
    bucket, path
        Templates over cell, table, part, parts and format.
    sums
        The file that lists the SHA-256 of all others, where there is one.
    """

    host: str
    bucket: str
    path: str
    sums: str = ""


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
)
class Conversion:
    """How rows of a format that is not Google's become rows of the store, beside what its fields say.

    Parameters
    ----------
    clock
        Whether times are since 1970 (``"epoch"``), or since the start of the trace (``"relative"``).
    zero
        Time in the files, in µs, that becomes `TRACE_START` where they are relative.
    step
        Length of the window of a measurement that says no end, in µs.
    label
        Which end of its window the time of such a measurement is.
    is_regular
        Whether measurements keep to the step: else a window ends where the next one of its task begins.
    window
        Length of the slots that the measurements of a task are merged into, in µs; None where each stays as it is.
    share_of
        What usage of ``cpu`` and ``memory`` is a share of: ``"request"``, ``"clock"`` (of the cores requested),
        ``"machine"`` or ``"largest"`` (of the machines), or ``"megahertz"`` where it is in MHz and no row says how
        many a core has; resources that are not named are in cores and bytes.
    shares
        Resources whose requests and capacities are shares of the largest machine already.
    dependency_pattern
        Regular expression of the names of tasks that wait for others of their job: its groups are the number of the
        task, and those of the others.
    is_scattered
        Whether files hold series of samples: what several say of one task (at one time) or of one machine is put
        together.
    is_mixed
        Whether one file may hold rows of several tables, and rows without times add to what others say of their task.
    n_narrower
        By how many parts the names of tasks in usage are longer than in rows about tasks: 1 where the former are of
        containers and the latter of pods, -1 the other way round.
    first, last
        First and last instant of the trace on its own clock, in µs, where they are known: what starts at `first` began
        before it, what ends at `last` went on.
    is_cut
        Whether the latest end in the files is that of the trace: what ends then went on.
    per_core
        Columns of `task_rows` whose amounts are of one core: all its cores together have so many times as much.
    per_node
        Columns of `task_rows` whose amounts are of one machine, where a task was on several.
    is_local
        Whether times since 1970, or as text, are those of a place whose time zone somebody has to say.
    has_sizes
        Whether the format says how large machines are; where it does not, and nobody says it, amounts are fractions of
        the largest one that a row has, and the sizes of machines stay unknown.
    """

    clock: Literal["epoch", "relative"] = "relative"
    zero: int = 0
    step: int | None = None
    label: Literal["start", "end"] = "start"
    is_regular: bool = False
    window: int | None = None
    share_of: Mapping[str, str] = field(default_factory=dict)
    shares: tuple[str, ...] = ()
    dependency_pattern: str = ""
    is_scattered: bool = False
    is_mixed: bool = False
    n_narrower: int = 0
    first: int | None = None
    last: int | None = None
    is_cut: bool = False
    per_core: tuple[str, ...] = ()
    per_node: tuple[str, ...] = ()
    is_local: bool = False
    has_sizes: bool = True


# Compared by identity: so a dialect can be the key of a cache, which its mappings could not.
@dataclass(
    frozen=True,
    eq=False,
    kw_only=True,
)
class Dialect:
    """One trace format: everything in which it differs from others.

    The defaults are those of a format whose rows are converted, without priorities, cells or a bucket of its own. The
    rules that values must keep are not part of a format but of the store's columns, so every format is checked in the
    same way.

    Parameters
    ----------
    name
        What ``--generation``, ``--dialect`` and messages call it.
    title
        Its name for readers.
    tables
        Raw tables by name, the small ones first.
    trace
        The trace whose rows these are; what manifests say (the flattened sample of 2019 says ``"2019"``). By default
        `name`.
    formats
        Formats its files come in, the usual one first.
    codes
        For each enumeration the name of each code. A converted format adds `EVENTS_FROM_TIMES` to its words.
    null_codes
        For each enumeration the codes that mean "nothing to say" (NULL).
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
        Tiers of its priorities, in ascending order.
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
        Whether usage windows are all of one length (the last of a task aside); else they are weighted by it.
    flattened
        How rows of a file that joins several tables are taken apart, else None.
    publication
        Where its files are published, where they can be fetched.
    licence
        A sentence about the terms under which it is published; empty where nothing is known of them.
    citations
        What to cite where the trace is used.
    unread
        Published tables that are not read, by the beginning of their files' names, each with the reason.
    conversion
        How rows become rows of the store, where its raw tables hold rows of `borgtrace.schema.records`; else None.

    Examples
    --------
    >>> from borgtrace.schema.dialects import Conversion, RawField, RawTable
    >>> nodes = RawTable("nodes", "machine_rows", (RawField("node", "machine", is_mandatory=True),))
    >>> own = Dialect(name="own", title="Own trace", tables={"nodes": nodes}, conversion=Conversion())
    >>> own.trace, own.source("machine_events", "machine_id")
    ('own', 'nodes.node')
    """

    name: str
    title: str
    tables: Mapping[str, RawTable]
    trace: str = ""
    formats: tuple[FileFormat, ...] = ("csv",)
    codes: Mapping[EnumName, Codes] = field(
        default_factory=lambda: {"event_type": EVENTS_FROM_TIMES}
    )
    null_codes: Mapping[EnumName, tuple[int, ...]] = field(default_factory=dict)
    none: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    dedicated_machine: int | None = None
    absent: Mapping[str, str] = field(default_factory=dict)
    tie_order: Literal["file", "life_cycle"] = "life_cycle"
    shards: Literal["time", "hash"] = "hash"
    tiers: tuple[PriorityTier, ...] = (ALL_PRIORITIES,)
    further_tiers: tuple[PriorityTier, ...] = ()
    origin: datetime = RELATIVE_ORIGIN
    time_zones: Mapping[str, str] = field(default_factory=lambda: {"": "UTC"})
    span: timedelta = timedelta(0)
    anomalies: Mapping[str, AnomalyRate] = field(default_factory=dict)
    has_equal_windows: bool = False
    flattened: Flattened | None = None
    publication: Publication | None = None
    licence: str = ""
    citations: tuple[Citation, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)
    conversion: Conversion | None = None

    def __post_init__(self) -> None:
        if not self.trace:
            object.__setattr__(self, "trace", self.name)

    @property
    def cells(self) -> tuple[str, ...]:
        """Names of its cells; empty where there is one without a name."""
        return tuple(cell for cell in self.time_zones if cell)

    def source(self, table: str, column: str) -> Source:
        """Return where a column of a table of the store comes from, or why it comes from nowhere.

        Parameters
        ----------
        table
            The table of the store.
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
        for raw_table, raw_column in self._columns_behind(table, column):
            for raw in self.tables.values():
                source = raw.source(raw_table, raw_column)
                if source:
                    return source
        return Absent(self._why_absent(table, column))

    def _columns_behind(self, table: str, column: str) -> list[tuple[str, str]]:
        """Return the columns of raw tables, with their tables, that may give a column of the store."""
        if self.conversion is None:
            return [(table, column)]
        columns = []
        names = FILLS.get(table, {}).get(column, ())
        if table == "instance_usage" and self._has_use_of_whole_lives:
            names += FILLS_OF_WHOLE_LIVES.get(column, ())
        for name in names:
            record, _, record_column = name.partition(".")
            columns.append((record, record_column))
        return columns

    @property
    def _has_use_of_whole_lives(self) -> bool:
        filled = {field.column for raw in self.tables.values() for field in raw.fields}
        return bool(filled & set(USE_OF_WHOLE_LIVES))

    def publishes(self, column: str, table: str | None = None) -> bool:
        """Return whether raw files hold a column of a table of the store.

        Parameters
        ----------
        column
            The column.
        table
            The table of the store; any table of the trace where None.

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

    @property
    def spoken_name(self) -> str:
        """What messages call the trace: the name of a format that was guessed says nothing to its owner."""
        return "own data" if self.name.startswith("own-") else self.trace

    def publishes_table(self, table: str) -> bool:
        """Return whether raw files hold any column of a table of the store.

        Examples
        --------
        >>> from borgtrace.schema.dialects import dialect
        >>> [dialect(name).publishes_table("instance_usage") for name in ("2011", "openb")]
        [True, False]
        """
        return any(self.publishes(column, table) for column in TABLES[table].names)

    def can_fill(self, table: str, column: str) -> bool:
        """Return whether a store of the trace can have values in a column.

        Parameters
        ----------
        table
            Its table; of a derived table, the tables that it is made of count.
        column
            The column.

        Examples
        --------
        >>> from borgtrace.schema.dialects import dialect
        >>> columns = ("disk_request", "gpu_request", "n_windows")
        >>> [dialect("2011").can_fill("tasks", name) for name in columns]
        [True, False, True]
        """
        if column in _DERIVED:
            return True
        if table in TRACE_TABLES:
            return self.publishes(column, table)
        sources = [source.name for source in TRACE_TABLES.values() if column in source.names]
        return not sources or any(self.publishes(column, name) for name in sources)

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
