"""Canonical rows of converted files → the sorted files of every table, and what is noted while they are written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import duckdb
import pyarrow as pa

from borgtrace.engine.embedded import NO_TYPE, files_sql
from borgtrace.engine.identifiers import literal, quoted
from borgtrace.ingest.build.clustering import cluster
from borgtrace.ingest.build.machine_totals import MachineTotals
from borgtrace.ingest.build.rows_in_memory import RowsInMemory
from borgtrace.ingest.build.sorted_relation import UnsortedRows
from borgtrace.ingest.build.sorting_limits import MOST_ROWS, most_rows_of_file
from borgtrace.ingest.build.table_files import Refinement, Watch, WriteHooks
from borgtrace.ingest.build.written_usage import WrittenUsage
from borgtrace.ingest.convert.column_checks import count_broken
from borgtrace.ingest.convert.conversion import relations
from borgtrace.ingest.convert.conversion_terms import Terms
from borgtrace.ingest.convert.converted_events import EVENTS, instance_events_sql
from borgtrace.ingest.convert.converted_usage import WindowCutter, are_cut_when_sorted
from borgtrace.ingest.progress import Progress
from borgtrace.schema import TABLES, TRACE_TABLES, Dialect, Table
from borgtrace.storage import INCOMPLETE

_ROWS = "rows_of_table"


@dataclass
class ConvertedSorting:
    """The sorting of all tables of converted files.

    Parameters
    ----------
    connection
        Where the staged rows are shown.
    dialect, terms
        Their format, and how they are converted.
    n_rows
        How many are staged.
    work
        Folder of the new version.
    progress
        Receives progress.

    Attributes
    ----------
    broken
        Rows of each table that break a rule and are stored all the same, by reason.
    written
        What was made of usage while it was written; None without usage.
    machine_totals
        What usage adds up to; None where its rows are not in memory together.
    may_have_repeated_rows
        Whether two rows of usage may have the same task and time, as far as that shows in sorted rows.
    """

    connection: duckdb.DuckDBPyConnection
    dialect: Dialect
    terms: Terms
    n_rows: int
    work: Path
    progress: Progress
    broken: dict[str, Counter[str]] = field(default_factory=dict, init=False)
    written: WrittenUsage | None = field(default=None, init=False)
    machine_totals: MachineTotals | None = field(default=None, init=False)
    may_have_repeated_rows: bool = field(default=True, init=False)

    def sort_tables(self) -> dict[str, list[Path]]:
        """Write the rows of every table in its order; return the files of each."""
        files: dict[str, list[Path]] = {name: [] for name in TRACE_TABLES}
        with _Answers(self.connection, self.work, self.n_rows) as answers:
            answers.show(EVENTS, instance_events_sql(self.terms))
            for name, relation_sql in relations(self.connection, self.terms).items():
                self.progress.begin(f"cluster {name}", 0, "rows")
                files[name] = self._sort_table(answers, name, relation_sql)
        return files

    def _sort_table(self, answers: _Answers, name: str, relation_sql: str) -> list[Path]:
        table = TABLES[name]
        in_memory = answers.read(table, relation_sql)
        # Those of instances are there already.
        if in_memory is None and name != "instance_events":
            answers.show(_ROWS, relation_sql)
            relation_sql = f"SELECT * FROM {_ROWS}"
        n_rows = answers.count(relation_sql) if in_memory is None else len(in_memory)
        # A table without rows has no files.
        if not n_rows:
            return []
        broken_rows = BrokenRows(table, self.dialect)
        watches: list[Watch] = [broken_rows.watch]
        refine: Refinement = iter
        cutter = WindowCutter()
        if name == "instance_usage":
            self.written = WrittenUsage(self.work, n_rows)
            self.written.begin()
            watches.append(self.written.watch)
            self.machine_totals = MachineTotals.of(in_memory.rows) if in_memory else None
            if self.machine_totals:
                watches.append(self.machine_totals.watch)
            refine = cutter.cut if are_cut_when_sorted(self.terms) else iter
        paths = cluster(
            self.connection,
            table,
            UnsortedRows(relation_sql, in_memory=in_memory),
            self.work / name,
            hooks=WriteHooks(refine, _all_of(watches)),
        )
        self.broken[name] = broken_rows.total()
        if refine is not iter:
            self.may_have_repeated_rows = cutter.has_common_starts
        return paths


class BrokenRows:
    """Counts rows that break a rule and are stored all the same, while they are written.

    Parameters
    ----------
    table
        The canonical table.
    dialect
        The format, which does not publish all columns.
    """

    def __init__(self, table: Table, dialect: Dialect) -> None:
        self._table = table
        self._checked = []
        for column in table.columns:
            if column.checks and dialect.publishes(column.name, table.name):
                self._checked.append(column.name)
        self._counts: list[Counter[str]] = []

    @contextmanager
    def watch(self, _path: Path, _first: int) -> Iterator[Callable[[pa.RecordBatch], None]]:
        """Yield a function that takes the rows of a file; several threads may have one."""
        counts: Counter[str] = Counter()
        self._counts.append(counts)

        def take(batch: pa.RecordBatch) -> None:
            rows = pa.Table.from_batches([batch.select(self._checked)])
            counts.update(count_broken(self._table, rows))

        yield take

    def total(self) -> Counter[str]:
        """Return the rows of all files by reason."""
        return sum(self._counts, Counter())


def _all_of(watches: Sequence[Watch]) -> Watch:
    """Return what hands the rows of a file to several."""

    @contextmanager
    def watch(path: Path, first: int) -> Iterator[Callable[[pa.RecordBatch], None]]:
        with ExitStack() as opened:
            takers = [opened.enter_context(watch_one(path, first)) for watch_one in watches]

            def take(batch: pa.RecordBatch) -> None:
                for take_one in takers:
                    take_one(batch)

            yield take

    return watch


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

    def read(self, table: Table, query_sql: str) -> RowsInMemory | None:
        """Return the rows of a table; None where they do not fit into memory."""
        most_rows = most_rows_of_file(self.connection)
        # Of more, a query that joins or sorts them all would do so twice.
        if self.n_rows > most_rows:
            return None
        return RowsInMemory.read(self.connection, table, query_sql, most_rows)

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

    def count(self, query_sql: str) -> int:
        """Return how many rows an answer has."""
        ((n_rows,),) = self.connection.execute(f"SELECT count(*) FROM ({query_sql})").fetchall()
        return int(n_rows)

    def _path(self, name: str) -> Path:
        return self.work / f"{name}{INCOMPLETE}"
