"""What the store holds and what was wrong with its sources, for the head of the page."""

from __future__ import annotations

from dataclasses import dataclass

from borgtrace.report.values import instant, integer
from borgtrace.schema import TABLES
from borgtrace.schema.reasons import REASONS, SEVERITIES
from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE, HOUR
from borgtrace.store.manifest import Manifest

_MINUTES = "%-d %b %Y %H:%M %Z"
_RANK = {severity: rank for rank, severity in enumerate(SEVERITIES)}


@dataclass(frozen=True, slots=True)
class Holding:
    """One table of the store."""

    name: str
    grain: str
    rows: str
    sources: str
    span: str


@dataclass(frozen=True, slots=True)
class Counter:
    """One quality counter: how often a reason occurred in a table."""

    table: str
    severity: str
    number: str
    sentence: str
    is_refused: bool


def trace_name(manifest: Manifest) -> str:
    """Name the trace.

    >>> from borgtrace.store.manifest import Manifest
    >>> trace_name(Manifest("2019", "a", "America/New_York", "0", "", {}, ()))
    'Google cluster trace 2019, cell a'
    """
    cell = f", cell {manifest.cell}" if manifest.cell else ""
    return f"Google cluster trace {manifest.generation}{cell}"


def holdings(manifest: Manifest) -> list[Holding]:
    """Describe each table that has rows."""
    return [
        Holding(
            name,
            f"one row per {table.grain}",
            integer(manifest.tables[name]),
            _sources(manifest, name),
            _span(manifest, name),
        )
        for name, table in TABLES.items()
        if manifest.tables.get(name)
    ]


def missing_tables(manifest: Manifest) -> list[str]:
    """Return the tables without rows."""
    return [name for name in TABLES if not manifest.tables.get(name)]


def counters(manifest: Manifest) -> list[Counter]:
    """Return all quality counters, the worst first."""
    found = [
        (reason, table, number)
        for table, numbers in manifest.counters.items()
        for reason, number in numbers.items()
        if number
    ]
    # Then by table and number; the reason last, so that the page is the same byte for byte.
    found.sort(key=lambda item: (-_RANK[REASONS[item[0]].severity], item[1], -item[2], item[0]))
    return [
        Counter(
            table,
            REASONS[code].severity.replace("_", " "),
            integer(number),
            REASONS[code].sentence,
            REASONS[code].quarantines,
        )
        for code, table, number in found
    ]


def conservation(manifest: Manifest) -> dict[str, str | bool]:
    """Sum the ledger: rows that came in, and what became of them."""
    columns = ("rows_in", "stored", "quarantined", "skipped", "merged")
    sums = {column: integer(sum(getattr(entry, column) for entry in manifest.sources)) for column in columns}
    return {**sums, "is_kept": all(entry.is_conserved for entry in manifest.sources)}


def _sources(manifest: Manifest, table: str) -> str:
    # Constraints of 2019 come from the files of events, which name them beside their own table.
    entries = [entry for entry in manifest.sources if entry.table == table or table in entry.also]
    if not entries:
        return "derived at ingest"
    parts = {entry.parts for entry in entries if entry.parts}
    # Said only where it is one number and files are missing: "500 of 500" tells nothing.
    of = f" of {parts.pop()}" if len(parts) == 1 and parts != {len(entries)} else ""
    return f"{len(entries)}{of} {'file' if len(entries) == 1 and not of else 'files'}"


def _span(manifest: Manifest, table: str) -> str:
    """Write the first and the last time as wall clock of the cell, and the time between."""
    bounds = manifest.time_range.get(table) or []
    if not bounds:
        return ""
    first, last = min(bounds), max(bounds)
    instants = f"{instant(first, manifest, _MINUTES)} to {instant(last, manifest, _MINUTES)}"
    # A span from "before the trace" has no length.
    is_known = first > BEFORE_TRACE and last < AFTER_TRACE
    if first == last:
        return instant(first, manifest, _MINUTES)
    return f"{instants} ({(last - first) / HOUR:.1f} h)" if is_known else instants
