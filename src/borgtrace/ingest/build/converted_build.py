"""Staged rows of converted files → sorted canonical tables, with their counts and a check of their units."""

import shutil
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.engine.embedded import NO_TYPE, files_sql
from borgtrace.engine.identifiers import literal, number, quoted
from borgtrace.errors import SourceError, StoreError, UsageError, first_line
from borgtrace.ingest.build.clustering import MOST_ROWS, Refinement, cluster
from borgtrace.ingest.build.completion import count_rows
from borgtrace.ingest.build.staged import SERIES_TABLES, StagedPaths
from borgtrace.ingest.convert.capacity import Capacity
from borgtrace.ingest.convert.column_checks import count_broken
from borgtrace.ingest.convert.conversion import derivations, open_rows, relations
from borgtrace.ingest.convert.conversion_terms import Basis, Terms
from borgtrace.ingest.convert.converted_events import EVENTS, instance_events_sql
from borgtrace.ingest.convert.converted_usage import are_cut_when_sorted, cut_windows
from borgtrace.ingest.convert.missing_rows import find_missing_rows
from borgtrace.ingest.convert.repeated_rows import (
    RepeatedRows,
    count_repeated_rows,
    note_on_repeated_rows,
)
from borgtrace.ingest.files.staged_part import StagedPart
from borgtrace.ingest.progress import Progress
from borgtrace.schema import TABLES, TRACE_TABLES, Dialect
from borgtrace.schema.records import RECORDS
from borgtrace.schema.time import WINDOW
from borgtrace.storage import INCOMPLETE
from borgtrace.store.layout import Layout
from borgtrace.store.manifest import Manifest, SourceEntry

Files = Mapping[str, Sequence[Path]]
_ROWS = "rows_of_table"


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
    """

    files: Files
    entries: tuple[SourceEntry, ...]
    basis: Basis
    notes: tuple[str, ...]
    quality: dict[str, dict[str, int]]
    unknown_sizes: tuple[str, ...] = ()


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
    with _Answers(connection, work, n_rows) as answers:
        files = _sort_tables(connection, answers, terms, work, progress)
    # What a whole job uses may be more than its largest machine has.
    if dialect.conversion and dialect.conversion.has_sizes:
        _check_units(connection, files["instance_usage"], terms.basis)
    repeated = count_repeated_rows(connection, terms)
    note = note_on_repeated_rows(repeated, terms)
    notes = (*derivations(connection, terms), *missing.notes, *([note] if note else []))
    return ConvertedTables(
        files,
        _entries_with_rows(connection, ordered_entries, files, missing.left_out),
        terms.basis,
        notes,
        _counters_by_table(dialect, files, terms, repeated),
        tuple(sorted(terms.unknown_sizes)),
    )


@dataclass
class _Answers:
    """Queries over all rows, asked once: the files of a table, and their plan, would each ask them again.

    Parameters
    ----------
    connection
        DuckDB.
    work
        Where the answers are written that are too large for a table of DuckDB.
    n_rows
        Staged rows.
    """

    connection: duckdb.DuckDBPyConnection
    work: Path
    n_rows: int

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for name in (EVENTS, _ROWS):
            self._path(name).unlink(missing_ok=True)

    def show(self, name: str, query_sql: str) -> None:
        """Show the answer to a query under a name, instead of the one before."""
        name_sql = quoted(name)
        # Columns that nobody fills have no type in a table or a file.
        described = self.connection.execute(f"DESCRIBE {query_sql}").fetchall()
        untyped = [column for column, type_name, *_ in described if type_name == NO_TYPE]
        typed_sql = query_sql
        if untyped:
            untyped_sql = ", ".join(quoted(column) for column in untyped)
            typed_sql = f"SELECT * EXCLUDE ({untyped_sql}) FROM ({query_sql})"
        nulls_sql = "".join(f", NULL AS {quoted(column)}" for column in untyped)
        # Of few rows, too: to bind a query of many columns again takes longer than to keep its answer.
        if self.n_rows <= MOST_ROWS:
            table_sql = quoted(f"{name}_table")
            self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {table_sql} AS {typed_sql}")
            answer_sql = table_sql
        else:
            path = self._path(name)
            file_sql = literal(str(path))
            self.connection.execute(
                f"COPY ({typed_sql}) TO {file_sql} (FORMAT parquet, COMPRESSION lz4)"
            )
            answer_sql = files_sql([path])
        self.connection.execute(
            f"CREATE OR REPLACE TEMP VIEW {name_sql} AS SELECT *{nulls_sql} FROM {answer_sql}"
        )

    def _path(self, name: str) -> Path:
        return self.work / f"{name}{INCOMPLETE}"


def _sort_tables(
    connection: duckdb.DuckDBPyConnection,
    answers: _Answers,
    terms: Terms,
    work: Path,
    progress: Progress,
) -> dict[str, list[Path]]:
    """Write the rows of every table in its order; return the files of each."""
    files: dict[str, list[Path]] = {name: [] for name in TRACE_TABLES}
    answers.show(EVENTS, instance_events_sql(terms))
    for name, relation_sql in relations(connection, terms).items():
        progress.begin(f"cluster {name}", 0, "rows")
        rows_sql = relation_sql
        # Those of instances are there already.
        if name != "instance_events":
            answers.show(_ROWS, relation_sql)
            rows_sql = f"SELECT * FROM {_ROWS}"
        files[name] = _sort_table(connection, name, rows_sql, work, terms)
    return files


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


def _sort_table(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    relation_sql: str,
    work: Path,
    terms: Terms,
) -> list[Path]:
    refine: Refinement = iter
    if name == "instance_usage" and are_cut_when_sorted(terms):
        refine = cut_windows
    paths = cluster(
        connection,
        TABLES[name],
        relation_sql,
        work / name,
        refine=refine,
    )
    if count_rows(paths):
        return paths
    # A table without rows has no files.
    shutil.rmtree(work / name)
    return []


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
    dialect: Dialect,
    files: Files,
    terms: Terms,
    repeated: RepeatedRows,
) -> dict[str, dict[str, int]]:
    """Count the rows that break a rule and are stored all the same, and the series that are left out."""
    quality = {}
    for name, paths in files.items():
        counts = count_broken_rows(dialect, name, paths)
        if name == "instance_usage":
            counts.update(terms.counters)
            # Those that are equal are found among the windows that are stored.
            counts.update({"repeated_moment": repeated.n_differing} if repeated.n_differing else {})
        if counts:
            quality[name] = dict(counts)
    return quality


def count_broken_rows(dialect: Dialect, name: str, paths: Sequence[Path]) -> Counter[str]:
    """Count the rows of a table that break a rule and are stored all the same.

    Parameters
    ----------
    dialect
        The format, which does not publish all columns.
    name, paths
        The table and its files.
    """
    checked = []
    for column in TABLES[name].columns:
        if column.checks and dialect.publishes(column.name, name):
            checked.append(column.name)
    counts: Counter[str] = Counter()
    for path in paths:
        for batch in pq.ParquetFile(path).iter_batches(columns=checked):
            counts += count_broken(TABLES[name], pa.Table.from_batches([batch]))
    return counts


def _check_units(
    connection: duckdb.DuckDBPyConnection,
    paths: Sequence[Path],
    basis: Basis,
) -> None:
    """Refuse usage that is more than machines have: its unit is another than was said."""
    if not paths:
        return
    if basis.cores is not None:
        _check_unit(connection, paths, "cpu", basis.cores, "cores")
    if basis.bytes is not None:
        _check_unit(connection, paths, "memory", basis.bytes, "bytes")


def _check_unit(
    connection: duckdb.DuckDBPyConnection,
    paths: Sequence[Path],
    resource: str,
    whole: float,
    unit: str,
) -> None:
    query_sql = _medians_sql(paths, f"average_{resource}")
    ((median_of_rows, median_of_machines),) = connection.execute(query_sql).fetchall()
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


def _medians_sql(paths: Sequence[Path], column: str) -> str:
    """Write the median of all rows, and that of what the tasks of a machine use together in a window."""
    usage_sql = files_sql(paths)
    column_sql = quoted(column)
    window_sql = number(WINDOW)
    return f"""
        SELECT
            (SELECT median({column_sql}) FROM {usage_sql}),
            (
                SELECT median(total)
                FROM (
                    SELECT
                        sum({column_sql} * least(end_time - start_time, {window_sql}))
                            / {window_sql} AS total
                    FROM {usage_sql}
                    WHERE machine_id IS NOT NULL
                    GROUP BY machine_id, start_time // {window_sql}
                )
            )
    """


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
