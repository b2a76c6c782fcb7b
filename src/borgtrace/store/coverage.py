"""How much of the whole trace a store holds, table by table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from borgtrace.schema import TRACE_TABLES, Dialect
from borgtrace.schema.time import TRACE_START
from borgtrace.store.manifest import Manifest, SourceEntry


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
        Number of parts of the whole table; None where nobody knows.
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
        Tasks in the store.
    is_subset
        Whether it was cut out of another store.
    """

    dialect: Dialect
    tables: Mapping[str, Coverage]
    n_tasks: int
    is_subset: bool = False

    @property
    def span(self) -> int:
        """Longest span of any table, in µs."""
        return max((table.span for table in self.tables.values()), default=0)

    def span_of(self, table: str) -> int:
        """Return the span that a table speaks about, in µs.

        A whole table speaks about the whole trace, also where nothing happens in it for days: a machine that never
        fails has one event.
        """
        found = self.tables[table]
        return self.span if found.is_whole else found.span


def coverage(manifest: Manifest) -> StoreCoverage:
    """Return how much of the whole trace a store holds, as its ledger tells.

    The number of parts is the one in the names of the files, else the published one, else that of the generator.  A
    synthetic trace is whole when all files that its generator wrote are there.
    """
    return StoreCoverage(
        manifest.dialect,
        {name: _of_table(manifest, name) for name in TRACE_TABLES},
        manifest.tables.get("tasks", 0),
        any(note.startswith("subset of ") for note in manifest.notes),
    )


def _of_table(manifest: Manifest, name: str) -> Coverage:
    # Constraints of 2019 come from the files of events, which name them beside their own table.
    entries = [entry for entry in manifest.sources if entry.table == name or name in entry.also]
    first, last = manifest.time_range.get(name) or (0, 0)
    return Coverage(
        manifest.tables.get(name, 0),
        tuple(sorted({entry.part for entry in entries if entry.part is not None})),
        _n_parts(manifest, entries),
        max(0, last - max(first, TRACE_START)),
    )


def _n_parts(manifest: Manifest, entries: list[SourceEntry]) -> int | None:
    if not entries:
        return None
    raw = entries[0].raw_table
    if manifest.synthetic is not None:
        written = manifest.synthetic.get("parts", {}).get(raw)
        return written or max((entry.parts or 0 for entry in entries), default=0) or None
    named = {entry.parts for entry in entries if entry.parts}
    # The published number first: a file that was renamed cannot shrink the trace.
    table = manifest.dialect.tables.get(raw)
    return (table.parts if table else None) or (named.pop() if len(named) == 1 else None)
