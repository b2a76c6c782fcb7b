"""Staged rows of converted files → sorted canonical tables, with their counts and a check of their units."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from borgtrace.engine.embedded import files_sql
from borgtrace.engine.identifiers import number, quoted
from borgtrace.errors import SourceError, StoreError, UsageError, first_line
from borgtrace.ingest.build.converted_sorting import ConvertedSorting
from borgtrace.ingest.build.machine_totals import MachineTotals
from borgtrace.ingest.build.staged import SERIES_TABLES, StagedPaths
from borgtrace.ingest.build.written_usage import WrittenUsage
from borgtrace.ingest.convert.capacity import Capacity
from borgtrace.ingest.convert.conversion import derivations, open_rows
from borgtrace.ingest.convert.conversion_terms import Basis, Terms
from borgtrace.ingest.convert.missing_rows import find_missing_rows
from borgtrace.ingest.convert.repeated_rows import (
    RepeatedRows,
    count_repeated_rows,
    note_on_repeated_rows,
)
from borgtrace.ingest.files.staged_part import StagedPart
from borgtrace.ingest.progress import Progress
from borgtrace.schema import TRACE_TABLES, Dialect
from borgtrace.schema.records import RECORDS
from borgtrace.schema.time import WINDOW
from borgtrace.store.layout import Layout
from borgtrace.store.manifest import Manifest, SourceEntry

Files = Mapping[str, Sequence[Path]]


@dataclass(frozen=True)
class ConvertedTables:
    """The tables that a conversion made.

    Parameters
    ----------
    files
        Sorted files of each canonical table.
    entries
        The ledger, with the canonical rows of each source.
    basis
        What the numbers mean.
    notes
        Sentences about what is derived.
    quality
        Rows that break a rule and are stored all the same, by table and reason.
    unknown_sizes
        Resources of which nobody says how much a machine has.
    written
        What was made of usage while it was written; None without usage.
    """

    files: Files
    entries: tuple[SourceEntry, ...]
    basis: Basis
    notes: tuple[str, ...]
    quality: dict[str, dict[str, int]]
    unknown_sizes: tuple[str, ...] = ()
    written: WrittenUsage | None = None


def convert(
    connection: duckdb.DuckDBPyConnection,
    layout: Layout,
    entries: Sequence[SourceEntry],
    dialect: Dialect,
    capacity: Capacity,
    work: Path,
    progress: Progress,
) -> ConvertedTables:
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
        Size of the largest machine, as far as the user gave it.
    work
        Folder of the new version.
    progress
        Receives progress.

    Raises
    ------
    UsageError
        Usage cannot be in the unit that it is said to be in, or the size of the largest machine is not known.
    SourceError
        Two names have one id, or what follows from several rows is beyond the range of its column.
    SchemaError
        Nothing can be kept of rows without those of another table.
    """
    try:
        return _convert(connection, layout, entries, dialect, capacity, work, progress)
    except (duckdb.ConversionException, duckdb.OutOfRangeException) as error:
        # Each row is in range by itself: sums of windows, and shares of a machine without size, need not be.
        raise SourceError(
            ", ".join(sorted(entry.file for entry in entries)[:3]),
            "amounts or times that are out of range together",
            got=first_line(error),
            way_out="look for windows of centuries, or for machines without CPU or memory",
        ) from error


def _convert(
    connection: duckdb.DuckDBPyConnection,
    layout: Layout,
    entries: Sequence[SourceEntry],
    dialect: Dialect,
    capacity: Capacity,
    work: Path,
    progress: Progress,
) -> ConvertedTables:
    ordered_entries = sorted(entries, key=lambda entry: entry.name)
    terms = open_rows(
        connection,
        dialect,
        _staged_parts(layout, ordered_entries),
        capacity,
        layout.spill / "series",
    )
    # Series are of any metrics, whose rows are put together already.
    stored_tables = {entry.raw_table for entry in entries if entry.stored}
    tables = sorted(stored_tables & dialect.tables.keys())
    names = [entry.file for entry in ordered_entries]
    missing = find_missing_rows(connection, terms, dialect, names, tables)
    n_rows = sum(entry.stored for entry in entries)
    sorting = ConvertedSorting(connection, dialect, terms, n_rows, work, progress)
    files = sorting.sort_tables()
    # What a whole job uses may be more than its largest machine has.
    if dialect.conversion and dialect.conversion.has_sizes:
        _check_units(connection, files["instance_usage"], terms.basis, sorting.machine_totals)
    repeated = RepeatedRows()
    if sorting.may_have_repeated_rows:
        repeated = count_repeated_rows(connection, terms)
    note = note_on_repeated_rows(repeated, terms)
    notes = (*derivations(connection, terms), *missing.notes, *([note] if note else []))
    return ConvertedTables(
        files,
        _entries_with_rows(connection, ordered_entries, files, missing.left_out),
        terms.basis,
        notes,
        _counters_by_table(sorting.broken, terms, repeated),
        tuple(sorted(terms.unknown_sizes)),
        sorting.written,
    )


def _staged_parts(layout: Layout, entries: Sequence[SourceEntry]) -> dict[str, list[StagedPart]]:
    """Return the staged parts by kind of row, numbered by the names of their sources."""
    parts: dict[str, list[StagedPart]] = {}
    for part, entry in enumerate(entries):
        paths = StagedPaths.of(layout.staging, entry.name)
        # A log of jobs may have counted its machines as well, and samples are staged beside their series.
        for name in (*RECORDS, *SERIES_TABLES):
            path = paths.table(name)
            if path.exists():
                parts.setdefault(name, []).append(StagedPart(path, part))
    return parts


def _entries_with_rows(
    connection: duckdb.DuckDBPyConnection,
    entries: Sequence[SourceEntry],
    files: Files,
    left_out: Mapping[int, int],
) -> tuple[SourceEntry, ...]:
    """Note in the ledger how many canonical rows each file gave, and how many of its own are left out."""
    rows_of_entry: list[dict[str, int]] = [{} for _ in entries]
    for name, paths in files.items():
        # Rows made of series come from several files.
        if not paths or any(entry.table == "samples" for entry in entries):
            continue
        query_sql = f"SELECT source_part, count(*) FROM {files_sql(paths)} GROUP BY source_part"
        for part, rows in connection.execute(query_sql).fetchall():
            rows_of_entry[part][name] = rows
    counted = []
    for part, (entry, rows) in enumerate(zip(entries, rows_of_entry, strict=True)):
        n_left_out = left_out.get(part, 0)
        stored = entry.stored - n_left_out
        skipped = entry.skipped + n_left_out
        counted.append(replace(entry, also=rows, stored=stored, skipped=skipped))
    return tuple(counted)


def _counters_by_table(
    broken: Mapping[str, Counter[str]],
    terms: Terms,
    repeated: RepeatedRows,
) -> dict[str, dict[str, int]]:
    """Count the rows that break a rule and are stored all the same, and the series that are left out."""
    quality = {}
    for name in TRACE_TABLES:
        counts = Counter(broken.get(name))
        if name == "instance_usage":
            counts.update(terms.counters)
            # Those that are equal are found among the windows that are stored.
            counts.update({"repeated_moment": repeated.n_differing} if repeated.n_differing else {})
        if counts:
            quality[name] = dict(counts)
    return quality


def _check_units(
    connection: duckdb.DuckDBPyConnection,
    paths: Sequence[Path],
    basis: Basis,
    totals: MachineTotals | None,
) -> None:
    """Refuse usage that is more than machines have: its unit is another than was said."""
    if not paths:
        return
    for resource, whole, unit in (("cpu", basis.cores, "cores"), ("memory", basis.bytes, "bytes")):
        # The exact medians take another look at all rows.
        is_plausible = totals is not None and totals.are_plausible(f"average_{resource}")
        if whole is not None and not is_plausible:
            _check_unit(connection, paths, resource, whole, unit)


def _check_unit(
    connection: duckdb.DuckDBPyConnection,
    paths: Sequence[Path],
    resource: str,
    whole: float,
    unit: str,
) -> None:
    median_of_rows, median_of_machines = _medians(connection, paths, f"average_{resource}")
    medians = (
        ("the median of all rows", median_of_rows),
        ("the median sum of a machine's tasks", median_of_machines),
    )
    for what, median in medians:
        if median is not None and median > 1:
            raise UsageError(
                f"{resource} usage",
                f"{what} is above the largest machine",
                expected=f"at most {whole:,.6g} {unit}",
                got=f"{median * whole:,.6g}",
                way_out=f"is its unit not {unit}? write the format down "
                "(borgtrace dialect sniff FILE > own.toml), "
                "correct the unit there and add --dialect own.toml; or say another --capacity",
            )


def _medians(
    connection: duckdb.DuckDBPyConnection,
    paths: Sequence[Path],
    column: str,
) -> tuple[float | None, float | None]:
    """Return the median of all rows, and that of what the tasks of a machine use together in a window.

    The first is None where no row is above 1, and neither can the median be.
    """
    usage_sql = files_sql(paths)
    column_sql = quoted(column)
    window_sql = number(WINDOW)
    ((largest,),) = connection.execute(f"SELECT max({column_sql}) FROM {usage_sql}").fetchall()
    median_of_rows = None
    if largest is not None and largest > 1:
        query_sql = f"SELECT median({column_sql}) FROM {usage_sql}"
        ((median_of_rows,),) = connection.execute(query_sql).fetchall()
    ((median_of_machines,),) = connection.execute(f"""
        SELECT median(total)
        FROM (
            SELECT
                sum({column_sql} * least(end_time - start_time, {window_sql}))
                    / {window_sql} AS total
            FROM {usage_sql}
            WHERE machine_id IS NOT NULL
            GROUP BY machine_id, start_time // {window_sql}
        )
    """).fetchall()
    return median_of_rows, median_of_machines


def refuse_addition(layout: Layout, present: Manifest | None, read_again: Collection[str]) -> None:
    """Refuse to add files to a converted store alone: shares and counters need the rows that it was made of.

    Parameters
    ----------
    layout
        The store.
    present
        Its manifest; None where there is no store yet.
    read_again
        Names of the sources of the next version.

    Raises
    ------
    StoreError
        The store was made of other files as well.
    """
    if present is None:
        return
    others = [entry for entry in present.sources if entry.name not in read_again]
    if others:
        n_sources = len(present.sources)
        raise StoreError(
            str(layout.root),
            "files are added to a store of a converted format only together with those that it was made of",
            expected=f"its {n_sources} {'file' if n_sources == 1 else 'files'} as well, such as {others[0].file}",
            got=f"{n_sources - len(others)} of them",
            way_out="name all files, old and new, in one command; the store is then made again of all",
        )
