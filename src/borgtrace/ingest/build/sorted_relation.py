"""A relation whose rows are sorted: what files they are cut into, and the rows of each."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt

from borgtrace.engine.embedded import files_sql
from borgtrace.engine.identifiers import quoted
from borgtrace.ingest.build.coded_rows import CodedParts, added_counts
from borgtrace.ingest.build.file_ranges import between_sql, bounds_of, plan_files
from borgtrace.ingest.build.freed_rows import FreedRows
from borgtrace.ingest.build.rows_in_memory import RowsInMemory, stored_values_sql
from borgtrace.ingest.build.sorting_limits import rows_of_file, sorting_connection
from borgtrace.ingest.build.staged_relation import PartsByColumns, show_parts
from borgtrace.ingest.build.table_files import PIECE, Rows, write_rows
from borgtrace.ingest.files.staged_part import StagedPart
from borgtrace.kernels.arrays import Index
from borgtrace.schema import Table
from borgtrace.store.layout import part_name

_CODED_ROWS = "coded_rows"
"""View of the rows of coded parts that one file has."""


@dataclass(frozen=True)
class UnsortedRows:
    """All rows of a table, in no order.

    Parameters
    ----------
    relation_sql
        Query that yields the table's columns; empty where all rows are in coded parts.
    parts
        Staged parts that the query reads, where they are in a bucket.
    coded
        Staged parts that are read without DuckDB.
    in_memory
        What the query yields, where it was answered already; no more than `most_rows_of_file`.
    """

    relation_sql: str
    parts: PartsByColumns = field(default_factory=dict)
    coded: Sequence[StagedPart] = ()
    in_memory: RowsInMemory | None = None


@dataclass(frozen=True)
class PresentFiles:
    """Files of the version before.

    Parameters
    ----------
    paths
        In order: those stay where no new rows belong into their ranges of collections.
    fresh_sql
        Query of the new rows beside those of coded parts; empty where there are none.
    """

    paths: Sequence[Path] = ()
    fresh_sql: str = ""


NO_FILES = PresentFiles()


@dataclass(frozen=True)
class PlannedFile:
    """A file to be made.

    Parameters
    ----------
    path, number
        The file, and its number from 0.
    first_row, n_rows
        Number of its first row in the whole table, and how many it has.
    low, high
        Its first collection, and that of the file behind it; None for no bound.
    fits_memory
        Whether they are sorted in memory.
    """

    path: Path
    number: int
    first_row: int
    n_rows: int
    low: int | None
    high: int | None
    fits_memory: bool


@dataclass(frozen=True)
class SortedRelation:
    """A relation that is sorted into the files of a table."""

    connection: duckdb.DuckDBPyConnection
    table: Table
    rows: UnsortedRows

    @property
    def _coded(self) -> CodedParts:
        return CodedParts(self.table, self.rows.coded)

    def read(self, file: PlannedFile) -> Rows:
        """Return the rows of a file, without columns that nobody fills."""
        if self.rows.in_memory is not None:
            return self.rows.in_memory.sorted_batches(file.low, file.high, PIECE)
        if not self.rows.relation_sql and file.fits_memory:
            return self._coded.sorted_batches(file.low, file.high, PIECE)
        query_sql = self._query_sql(file)
        if file.fits_memory:
            return self.connection.sql(query_sql).to_arrow_table()
        # A collection larger than a file: DuckDB sorts it, and spills.
        key_sql = ", ".join(quoted(name) for name in self.table.key)
        return self.connection.sql(f"{query_sql} ORDER BY {key_sql}").to_arrow_reader(PIECE)

    def _query_sql(self, file: PlannedFile) -> str:
        """Write the query of the rows of a file; coded rows are shown to DuckDB for one such query."""
        relations = [self.rows.relation_sql] if self.rows.relation_sql else []
        if self._coded:
            coded_rows = self._coded.reader(file.low, file.high)
            self.connection.from_arrow(coded_rows).create_view(_CODED_ROWS, replace=True)
            relations.append(f"SELECT * FROM {quoted(_CODED_ROWS)}")
        rows_sql = " UNION ALL BY NAME ".join(relations)
        values_sql = stored_values_sql(self.connection, self.table, rows_sql)
        condition_sql = between_sql(file.low, file.high)
        return f"SELECT {values_sql} FROM ({rows_sql}) WHERE {condition_sql}"

    def plan(
        self,
        most_rows: int,
        worth_sharing: int,
        folder: Path,
        present: PresentFiles = NO_FILES,
        freed: FreedRows | None = None,
    ) -> Iterator[PlannedFile]:
        """Yield each file that has to be made, or was by a killed build; link those that stay."""
        collections, counts = self._collections()
        starts = [self._first_collection(path) for path in present.paths[1:]]
        new_collections = self._new_collections(present.fresh_sql) if present.paths else ()
        rows = rows_of_file(int(sum(counts)), most_rows, worth_sharing)
        cuts, kept = plan_files(collections, counts, rows, present.paths, starts, new_collections)
        if freed:
            cuts = list(freed.begin(cuts))
        file_of_collection = np.searchsorted(cuts, collections, "right")
        sizes = np.bincount(file_of_collection, counts, len(cuts) + 1).astype(np.int64)
        first_rows = np.cumsum(sizes) - sizes
        for number, (rows, first_row) in enumerate(zip(sizes, first_rows, strict=True)):
            path = folder / part_name(number)
            if number in kept:
                _link(kept[number], path)
                continue
            yield PlannedFile(
                path,
                number,
                int(first_row),
                int(rows),
                *bounds_of(cuts, number),
                fits_memory=bool(rows <= most_rows),
            )

    def _collections(self) -> tuple[Index, Index]:
        """Return the collections of all rows, ascending, and how many rows each has."""
        if self.rows.in_memory is not None:
            return self.rows.in_memory.collections()
        ids, counts = self._coded.collections()
        if not self.rows.relation_sql:
            return ids, counts
        # Machine tables are ordered by time and small: one file.
        is_cut = self.table.key[0] == "collection_id"
        collection_sql = "collection_id" if is_cut else "0"
        others, other_counts = self._integer_columns(f"""
            SELECT {collection_sql} AS collection, count(*)
            FROM ({self.rows.relation_sql})
            GROUP BY collection
            ORDER BY collection
        """)
        return added_counts(ids, counts, others, other_counts)

    def _new_collections(self, fresh_sql: str) -> Index:
        coded, _ = self._coded.collections()
        if not fresh_sql:
            return coded
        (others,) = self._integer_columns(f"SELECT DISTINCT collection_id FROM ({fresh_sql})")
        return np.union1d(coded, others)

    def _first_collection(self, path: Path) -> int:
        query_sql = f"SELECT min(collection_id) FROM {files_sql([path])}"
        ((first,),) = self.connection.execute(query_sql).fetchall()
        return int(first)

    def _integer_columns(self, query_sql: str) -> list[npt.NDArray[np.int64]]:
        columns = self.connection.execute(query_sql).fetchnumpy()
        return [np.asarray(column, np.int64) for column in columns.values()]


def _link(path: Path, target: Path) -> None:
    try:
        # The file itself, where its name is a link.
        os.link(path.resolve(), target)
    except OSError:
        # Not every file system has links.
        shutil.copy2(path, target)


@dataclass(frozen=True)
class RelationOfTasks:
    """A relation that tasks sort, which have no access to the connection of the process that plans them.

    Parameters
    ----------
    table, rows
        As for `cluster`.
    memory
        What each task may hold.
    folders
        All that it can read and write.
    """

    table: Table
    rows: UnsortedRows
    memory: str
    folders: Sequence[str]

    def plan(self, most_rows: int, worth_sharing: int, folder: Path) -> list[PlannedFile]:
        """Return each file of a table of which there is none yet."""
        with self._open() as relation:
            return list(relation.plan(most_rows, worth_sharing, folder))

    def make(self, file: PlannedFile) -> int:
        """Read and write one file."""
        with self._open() as relation:
            return write_rows(file.path, file.first_row, self.table, relation.read(file))

    @contextmanager
    def _open(self) -> Iterator[SortedRelation]:
        with sorting_connection(self.memory, 1, self.folders) as connection:
            show_parts(connection, self.rows.parts)
            yield SortedRelation(connection, self.table, self.rows)
