"""What ``borgtrace ingest`` shows: the plan, progress bars, and the counts at the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.filesize import decimal
from rich.progress import Progress, TaskID, TextColumn

from borgtrace.cli.console import RateColumn, counted, print_prose, progress, talk
from borgtrace.cli.printing import print_json
from borgtrace.errors import shell_word
from borgtrace.ingest.ingest_plan import IngestPlan, TablePlan
from borgtrace.ingest.progress import Progress as IngestProgress
from borgtrace.schema.dialects import DECLARED, DIALECTS
from borgtrace.schema.reasons import REASONS
from borgtrace.store.layout import Layout
from borgtrace.store.refusals import lines_of_refusals, most_frequent, warning_of_share

if TYPE_CHECKING:
    from borgtrace.ingest import IngestResult
    from borgtrace.store import Manifest


class IngestBars(IngestProgress):
    """Rich bars behind the ingest's progress protocol."""

    def __init__(self, bars: Progress) -> None:
        self.bars = bars
        self._tasks: dict[str, TaskID] = {}

    def begin(self, label: str, total: int, unit: str) -> None:
        """Draw one more bar."""
        # A step with nothing to do is shown as done: a total of 0 would be drawn as unknown.
        self._tasks[label] = self.bars.add_task(
            label,
            total=total or 1,
            completed=not total,
            unit=unit,
        )

    def advance(self, label: str, amount: int) -> None:
        """Move a bar on."""
        self.bars.advance(self._tasks[label], amount)


@contextmanager
def bars() -> Iterator[IngestBars]:
    """Show progress with rate and time left while the block runs."""
    with progress(TextColumn("{task.percentage:>3.0f}%"), RateColumn()) as shown:
        yield IngestBars(shown)


def announce(planned: IngestPlan) -> None:
    """Say which files there are and how much disk they need, before anything is written."""
    print_prose(f"{trace_title(planned)}: {files_of(planned)}; {needs(planned)}")
    for table in planned.tables:
        files = counted(table.files, "file")
        talk.print(f"  {table.table}: {files}{parts_of(table)}", style="dim")


def print_plan(planned: IngestPlan, *, as_json: bool) -> None:
    """Print what an ingest would do; nothing is written."""
    if as_json:
        print_json(asdict(planned), indent=1)
        return
    print(f"{trace_title(planned)}: {files_of(planned)}")
    for table in planned.tables:
        files = counted(table.files, "file")
        columns = ", ".join(table.columns) or "those of events and usage"
        print(f"{table.table}: {files}, {decimal(table.size)}{parts_of(table)}")
        print(f"  columns: {columns}")
    print(needs(planned))


def parts_of(table: TablePlan) -> str:
    """Return which parts the files of a table are, behind a comma; nothing where they have no numbers."""
    return f", parts {table.parts}" if table.parts else ""


def trace_title(planned: IngestPlan) -> str:
    """Return the trace and its cell in words."""
    if planned.generation not in DIALECTS:
        declared = DECLARED.get(planned.generation)
        # A format in Python has a title; a table of one's own that was guessed or declared has none.
        return declared.title if declared and declared.conversion is None else "own trace"
    cell = f" cell {planned.cell}" if planned.cell else ""
    return f"{planned.generation} trace{cell}"


def files_of(planned: IngestPlan) -> str:
    """Say how many files there are and how large they are together."""
    return f"{counted(planned.files, 'file')}, {decimal(planned.size)}"


def needs(planned: IngestPlan) -> str:
    """Say how much disk and time an ingest needs."""
    disk = decimal(planned.disk_needed)
    free = "" if planned.disk_free is None else f" ({decimal(planned.disk_free)} free)"
    return f"needs about {disk} of disk{free}, about {duration(planned.seconds)}"


def duration(seconds: float) -> str:
    """Write a duration with the unit that people would use.

    Examples
    --------
    >>> duration(0.2), duration(59.4), duration(5399), duration(5400)
    ('1 s', '59 s', '90 min', '1.5 h')
    """
    if seconds < 60:
        return f"{max(seconds, 1):.0f} s"
    # Minutes up to an hour and a half.
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def print_outcome(
    result: IngestResult,
    store: Path,
    sources: Sequence[Path] = (),
    *,
    as_json: bool,
    shown_notes: Sequence[str] = (),
) -> None:
    """Print the account: rows in = stored + quarantined, per table, and what was noticed.

    Parameters
    ----------
    result
        What was read, and what became of it.
    store
        Where it is.
    sources
        What was named on the command line, for the hint.
    as_json
        Print JSON instead.
    shown_notes
        Notes that the user has seen already.
    """
    if as_json:
        print_json(facts_of(result, store), indent=1)
        return
    print_rows(result)
    # Only staged: counters and digest exist when the store is sorted.
    if result.manifest is None:
        names = " ".join(shell_word(source) for source in sources) or "SRC"
        print(f"Staged. To sort: borgtrace ingest {names} --store {shell_word(store)}")
    else:
        for note in result.manifest.notes:
            if note not in shown_notes:
                print_prose(note, is_data=True)
        print_counters(result.manifest.counters)
        print(f"digest {result.manifest.digest}")
        talk.print(f"Next: borgtrace info {shell_word(store)}", style="dim")
    # Last of all: it has to be known before anything is done with the store.
    warning = _warning(result, store)
    if warning:
        print(warning)


def print_rows(result: IngestResult) -> None:
    """Print how many files were read, what became of their rows, and why some were refused."""
    rows_in = sum(source.rows_in for source in result.staged)
    stored = sum(source.stored for source in result.staged)
    quarantined = sum(source.quarantined for source in result.staged)
    # Rows of other cells, and rows that a flattened source repeats: neither stored nor rejected.
    set_aside = sum(source.skipped + source.merged for source in result.staged)
    remainder = f" + {set_aside:,} set aside" if set_aside else ""
    # An own file may be read for several sections, each with a name of its table.
    files = {(source.sha256, source.name.partition("/")[2]) for source in result.staged}
    if result.is_rebuilt:
        print(f"Read {counted(len(files), 'file')}: the store is made again of all, old and new")
    else:
        print(f"Read {counted(len(files), 'file')}; {result.known} already in the store")
    print(f"rows in {rows_in:,} = stored {stored:,} + quarantined {quarantined:,}{remainder}")
    for line in lines_of_refusals(result.staged):
        print(line)


def _warning(result: IngestResult, store: Path) -> str:
    layout = Layout(store)
    is_stored = result.manifest is not None
    quarantine = layout.quarantine if is_stored else layout.staging / layout.quarantine.name
    return warning_of_share(result.staged, quarantine)


def print_made(manifest: Manifest, store: Path, *, as_json: bool) -> None:
    """Print what a store holds that was made from others, and how to look at it."""
    if as_json:
        print(manifest.to_json(), end="")
        return
    for name, rows in manifest.tables.items():
        print(f"{name}: {counted(rows, 'row')}")
    print(f"digest {manifest.digest}")
    talk.print(f"Next: borgtrace info {shell_word(store)}", style="dim")


def print_counters(counters: Mapping[str, Mapping[str, int]]) -> None:
    """Print the quality counters of each table, with what they mean."""
    for table, numbers in counters.items():
        for reason, number in numbers.items():
            meaning = REASONS[reason]
            print_prose(
                f"{meaning.severity:<9} {table}: {number:,} × {reason}: {meaning.sentence}",
                is_data=True,
            )


def facts_of(result: IngestResult, store: Path) -> dict[str, object]:
    """Return an account as plain data, for JSON."""
    manifest = result.manifest
    return {
        "store": str(store),
        "read": [asdict(entry) for entry in result.staged],
        "known": result.known,
        "is_rebuilt": result.is_rebuilt,
        "faults": [str(fault) for fault in result.faults],
        "tables": manifest.tables if manifest else None,
        "counters": manifest.counters if manifest else None,
        "digest": manifest.digest if manifest else None,
        "refusals": [asdict(refusal) for refusal in most_frequent(result.staged)],
        "warning": _warning(result, store) or None,
    }
