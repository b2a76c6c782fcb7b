"""What ``borgtrace info`` prints: a manifest, or the schema."""

from collections import defaultdict
from pathlib import Path

from rich.table import Table as Grid
from rich.text import Text

from borgtrace.cli.console import counted, print_prose
from borgtrace.cli.harmless_console import HarmlessConsole
from borgtrace.cli.ingestion import print_counters
from borgtrace.cli.printing import print_json
from borgtrace.notation import ResourceAmounts
from borgtrace.report.holdings import trace_name
from borgtrace.report.values import instant
from borgtrace.schema import TABLES
from borgtrace.schema.description import describe_table
from borgtrace.store.manifest import Manifest
from borgtrace.store.parts import describe_numbers
from borgtrace.store.refusals import lines_of_refusals


def print_manifest(manifest: Manifest, store: Path) -> None:
    """Print a store's manifest for people."""
    # Not wrapped: a digest or a path cut in two cannot be copied.
    out = HarmlessConsole(soft_wrap=True)
    out.print(Text.assemble((str(store), "bold"), f": {origin(manifest)}, {manifest.time_zone}"))
    out.print(table_grid(manifest))
    for line in lines_of_sources(manifest):
        out.print(line)
    rows_in = sum(entry.rows_in for entry in manifest.sources)
    quarantined = sum(entry.quarantined for entry in manifest.sources)
    out.print(f"rows in {rows_in:,}, quarantined {quarantined:,}")
    for line in lines_of_refusals(manifest.sources):
        out.print(line)
    amounts = ResourceAmounts.of(manifest)
    if amounts.describe():
        out.print(f"largest machine: {amounts.describe()}")
    if amounts.note:
        out.print(amounts.note)
    for note in manifest.notes:
        print_prose(note, is_data=True)
    print_counters(manifest.counters)
    out.print(f"digest {manifest.digest}")
    out.print(f"borgtrace {manifest.code_version}, format {manifest.format_version}")


def origin(manifest: Manifest) -> str:
    """Return the name of the trace, and how it was made if it is synthetic."""
    name = trace_name(manifest)
    if manifest.synthetic is None:
        return name
    seed = manifest.synthetic.get("seed")
    version = manifest.synthetic.get("version")
    return f"{name} (seed {seed}, generator {version})"


def table_grid(manifest: Manifest) -> Grid:
    """Return the tables with their rows and their range of times."""
    grid = Grid(box=None, pad_edge=False)
    grid.add_column("table")
    grid.add_column("rows", justify="right")
    grid.add_column("from")
    grid.add_column("to")
    for name, rows in manifest.tables.items():
        times = []
        for time in manifest.time_range.get(name, ()):
            times.append(instant(time, manifest, "%Y-%m-%d %H:%M:%S %Z"))
        grid.add_row(name, f"{rows:,}", *times)
    return grid


def lines_of_sources(manifest: Manifest) -> list[str]:
    """Return a line for each raw table: how many files, and which parts they are."""
    entries_of_tables = defaultdict(list)
    for entry in manifest.sources:
        entries_of_tables[entry.raw_table].append(entry)
    lines = []
    for name, entries in sorted(entries_of_tables.items()):
        n_parts = next((entry.parts for entry in entries if entry.parts), None)
        numbers = describe_numbers([entry.part for entry in entries], n_parts)
        parts = f", parts {numbers}" if numbers else ""
        lines.append(f"{name}: {counted(len(entries), 'file')}{parts}")
    return lines


def print_schema(*, as_json: bool) -> None:
    """Print every table and column."""
    if as_json:
        print_json({name: describe_table(table) for name, table in TABLES.items()}, indent=1)
        return
    out = HarmlessConsole(soft_wrap=True)
    for table in TABLES.values():
        key = ", ".join(table.key)
        out.print(Text.assemble((table.name, "bold"), f": one row per {table.grain}; key {key}"))
        for column in table.columns:
            null = "" if column.nullable else ", never NULL"
            out.print(f"  {column.name} ({column.type}, {column.unit}{null}): {column.doc}")
