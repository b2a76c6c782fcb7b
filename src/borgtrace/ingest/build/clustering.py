"""Clustering: staged parts → one table sorted by its key, in files cut at collections.

Each file is made on its own, in memory: its range of collections is read, sorted and written.  What is read is sorted
in runs (see `StagedWriter`), so that a range is found by the statistics of row groups, and nothing is spilled but a
collection that is larger than a file.
"""

import os
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from borgtrace.engine import SparkTasks
from borgtrace.engine.embedded import files_sql, raw_connection
from borgtrace.engine.guard import lock
from borgtrace.engine.identifiers import quoted
from borgtrace.engine.memory import parse_memory
from borgtrace.ingest.build.coded_rows import CodedParts, added_counts
from borgtrace.ingest.build.file_ranges import between_sql, bounds_of, plan_files
from borgtrace.ingest.build.freed_rows import FreedRows
from borgtrace.ingest.build.row_order import sorted_batches
from borgtrace.ingest.build.rows_in_memory import RowsInMemory, stored_values_sql
from borgtrace.ingest.build.staged_relation import PartsByColumns, show_parts
from borgtrace.ingest.files.staged_part import StagedPart
from borgtrace.kernels.arrays import Index
from borgtrace.schema import Table
from borgtrace.schema.arrow import arrow_schema
from borgtrace.storage import RemotePath, remove, replacing, user_cache
from borgtrace.store.content import ContentSums
from borgtrace.store.layout import part_name

ROW_GROUP = 1 << 19
PIECE = 1 << 17
"""Rows sorted at a time: the allocator reuses buffers of a megabyte a column, and not larger ones."""
_SAMPLE = 1 << 14
"""Rows that tell whether the values of a column are mostly different."""
ASCENDING = ("time", "start_time", "end_time", "source_row")
"""Columns stored as differences: times of a task and numbers of rows ascend, or nearly (6 % of a usage table)."""
MOST_WRITERS = 4
"""Most files made at a time, whatever the number of cores: they share the memory."""
COPIES = 4
"""Of a file's rows, in memory while it is made: as read, sorted, and being encoded; the next one's are read."""
MOST_ROWS, WORTH_SHARING = 1 << 22, 1 << 20
"""Most rows of a file, however much memory there is, and rows above which several cores share a table: its files."""
ROW_BYTES = 160
"""Of usage in memory: 140 bytes of the 2011 trace, 230 with the percentiles of 2019."""

_CODED_ROWS = "coded_rows"
"""View of the rows of coded parts that one file has."""

Rows: TypeAlias = pa.Table | Iterable[pa.RecordBatch]
"""Rows in no order, or batches in the order of the key."""
Refinement = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
Watch = Callable[[Path, int], AbstractContextManager[Callable[[pa.RecordBatch], None]]]
"""Of a file and the number of its first row: what takes each of its batches once they are written."""


@contextmanager
def nobody_watches(_path: Path, _first: int) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """Yield a function that does nothing with the rows of a file."""
    yield lambda _batch: None


def sorting_connection(
    memory: str,
    threads: int | None,
    folders: Sequence[str],
    spill: Path | None = None,
) -> duckdb.DuckDBPyConnection:
    """Open the connection that reads rows for sorting.

    Statistics propagation is off: with it, whether DuckDB writes a Parquet column as NOT NULL depends on what the
    optimizer happens to know about the input files.

    Parameters
    ----------
    memory
        What DuckDB may hold before it spills, such as ``"4GB"``.
    threads
        Its threads; all cores where None.
    folders
        All that it can read and write, from `within_reach`: rows and their texts come from anyone.
    spill
        Where it spills; made here.  None: in the temporary folder.
    """
    if spill is not None:
        spill.parent.mkdir(parents=True, exist_ok=True)
        # What is left of a process that died, or a link to elsewhere.
        remove(spill)
        spill.mkdir(mode=0o700)
    connection = raw_connection(memory, threads, spill)
    connection.execute("SET disabled_optimizers = 'statistics_propagation'")
    # The footers of staged parts are read for each range of collections.
    connection.execute("SET parquet_metadata_cache = true")
    lock(connection, folders)
    return connection


def within_reach(*places: Path) -> list[str]:
    """Return stores and folders as `sorting_connection` takes them; of one in a bucket, the folder of its copies."""
    folders: dict[Path, None] = {}
    for place in places:
        here = user_cache() if isinstance(place, RemotePath) else place
        folders |= dict.fromkeys(_folders_behind(here))
    return [f"{folder}/" for folder in folders]


def _folders_behind(place: Path) -> Iterator[Path]:
    """Yield where the files of a folder really are: tables of a store, or their parts, may be links."""
    yield place.resolve()
    for table in place.glob("*"):
        if table.is_symlink():
            yield table.resolve()
    for part in place.glob("*/part-*.parquet"):
        if part.is_symlink():
            yield part.resolve().parent


def reach_of(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the folders that a connection from `sorting_connection` can reach, for one beside it."""
    ((folders,),) = connection.execute("SELECT current_setting('allowed_directories')").fetchall()
    return list(folders)


def cluster(
    connection: duckdb.DuckDBPyConnection,
    table: Table,
    relation_sql: str,
    folder: Path,
    progress: Callable[[int], None] = lambda rows: None,
    present: Sequence[Path] = (),
    fresh_sql: str = "",
    spark: SparkTasks | None = None,
    refine: Refinement = iter,
    parts: PartsByColumns | None = None,
    coded: Sequence[StagedPart] = (),
    watch: Watch = nobody_watches,
    freed: FreedRows | None = None,
    in_memory: RowsInMemory | None = None,
) -> list[Path]:
    """Sort the rows of a relation by the table's key into Parquet files in `folder`, and return these in order.

    Parameters
    ----------
    connection
        From `sorting_connection`.
    table
        The canonical table.
    relation_sql
        Query that yields its columns, with the rows of files that may stay; empty where all rows are in coded parts.
    folder
        Where the files go; made here.
    progress
        Called with the number of rows written, after each file.
    present
        Files of the version before, in order: those stay where no new rows belong into their ranges of collections.
    fresh_sql
        Query of the new rows beside those of coded parts, where files may stay; empty where there are none.
    spark
        Where each file is made by a task; here where None.
    refine
        What is done here to the sorted rows of a file, batch by batch, before they are written.
    parts
        Staged parts that the relation reads, where they are in a bucket.
    coded
        Staged parts that are read without DuckDB.
    watch
        What takes the rows that are written here.
    freed
        What frees rows of coded parts, where it is to be done; a killed build may have finished some files.
    in_memory
        All rows, where the relation was read already; no more than `most_rows_of_file`.
    """
    folder.mkdir(parents=True, exist_ok=freed is not None)
    coded_parts = CodedParts(table, coded)
    source = _SortedRelation(connection, table, relation_sql, coded_parts, in_memory)
    n_writers, memory = writers(connection)
    most_rows = most_rows_of_file(connection)
    files: Iterable[_PlannedFile] = source.plan(
        most_rows, WORTH_SHARING, folder, present, fresh_sql, freed
    )
    if spark is None:
        _write_files(source, files, n_writers, progress, refine, watch, freed)
    else:
        there = _RelationOfTasks(
            table,
            relation_sql,
            parts or {},
            coded_parts,
            f"{memory}B",
            reach_of(connection),
        )
        if isinstance(folder, RemotePath):
            # The collections of all parts would come here, to be dropped when the ranges are known.
            (files,) = spark.map(partial(there.plan, most_rows, WORTH_SHARING), [folder])
        for rows in spark.map(there.make, files):
            progress(rows)
    return sorted(folder.glob("part-*.parquet"))


def _write_files(
    source: "_SortedRelation",
    files: "Iterable[_PlannedFile]",
    n_writers: int,
    progress: Callable[[int], None],
    refine: Refinement,
    watch: Watch,
    freed: FreedRows | None,
) -> None:
    """Sort the rows of files here, one file at a time, and write some files at once."""

    def write(file: _PlannedFile, rows: Rows) -> int:
        n_rows = write_rows(file.path, file.first_row, source.table, rows, refine, watch)
        if freed:
            freed.finish(file.number)
        return n_rows

    pending: deque[Future[int]] = deque()
    # The connection stays with this thread: one of a pool may outlive the work and keep its DuckDB results alive.
    with ThreadPoolExecutor(n_writers) as pool:
        for file in files:
            if freed and freed.is_finished(file.number):
                progress(file.n_rows)
                continue
            rows = source.read(file)
            pending.append(pool.submit(write, file, rows))
            # A file is read while others are written; what DuckDB sorts has to be written before it is used again.
            is_streamed = isinstance(rows, pa.RecordBatchReader)
            while len(pending) >= n_writers or (pending and is_streamed):
                progress(pending.popleft().result())
        for future in pending:
            progress(future.result())


def rows_of_file(
    n_rows: int, most_rows: int = MOST_ROWS, worth_sharing: int = WORTH_SHARING
) -> int:
    """Return the most rows of a file, by those of the table alone: files must not depend on the number of cores.

    Parameters
    ----------
    n_rows
        Of the table.
    most_rows
        That fit into memory.
    worth_sharing
        Below which one file is enough.

    Examples
    --------
    >>> rows_of_file(1000), rows_of_file(8_000_000), rows_of_file(10**9)
    (1048576, 2000000, 4194304)
    """
    return min(most_rows, max(worth_sharing, n_rows // MOST_WRITERS))


def writers(connection: duckdb.DuckDBPyConnection) -> tuple[int, int]:
    """Return how many files are worked on at a time, and the bytes of memory that each may take."""
    query = "SELECT current_setting('threads'), current_setting('memory_limit')"
    ((threads, memory),) = connection.execute(query).fetchall()
    n_writers = min(int(threads), MOST_WRITERS)
    return n_writers, parse_memory(memory) // n_writers


def most_rows_of_file(connection: duckdb.DuckDBPyConnection) -> int:
    """Return how many rows are sorted in memory."""
    _, memory = writers(connection)
    return min(MOST_ROWS, memory // (COPIES * ROW_BYTES))


@dataclass(frozen=True)
class _PlannedFile:
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
class _SortedRelation:
    """A relation that is sorted into the files of a table."""

    connection: duckdb.DuckDBPyConnection
    table: Table
    relation_sql: str
    coded: CodedParts
    in_memory: RowsInMemory | None = None

    def read(self, file: _PlannedFile) -> Rows:
        """Return the rows of a file, without columns that nobody fills."""
        if self.in_memory is not None:
            return self.in_memory.sorted_batches(file.low, file.high, PIECE)
        if not self.relation_sql and file.fits_memory:
            return self.coded.sorted_batches(file.low, file.high, PIECE)
        query_sql = self._query_sql(file)
        if file.fits_memory:
            return self.connection.sql(query_sql).to_arrow_table()
        # A collection larger than a file: DuckDB sorts it, and spills.
        key_sql = ", ".join(quoted(name) for name in self.table.key)
        return self.connection.sql(f"{query_sql} ORDER BY {key_sql}").to_arrow_reader(PIECE)

    def _query_sql(self, file: _PlannedFile) -> str:
        """Write the query of the rows of a file; coded rows are shown to DuckDB for one such query."""
        relations = [self.relation_sql] if self.relation_sql else []
        if self.coded:
            coded_rows = self.coded.reader(file.low, file.high)
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
        present: Sequence[Path] = (),
        fresh_sql: str = "",
        freed: FreedRows | None = None,
    ) -> Iterator[_PlannedFile]:
        """Yield each file that has to be made, or was by a killed build; link those that stay."""
        collections, counts = self._collections()
        starts = [self._first_collection(path) for path in present[1:]]
        new_collections = self._new_collections(fresh_sql) if present else ()
        rows = rows_of_file(int(sum(counts)), most_rows, worth_sharing)
        cuts, kept = plan_files(collections, counts, rows, present, starts, new_collections)
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
            yield _PlannedFile(
                path,
                number,
                int(first_row),
                int(rows),
                *bounds_of(cuts, number),
                fits_memory=bool(rows <= most_rows),
            )

    def _collections(self) -> tuple[Index, Index]:
        """Return the collections of all rows, ascending, and how many rows each has."""
        if self.in_memory is not None:
            return self.in_memory.collections()
        ids, counts = self.coded.collections()
        if not self.relation_sql:
            return ids, counts
        # Machine tables are ordered by time and small: one file.
        is_cut = self.table.key[0] == "collection_id"
        collection_sql = "collection_id" if is_cut else "0"
        others, other_counts = self._integer_columns(f"""
            SELECT {collection_sql} AS collection, count(*)
            FROM ({self.relation_sql})
            GROUP BY collection
            ORDER BY collection
        """)
        return added_counts(ids, counts, others, other_counts)

    def _new_collections(self, fresh_sql: str) -> Index:
        coded, _ = self.coded.collections()
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
class _RelationOfTasks:
    """A relation that tasks sort, which have no access to the connection of the process that plans them.

    Parameters
    ----------
    table, relation_sql, parts, coded
        As for `cluster`.
    memory
        What each task may hold.
    folders
        All that it can read and write.
    """

    table: Table
    relation_sql: str
    parts: PartsByColumns
    coded: CodedParts
    memory: str
    folders: Sequence[str]

    def plan(self, most_rows: int, worth_sharing: int, folder: Path) -> list[_PlannedFile]:
        """Return each file of a table of which there is none yet."""
        with self._open() as relation:
            return list(relation.plan(most_rows, worth_sharing, folder))

    def make(self, file: _PlannedFile) -> int:
        """Read and write one file."""
        with self._open() as relation:
            return write_rows(file.path, file.first_row, self.table, relation.read(file))

    @contextmanager
    def _open(self) -> Iterator[_SortedRelation]:
        with sorting_connection(self.memory, 1, self.folders) as connection:
            show_parts(connection, self.parts)
            yield _SortedRelation(connection, self.table, self.relation_sql, self.coded)


def write_rows(
    path: Path,
    first: int,
    table: Table,
    rows: Rows,
    refine: Refinement = iter,
    watch: Watch = nobody_watches,
) -> int:
    """Write a file of a store, with a note of its content, and return the number of its rows.

    Parameters
    ----------
    path
        The file.
    first
        Number of its first row in the whole table.
    table
        What it is a file of.
    rows
        Its rows: batches come in order, those of a table are sorted.
    refine, watch
        As for `cluster`.
    """
    sums = ContentSums(first)
    schema = _stored_schema(table)
    batches = sorted_batches(rows, table.key, PIECE) if isinstance(rows, pa.Table) else rows
    whole_batches = (_with_all_columns(batch, schema) for batch in refine(batches))
    row_group = list(islice(whole_batches, ROW_GROUP // PIECE))
    plain_columns = diverse_columns(row_group)
    # Beside, then renamed: of a task that runs again, the first run may not be dead.
    with (
        replacing(path) as draft,
        _stored_writer(draft, schema, plain_columns) as writer,
        watch(path, first) as take,
    ):
        while row_group:
            writer.write_table(pa.Table.from_batches(row_group))
            for batch in row_group:
                sums.add(batch)
                take(batch)
            row_group = list(islice(whole_batches, ROW_GROUP // PIECE))
        writer.add_key_value_metadata(sums.note())
    return sums.rows


def _stored_schema(table: Table) -> pa.Schema:
    """Return the columns of a file; names of a kind are written as the codes that Parquet makes of them anyway."""
    types = {field.name: field.type for field in arrow_schema(table)}
    for column in table.columns:
        if column.type == "enum":
            types[column.name] = pa.dictionary(pa.uint8(), pa.string())
    return pa.schema(types)


def _with_all_columns(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch with all columns; those that nobody fills are NULL."""
    filled = dict(zip(batch.schema.names, batch.columns, strict=True))
    columns = []
    for field in schema:
        column = filled.get(field.name)
        if column is None:
            column = _nulls(field.type)[: len(batch)]
        if pa.types.is_dictionary(field.type):
            column = column.dictionary_encode()
        columns.append(column)
    return pa.record_batch(columns, schema)


@cache
def _nulls(column_type: pa.DataType) -> pa.Array:
    """Return a column of NULLs, which is made once: new memory costs as much as writing it."""
    return pa.nulls(ROW_GROUP, column_type)


def diverse_columns(batches: Sequence[pa.RecordBatch]) -> list[str]:
    """Return the measured columns most of whose values differ: a dictionary takes more time and disk than they do."""
    if not batches:
        return []
    rows = pa.Table.from_batches(batches)
    measured = [field.name for field in rows.schema if field.type == pa.float32()]
    return differing_columns(rows.select(measured))


def differing_columns(rows: pa.Table) -> list[str]:
    """Return the columns of numbers most of whose values differ, by those of the first rows."""
    sample = rows.slice(0, _SAMPLE)
    differing = []
    for name in sample.column_names:
        n_distinct = pc.count_distinct(sample.column(name)).as_py()
        if 2 * n_distinct > len(sample):
            differing.append(name)
    return differing


def _stored_writer(path: Path, schema: pa.Schema, plain: Sequence[str]) -> pq.ParquetWriter:
    """Open a file of the store.

    Places in a dictionary of measured values are bits without a pattern: zstd makes 4 % less of them than lz4 does, and
    a file takes 8 % longer.  Their bounds take as long and tell row groups of half a million rows from none.
    """
    measured = {field.name for field in schema if field.type == pa.float32()}
    coded = measured - set(plain)
    # Statistics of tasks, of which few are alike.
    doubles = [field.name for field in schema if field.type == pa.float64()]
    codecs = {}
    levels = {}
    for field in schema:
        leaf = _leaf(field)
        codecs[leaf] = "lz4" if field.name in coded else "zstd"
        if codecs[leaf] == "zstd":
            levels[leaf] = 1
    return parquet_writer(
        path,
        schema,
        codecs,
        [*plain, *doubles],
        compression_level=levels,
        write_statistics=[_leaf(field) for field in schema if field.name not in measured],
        store_schema=False,
    )


def _leaf(field: pa.Field) -> str:
    """Return what Parquet calls the values of a column."""
    return f"{field.name}.list.element" if pa.types.is_list(field.type) else str(field.name)


def parquet_writer(
    path: Path,
    schema: pa.Schema,
    compression: str | Mapping[str, str],
    plain: Sequence[str] = (),
    **options: Any,
) -> pq.ParquetWriter:
    """Open a Parquet file for rows of a table; the caller cuts row groups and chooses columns without a dictionary."""
    ascending = [name for name in schema.names if name in ASCENDING]
    # Measured values have ten significant bits: without dictionaries a usage table takes up to 1.7 × the disk.
    dictionary_columns = []
    for field in schema:
        if field.name not in ascending and field.name not in plain:
            dictionary_columns.append(_leaf(field))
    return pq.ParquetWriter(
        path,
        schema,
        compression=compression,
        use_dictionary=dictionary_columns,
        column_encoding=dict.fromkeys(ascending, "DELTA_BINARY_PACKED"),
        **options,
    )
