"""What ``borgtrace ingest`` says: the plan, progress bars, and the account at the end."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from borgtrace.cli._wording import several
from borgtrace.ingest.discover import discover
from borgtrace.ingest.plan import Plan, plan
from borgtrace.ingest.run import available_cores
from borgtrace.schema.reasons import REASONS

if TYPE_CHECKING:
    from borgtrace.ingest import IngestResult


class _Rate(ProgressColumn):
    """Rows or bytes per second."""

    def render(self, task: Task) -> Text:
        """Return the rate, once there is one."""
        return Text(f"{amount(task.speed, task.fields['unit'])}/s" if task.speed else "", "dim")


class Bars:
    """Rich bars behind the ingest's progress protocol."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._tasks: dict[str, object] = {}

    def begin(self, label: str, total: int, unit: str) -> None:
        """Draw one more bar."""
        self._tasks[label] = self._bars.add_task(label, total=total or 1, completed=not total, unit=unit)

    def advance(self, label: str, amount: int) -> None:
        """Move a bar on."""
        self._bars.advance(self._tasks[label], amount)  # type: ignore[arg-type]


@contextmanager
def bars(talk: Console) -> Iterator[Bars]:
    """Show progress with rate and time left while the block runs."""
    columns = (
        TextColumn("{task.description:<28}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        _Rate(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=talk) as shown:
        yield Bars(shown)


def amount(number: float, unit: str) -> str:
    """Write an amount for people.

    Examples
    --------
    >>> amount(2_400_000, "rows"), amount(135e6, "bytes")
    ('2.4 M rows', '135.0 MB')
    """
    for factor, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= factor:
            scaled = f"{number / factor:.1f}"
            return f"{scaled} {letter}B" if unit == "bytes" else f"{scaled} {letter} {unit}"
    return f"{number:.0f} {'B' if unit == 'bytes' else unit}"


def announce(talk: Console, sources: Sequence[Path], store: Path, cell: str, jobs: int | None) -> None:
    """Say what was found and which disk it needs, before anything is written."""
    found = discover(sources, cell)
    planned = plan(found, store, jobs or available_cores())
    files = len(found.sources)
    talk.print(
        f"{planned.generation} trace{f' cell {planned.cell}' if planned.cell else ''}: {several(files, 'file')}, "
        f"{amount(found.size, 'bytes')}; needs about {amount(planned.disk_needed, 'bytes')} of disk "
        f"({amount(planned.disk_free, 'bytes')} free), about {_duration(planned.seconds)}"
    )
    for table in planned.tables:
        talk.print(f"  {table.table}: {several(table.files, 'file')}, parts {table.parts}", style="dim")


def print_plan(sources: Sequence[Path], store: Path, cell: str, jobs: int | None, *, as_json: bool) -> None:
    """Print what an ingest would do; nothing is written."""
    planned = plan(discover(sources, cell), store, jobs or available_cores())
    if as_json:
        print(json.dumps(asdict(planned), indent=1))
        return
    print(f"{planned.generation} trace{f' cell {planned.cell}' if planned.cell else ''}")
    for table in planned.tables:
        print(f"{table.table}: {several(table.files, 'file')}, {amount(table.size, 'bytes')}, parts {table.parts}")
        print(f"  columns: {', '.join(table.columns) or 'those of events and usage'}")
    print(_needs(planned))


def _needs(planned: Plan) -> str:
    return (
        f"needs about {amount(planned.disk_needed, 'bytes')} of disk "
        f"({amount(planned.disk_free, 'bytes')} free), about {_duration(planned.seconds)}"
    )


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def print_outcome(talk: Console, result: IngestResult, store: Path, *, as_json: bool) -> None:
    """Print the account: rows in = stored + quarantined, per table, and what was noticed."""
    if as_json:
        print(json.dumps(_outcome(result, store), indent=1))
        return
    rows_in = sum(entry.rows_in for entry in result.staged)
    stored = sum(entry.stored for entry in result.staged)
    refused = sum(entry.quarantined for entry in result.staged)
    aside = sum(entry.skipped + entry.merged for entry in result.staged)
    more = f" + {aside:,} set aside" if aside else ""
    print(f"{several(len(result.staged), 'file')} read, {result.known} were in already")
    print(f"rows in {rows_in:,} = stored {stored:,} + quarantined {refused:,}{more}")
    if result.manifest is None:
        print(f"staged; cluster with: borgtrace ingest SRC --store {store}")
        return
    for table, counters in result.manifest.counters.items():
        for reason, number in counters.items():
            known = REASONS[reason]
            print(f"{known.severity:<9} {table}: {number:,} × {reason}: {known.sentence}")
    print(f"digest {result.manifest.digest}")
    talk.print(f"next: borgtrace info {store}", style="dim")


def _outcome(result: IngestResult, store: Path) -> dict[str, object]:
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
