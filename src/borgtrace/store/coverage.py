"""How much of the whole trace a store holds, table by table."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise

from borgtrace.schema import TRACE_TABLES, Dialect
from borgtrace.schema.time import TRACE_START
from borgtrace.store.manifest import Manifest, SourceEntry

DECLARED_WHOLE = "The files were declared to be all of the trace."
"""Note of a manifest, for tables whose number of parts nobody publishes."""
DERIVED_EVENTS = "Events are derived: each task is submitted and scheduled where its usage begins, and has no end."
"""Note of a manifest, for own data that has usage alone: nothing in it tells how long a task waited."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of one table a store holds.

    Parameters
    ----------
    rows
        Rows in the store.
    parts
        Numbers of the parts that were ingested, ascending.
    of
        Number of parts of the whole table; None where it is not known.
    span
        Time between its first and its last row inside the trace, in µs.
    """

    rows: int
    parts: tuple[int, ...] = ()
    of: int | None = None
    span: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether no part is missing; False where the number of parts is not known."""
        return self.of is not None and len(self.parts) >= self.of

    @property
    def is_contiguous(self) -> bool:
        """Whether the parts follow each other without a gap."""
        return all(after == before + 1 for before, after in pairwise(self.parts))


@dataclass(frozen=True, slots=True)
class StoreCoverage:
    """How much of a trace a store holds.

    Parameters
    ----------
    dialect
        Format of the trace.
    tables
        Coverage of each table of the trace.
    n_tasks
        Tasks in the store; None where they were not counted.
    is_subset
        Whether it was cut out of another store.
    is_sample
        Whether it was cut out by chance: then shares of heavy-tailed quantities differ from those of the whole.
    is_synthetic
        Whether it was generated, so that it is none of the published cells.
    """

    dialect: Dialect
    tables: Mapping[str, Coverage]
    n_tasks: int | None
    is_subset: bool = False
    is_sample: bool = False
    is_synthetic: bool = False

    @property
    def span(self) -> int:
        """Longest span of any table, in µs."""
        return max((table.span for table in self.tables.values()), default=0)

    def span_of(self, table: str) -> int:
        """Return the span that a table speaks about, in µs.

        A whole table speaks about the whole trace, even where nothing happens in it for days: a machine that never
        fails has one event.
        """
        coverage = self.tables[table]
        return self.span if coverage.is_whole else coverage.span


def coverage(manifest: Manifest) -> StoreCoverage:
    """Return how much of the whole trace a store holds, according to its ledger.

    The number of parts is that of the generator, else the published one, else the one in the names of the files. Own
    data, whose format is not published, is whole as it is; so are tables of an unknown number of parts where the
    manifest declares it.
    """
    cuts = [note for note in manifest.notes if note.startswith("subset of ")]
    return StoreCoverage(
        dialect=manifest.dialect,
        tables={name: _table_coverage(manifest, name) for name in TRACE_TABLES},
        n_tasks=manifest.tables.get("tasks", 0),
        is_subset=bool(cuts),
        is_sample=any("fraction " in note for note in cuts),
        is_synthetic=manifest.is_synthetic,
    )


def whole_trace(dialect: Dialect, n_tasks: int | None = None) -> StoreCoverage:
    """Return the coverage of tables that are taken to be all of the trace.

    Parameters
    ----------
    dialect
        Format of the trace.
    n_tasks
        Tasks in the tables; None where they were not counted.

    Examples
    --------
    >>> from borgtrace.schema.dialects import dialect
    >>> whole_trace(dialect("2011")).span_of("instance_usage") == 29 * 24 * 3600 * 1_000_000
    True
    """
    table = Coverage(0, of=0, span=dialect.span // timedelta(microseconds=1))
    return StoreCoverage(dialect, dict.fromkeys(TRACE_TABLES, table), n_tasks)


def _table_coverage(manifest: Manifest, name: str) -> Coverage:
    # Constraints of 2019 come from the files of events, which name them beside their own table.
    entries = [entry for entry in manifest.sources if entry.table == name or name in entry.also]
    part_numbers = {entry.part for entry in entries if entry.part is not None}
    # Nobody published own data, so that there is no more of it; its files are no tables that entries could name.
    is_own = manifest.synthetic is None and not manifest.dialect.citations
    return Coverage(
        rows=manifest.tables.get(name, 0),
        parts=tuple(sorted(part_numbers)),
        of=0 if is_own else _n_parts(manifest, entries),
        span=_span(manifest, name),
    )


def _span(manifest: Manifest, name: str) -> int:
    # Power is measured all month long, whichever part of the trace the store has.
    if TRACE_TABLES[name].is_of_cells:
        return 0
    first, last = manifest.time_range.get(name) or (0, 0)
    return max(0, last - max(first, TRACE_START))


def _n_parts(manifest: Manifest, entries: list[SourceEntry]) -> int | None:
    """Return how many parts a whole table has, 0 where the store has the whole; None where it is not known."""
    if not entries:
        return None
    raw_table = entries[0].raw_table
    numbers = {entry.parts for entry in entries if entry.parts}
    number_in_names = numbers.pop() if len(numbers) == 1 else None
    if manifest.synthetic is not None:
        written: int | None = (manifest.synthetic.get("parts") or {}).get(raw_table)
        return written or number_in_names or _n_parts_of_old_synthetic(manifest)
    if manifest.dialect.publication is None:
        return 0
    # The published number first: a file that was renamed cannot shrink the trace.
    table = manifest.dialect.tables.get(raw_table)
    if table and table.parts:
        return table.parts
    if number_in_names:
        return number_in_names
    return 0 if DECLARED_WHOLE in manifest.notes else None


def _n_parts_of_old_synthetic(manifest: Manifest) -> int | None:
    """Return 0 where all tables are there: generators before 1.1 did not record how many files they wrote."""
    present = {entry.raw_table for entry in manifest.sources}
    return 0 if present >= set(manifest.dialect.tables) else None
