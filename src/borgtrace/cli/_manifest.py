"""What ``borgtrace info`` prints: a manifest, or the schema."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as Grid

from borgtrace.cli._console import counted
from borgtrace.cli._ingestion import print_counters
from borgtrace.cli._printing import print_json
from borgtrace.report.holdings import trace_name
from borgtrace.report.values import instant
from borgtrace.schema import TABLES, Absent, Table
from borgtrace.schema.dialects import PUBLISHED
from borgtrace.store.manifest import Manifest
from borgtrace.store.parts import describe_numbers


def print_manifest(manifest: Manifest, store: Path) -> None:
    """Print a store's manifest for people."""
    # Not wrapped: a digest or a path cut in two cannot be copied.
    out = Console(highlight=False, soft_wrap=True)
    out.print(f"[bold]{store}[/]: {_origin(manifest)}, {manifest.time_zone}")
    out.print(_tables(manifest))
    for name in sorted({entry.raw_table for entry in manifest.sources}):
        entries = [entry for entry in manifest.sources if entry.raw_table == name]
        n_parts = next((entry.parts for entry in entries if entry.parts), None)
        numbers = describe_numbers([entry.part for entry in entries], n_parts)
        out.print(f"{name}: {counted(len(entries), 'file')}, parts {numbers}")
    refused = sum(entry.quarantined for entry in manifest.sources)
    rows_in = sum(entry.rows_in for entry in manifest.sources)
    out.print(f"rows in {rows_in:,}, quarantined {refused:,}")
    if manifest.basis.get("cores") or manifest.basis.get("bytes"):
        out.print(f"amounts are fractions of the largest machine: {_largest(manifest)}")
    for note in manifest.notes:
        out.print(note)
    print_counters(manifest.counters)
    out.print(
        f"digest {manifest.digest}, borgtrace {manifest.code_version}, format {manifest.format_version}"
    )


def _largest(manifest: Manifest) -> str:
    cores, memory = manifest.basis.get("cores"), manifest.basis.get("bytes")
    parts = [f"{cores:g} cores"] if cores else []
    return ", ".join(parts + ([f"{memory / 2**30:g} GiB"] if memory else []))


def _origin(manifest: Manifest) -> str:
    made = manifest.synthetic
    if made is None:
        return trace_name(manifest)
    generator = f"seed {made.get('seed')}, generator {made.get('version')}"
    return f"[bold]{trace_name(manifest)}[/] ({generator})"


def _tables(manifest: Manifest) -> Grid:
    grid = Grid(box=None, pad_edge=False)
    for name, side in (("table", "left"), ("rows", "right"), ("from", "left"), ("to", "left")):
        grid.add_column(name, justify=side)  # type: ignore[arg-type]
    for name, rows in manifest.tables.items():
        times = (
            instant(time, manifest, "%Y-%m-%d %H:%M:%S %Z")
            for time in manifest.time_range.get(name, ())
        )
        grid.add_row(name, f"{rows:,}", *times)
    return grid


def print_schema(*, as_json: bool) -> None:
    """Print every table and column."""
    if as_json:
        print_json({name: _described(table) for name, table in TABLES.items()}, indent=1)
        return
    out = Console(highlight=False, soft_wrap=True)
    for table in TABLES.values():
        out.print(f"[bold]{table.name}[/]: one row per {table.grain}; key {', '.join(table.key)}")
        for column in table.columns:
            null = "" if column.nullable else ", never NULL"
            out.print(f"  {column.name} ({column.type}, {column.unit}{null}): {column.doc}")


def _described(table: Table) -> dict[str, Any]:
    """Return a table as plain data, with the place that each trace has for each column."""
    described = asdict(table)
    for column in described["columns"]:
        sources = {one.name: one.source(table.name, column["name"]) for one in PUBLISHED}
        # Asked of each published dialect: a column itself does not know where it comes from.
        column["source"] = {
            name: asdict(source) if isinstance(source, Absent) else source
            for name, source in sources.items()
        }
    return described
