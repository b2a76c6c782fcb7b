"""Staged rows of converted files → sorted canonical tables, their account, and a look at their units."""

import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.engine.embedded import files_sql
from borgtrace.errors import StoreError, UsageError
from borgtrace.ingest.build.clustering import MOST_ROWS, cluster
from borgtrace.ingest.build.completion import count_rows
from borgtrace.ingest.build.staged import StagedPaths
from borgtrace.ingest.convert.column_checks import count_broken
from borgtrace.ingest.convert.conversion import Capacity, derivations, open_rows, relations
from borgtrace.ingest.convert.conversion_terms import Basis, query_of
from borgtrace.ingest.convert.converted_usage import are_cut_when_sorted, cut_windows
from borgtrace.ingest.files.staged_part import StagedPart
from borgtrace.ingest.progress import Progress
from borgtrace.schema import TABLES, TRACE_TABLES, Dialect
from borgtrace.schema.sql import literal
from borgtrace.schema.time import WINDOW
from borgtrace.storage import INCOMPLETE
from borgtrace.store.layout import Layout
from borgtrace.store.manifest import SourceEntry

Files = Mapping[str, Sequence[Path]]


@dataclass(frozen=True)
class Converted:
    """What a conversion made."""

    files: Files
    entries: tuple[SourceEntry, ...]
    basis: Basis
    notes: tuple[str, ...]
    quality: dict[str, dict[str, int]]


def convert(
    connection: duckdb.DuckDBPyConnection,
    layout: Layout,
    entries: Sequence[SourceEntry],
    dialect: Dialect,
    capacity: Capacity,
    work: Path,
    progress: Progress,
) -> Converted:
    """Write the canonical tables of all staged files into `work`.

    Parameters
    ----------
    connection
        DuckDB with its limits set.
    layout
        The store.
    entries
        The staged sources.
    dialect
        Their format, which has a conversion.
    capacity
        What the user said of the largest machine.
    work
        Folder of the new version.
    progress
        Told what is being done.

    Raises
    ------
    UsageError
        Usage cannot be in the unit that it is said to be in, or the size of the largest machine is not known.
    """
    staged: dict[str, list[StagedPart]] = {}
    for number, entry in enumerate(sorted(entries, key=lambda entry: entry.name)):
        path = StagedPaths.of(layout.staging, entry.name).table(entry.table)
        if path.exists():
            staged.setdefault(entry.table, []).append(StagedPart(path, number))
    terms = open_rows(connection, dialect, staged, capacity)
    files: dict[str, list[Path]] = {name: [] for name in TRACE_TABLES}
    is_large = sum(entry.stored for entry in entries) > MOST_ROWS
    for name, relation in relations(connection, terms).items():
        progress.begin(f"cluster {name}", 0, "rows")
        unsorted = work / f"{name}{INCOMPLETE}"
        if is_large:
            # Made once, not for each of its files: a query over all rows, which no range of collections makes smaller.
            connection.execute(
                f"COPY ({relation}) TO {literal(unsorted)} (FORMAT parquet, COMPRESSION lz4)"
            )
        rows = f"FROM {files_sql([unsorted])}" if is_large else relation
        refine = cut_windows if name == "instance_usage" and are_cut_when_sorted(terms) else iter
        files[name] = cluster(connection, TABLES[name], rows, work / name, refine=refine)
        unsorted.unlink(missing_ok=True)
        # A table without rows has no files.
        if not count_rows(files[name]):
            shutil.rmtree(work / name)
            files[name] = []
    _check_units(connection, files["instance_usage"], terms.basis)
    quality = {
        name: dict(found)
        for name, paths in files.items()
        if (found := count_broken_rows(dialect, name, paths))
    }
    return Converted(
        files,
        _entries(connection, entries, files),
        terms.basis,
        derivations(connection, terms),
        quality,
    )


def _entries(
    connection: duckdb.DuckDBPyConnection, entries: Sequence[SourceEntry], files: Files
) -> tuple[SourceEntry, ...]:
    """Say in the ledger how many canonical rows each file gave."""
    ordered = sorted(entries, key=lambda entry: entry.name)
    given: list[dict[str, int]] = [{} for _ in ordered]
    for name, paths in files.items():
        query = f"SELECT source_part, count(*) FROM {files_sql(paths)} GROUP BY 1" if paths else ""
        for part, rows in connection.execute(query).fetchall() if query else ():
            given[part][name] = rows
    return tuple(replace(entry, also=also) for entry, also in zip(ordered, given, strict=True))


def count_broken_rows(dialect: Dialect, name: str, paths: Sequence[Path]) -> Counter[str]:
    """Count the rows of a table that break a rule and are stored all the same."""
    checked = [c.name for c in TABLES[name].columns if c.checks and dialect.publishes(c.name, name)]
    found: Counter[str] = Counter()
    for path in paths:
        for batch in pq.ParquetFile(path).iter_batches(columns=checked):
            found += count_broken(TABLES[name], pa.Table.from_batches([batch]))
    return found


def _check_units(
    connection: duckdb.DuckDBPyConnection, paths: Sequence[Path], basis: Basis
) -> None:
    """Ask about usage that is more than machines have: its unit is another than was said."""
    for resource, whole, unit in (("cpu", basis.cores, "cores"), ("memory", basis.bytes, "bytes")):
        if not paths or whole is None:
            continue
        query = query_of(
            "medians", usage=files_sql(paths), column=f"average_{resource}", window=str(WINDOW)
        )
        ((median, sums),) = connection.execute(query).fetchall()
        for what, found in (
            ("the median of all rows", median),
            ("the median sum of a machine's tasks", sums),
        ):
            if found is not None and found > 1:
                raise UsageError(
                    f"{resource} usage",
                    f"{what} is above the largest machine",
                    expected=f"at most {whole:,.6g} {unit}",
                    got=f"{found * whole:,.6g}",
                    way_out=f"is its unit not {unit}? write the format down (borgtrace dialect sniff FILE > own.toml), "
                    "correct the unit there and add --dialect own.toml; or say another --capacity",
                )


def refuse_addition(layout: Layout, held: Any) -> None:
    """Refuse to add files to a converted store: shares and counters need the rows that it was made of.

    Raises
    ------
    StoreError
        The store holds something.
    """
    if held is not None:
        what, expected = (
            "no files can be added to a store of a converted format",
            "all of its files at once",
        )
        got, way_out = f"a store of {len(held.sources)}", "ingest all files into a separate store"
        raise StoreError(str(layout.root), what, expected=expected, got=got, way_out=way_out)
