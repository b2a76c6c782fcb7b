"""What the store holds, and what was wrong with its sources, for the head of the page."""

from typing import NamedTuple

from borgtrace.question.scope import duration
from borgtrace.report.values import MINUTES, instant
from borgtrace.schema import TABLES, Table
from borgtrace.schema.reasons import REASONS, SEVERITIES, Reason
from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE, HOUR, TRACE_START
from borgtrace.store.manifest import Manifest


class Holding(NamedTuple):
    """A table that has rows, the files it comes from, and its first and last time."""

    table: Table
    sources: str
    span: str


class Counter(NamedTuple):
    """A quality counter: in which table, why, and how many rows."""

    table: str
    reason: Reason
    rows: int


def trace_name(manifest: Manifest) -> str:
    """Name the trace; a synthetic one is only in the format of its namesake.

    >>> from borgtrace.store.manifest import Manifest
    >>> trace_name(Manifest("2019", "a", "America/New_York", "0", "", {}, ()))
    'Google cluster trace 2019, cell a'
    """
    cell = f", cell {manifest.cell}" if manifest.cell else ""
    name = f"{manifest.dialect.title}{cell}"
    if manifest.made:
        return f"{manifest.made.capitalize()} cell in the format of {name}"
    return name


def span_of_store(manifest: Manifest) -> str:
    """Write from when to when the tables of a store speak about the trace, and how long that is; empty without rows."""
    times = []
    for bounds in manifest.time_range.values():
        # What was there before the trace, or after it, has no time of its own.
        times += [time for time in bounds if BEFORE_TRACE < time < AFTER_TRACE]
    if not times:
        return ""
    first, last = max(min(times), TRACE_START), max(times)
    if first >= last:
        return instant(last, manifest, MINUTES)
    ends = f"{instant(first, manifest, MINUTES)} to {instant(last, manifest, MINUTES)}"
    return f"{duration(last - first)}, {ends}"


def holdings(manifest: Manifest) -> list[Holding]:
    """Return each table that has rows."""
    tables_with_rows = []
    for name, table in TABLES.items():
        if manifest.tables.get(name):
            tables_with_rows.append(
                Holding(table, sources_text(manifest, name), span_text(manifest, name))
            )
    return tables_with_rows


def counters(manifest: Manifest) -> list[Counter]:
    """Return all quality counters that are not 0, the worst first."""
    counters_with_rows = []
    for table, rows_by_reason in manifest.counters.items():
        for code, rows in rows_by_reason.items():
            if rows:
                counters_with_rows.append(Counter(table, REASONS[code], rows))

    def weight(counter: Counter) -> tuple[int, str, int, str]:
        severity = SEVERITIES.index(counter.reason.severity)
        # Then by table and number; the code last, so that the page is the same byte for byte.
        return -severity, counter.table, -counter.rows, counter.reason.code

    return sorted(counters_with_rows, key=weight)


def sources_text(manifest: Manifest, table: str) -> str:
    """Say from how many files a table comes."""
    # Constraints of 2019 come from the files of events, which name them beside their own table.
    entries = [entry for entry in manifest.sources if entry.table == table or table in entry.also]
    if not entries:
        return "derived at ingest"
    n_files = len(entries)
    totals = {entry.parts for entry in entries if entry.parts}
    # Said only where it is one number and files are missing: "500 of 500" tells nothing.
    if len(totals) == 1 and totals != {n_files}:
        return f"{n_files} of {totals.pop()} files"
    return f"{n_files} {'file' if n_files == 1 else 'files'}"


def span_text(manifest: Manifest, table: str) -> str:
    """Write the first and the last time as wall clock of the cell, and the time between."""
    bounds = manifest.time_range.get(table) or []
    if not bounds:
        return ""
    first = min(bounds)
    last = max(bounds)
    start = instant(first, manifest, MINUTES)
    instants = start if first == last else f"{start} to {instant(last, manifest, MINUTES)}"
    # A span from "before the trace" has no length.
    has_length = BEFORE_TRACE < first < last < AFTER_TRACE
    return f"{instants} ({(last - first) / HOUR:.1f} h)" if has_length else instants
