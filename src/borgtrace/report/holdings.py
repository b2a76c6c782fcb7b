"""What the store holds and what was wrong with its sources, for the head of the page."""

from borgtrace.report.values import MINUTES, instant
from borgtrace.schema import TABLES, Table
from borgtrace.schema.reasons import REASONS, SEVERITIES, Reason
from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE, HOUR
from borgtrace.store.manifest import Manifest


def trace_name(manifest: Manifest) -> str:
    """Name the trace; a synthetic one is only in the format of its namesake.

    >>> from borgtrace.store.manifest import Manifest
    >>> trace_name(Manifest("2019", "a", "America/New_York", "0", "", {}, ()))
    'Google cluster trace 2019, cell a'
    """
    name = manifest.dialect.title + (f", cell {manifest.cell}" if manifest.cell else "")
    return f"{manifest.made.capitalize()} cell in the format of {name}" if manifest.made else name


def holdings(manifest: Manifest) -> list[tuple[Table, str, str]]:
    """Return each table that has rows, the files it comes from, and its first and last time."""
    held = {name: table for name, table in TABLES.items() if manifest.tables.get(name)}
    return [
        (table, _sources(manifest, name), _span(manifest, name)) for name, table in held.items()
    ]


def counters(manifest: Manifest) -> list[tuple[str, Reason, int]]:
    """Return (table, reason, number of rows) of all quality counters, the worst first."""
    counted = (
        (table, code, n)
        for table, numbers in manifest.counters.items()
        for code, n in numbers.items()
        if n
    )
    found = [(table, REASONS[code], number) for table, code, number in counted]
    # Then by table and number; the code last, so that the page is the same byte for byte.
    return sorted(
        found,
        key=lambda item: (-SEVERITIES.index(item[1].severity), item[0], -item[2], item[1].code),
    )


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
    instants = " to ".join(
        instant(time, manifest, MINUTES) for time in dict.fromkeys((first, last))
    )
    # A span from "before the trace" has no length.
    has_length = BEFORE_TRACE < first < last < AFTER_TRACE
    return f"{instants} ({(last - first) / HOUR:.1f} h)" if has_length else instants
