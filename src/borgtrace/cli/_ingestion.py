"""What ``borgtrace ingest`` shows: the plan, progress bars, and the account at the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.filesize import decimal
from rich.progress import Progress, TaskID, TextColumn

from borgtrace.cli._console import Rate, counted, progress, talk
from borgtrace.cli._printing import print_json
from borgtrace.ingest.ingest_plan import IngestPlan
from borgtrace.ingest.progress import Progress as IngestProgress
from borgtrace.schema.reasons import REASONS

if TYPE_CHECKING:
    from borgtrace.ingest import IngestResult
    from borgtrace.store import Manifest


class Bars(IngestProgress):
    """Rich bars behind the ingest's progress protocol."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}

    def begin(self, label: str, total: int, unit: str) -> None:
        """Draw one more bar."""
        # A step with nothing to do is shown as done: a total of 0 would be drawn as unknown.
        self._tasks[label] = self._bars.add_task(
            label, total=total or 1, completed=not total, unit=unit
        )

    def advance(self, label: str, amount: int) -> None:
        """Move a bar on."""
        self._bars.advance(self._tasks[label], amount)


@contextmanager
def bars() -> Iterator[Bars]:
    """Show progress with rate and time left while the block runs."""
    with progress(TextColumn("{task.percentage:>3.0f}%"), Rate()) as shown:
        yield Bars(shown)


def announce(planned: IngestPlan) -> None:
    """Say what was found and which disk it needs, before anything is written."""
    files = counted(sum(table.files for table in planned.tables), "file")
    size = decimal(sum(table.size for table in planned.tables))
    talk.print(f"{_trace(planned)}: {files}, {size}; {_needs(planned)}")
    for table in planned.tables:
        talk.print(
            f"  {table.table}: {counted(table.files, 'file')}, parts {table.parts}", style="dim"
        )


def print_plan(planned: IngestPlan, *, as_json: bool) -> None:
    """Print what an ingest would do; nothing is written."""
    if as_json:
        print_json(asdict(planned), indent=1)
        return
    print(_trace(planned))
    for table in planned.tables:
        print(
            f"{table.table}: {counted(table.files, 'file')}, {decimal(table.size)}, parts {table.parts}"
        )
        print(f"  columns: {', '.join(table.columns) or 'those of events and usage'}")
    print(_needs(planned))


def _trace(planned: IngestPlan) -> str:
    return f"{planned.generation} trace{f' cell {planned.cell}' if planned.cell else ''}"


def _needs(planned: IngestPlan) -> str:
    free = "" if planned.disk_free is None else f" ({decimal(planned.disk_free)} free)"
    return f"needs about {decimal(planned.disk_needed)} of disk{free}, about {_duration(planned.seconds)}"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{max(seconds, 1):.0f} s"
    # Minutes up to an hour and a half, as people say it.
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def print_outcome(result: IngestResult, store: Path, *, as_json: bool) -> None:
    """Print the account: rows in = stored + quarantined, per table, and what was noticed."""
    if as_json:
        print_json(_facts(result, store), indent=1)
        return
    columns = ("rows_in", "stored", "quarantined", "skipped", "merged")
    rows_in, stored, rejected, *other = (
        sum(getattr(e, column) for e in result.staged) for column in columns
    )
    # Rows of other cells, and rows that a flattened source repeats: neither stored nor rejected.
    more = f" + {sum(other):,} set aside" if any(other) else ""
    print(f"Read {counted(len(result.staged), 'file')}; {result.known} already in the store")
    print(f"rows in {rows_in:,} = stored {stored:,} + quarantined {rejected:,}{more}")
    # Only staged: counters and digest exist when the store is sorted.
    if result.manifest is None:
        print(f"Staged. To sort: borgtrace ingest SRC --store {store}")
        return
    for note in result.manifest.notes:
        print(note)
    print_counters(result.manifest.counters)
    print(f"digest {result.manifest.digest}")
    talk.print(f"Next: borgtrace info {store}", style="dim")


def print_made(manifest: Manifest, *, as_json: bool) -> None:
    """Print what a store that was made of others holds."""
    if as_json:
        print(manifest.to_json(), end="")
        return
    for name, rows in manifest.tables.items():
        print(f"{name}: {rows:,} rows")
    print(f"digest {manifest.digest}")


def print_counters(counters: Mapping[str, Mapping[str, int]]) -> None:
    """Print the quality counters of each table, with what they mean."""
    for table, numbers in counters.items():
        for reason, number in numbers.items():
            known = REASONS[reason]
            print(f"{known.severity:<9} {table}: {number:,} × {reason}: {known.sentence}")


def _facts(result: IngestResult, store: Path) -> dict[str, object]:
    manifest = result.manifest
    return {
        "store": str(store),
        "read": [asdict(entry) for entry in result.staged],
        "known": result.known,
        "faults": [str(fault) for fault in result.faults],
        "tables": manifest.tables if manifest else None,
        "counters": manifest.counters if manifest else None,
        "digest": manifest.digest if manifest else None,
    }
