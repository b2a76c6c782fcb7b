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
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from borgtrace.engine import SparkTasks
from borgtrace.engine.embedded import NO_TYPE, files_sql, raw_connection
from borgtrace.engine.memory import parse_memory
from borgtrace.ingest.build.file_ranges import plan_files, range_condition
from borgtrace.ingest.build.row_order import sorted_batches
from borgtrace.ingest.build.staged_relation import PartsByColumns, show_parts
from borgtrace.schema import ENUMS, Table
from borgtrace.schema.arrow import arrow_schema
from borgtrace.schema.sql import literals
from borgtrace.storage import replacing
from borgtrace.store.content import ContentSums
from borgtrace.store.layout import part_name

ROW_GROUP = 1 << 19
PIECE = 1 << 17
"""Rows sorted at a time: memory of a megabyte a column is used again, more is asked for anew."""
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

Refinement = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def sorting_connection(
    memory: str, threads: int | None, spill: Path | None = None
) -> duckdb.DuckDBPyConnection:
    """Open the connection that reads what is to be sorted.

    Statistics propagation is off: with it, whether DuckDB writes a Parquet column as NOT NULL depends on what the
    optimizer happens to know about the input files.

    Parameters
    ----------
    memory
        What DuckDB may hold before it spills, such as ``"4GB"``.
    threads
        Its threads; all cores where None.
    spill
        Where it spills; made here.  None: in the temporary folder.
    """
    if spill is not None:
        spill.mkdir(parents=True, exist_ok=True)
    connection = raw_connection(memory, threads, spill)
    connection.execute("SET disabled_optimizers = 'statistics_propagation'")
    # The footers of staged parts are read for each range of collections.
    connection.execute("SET parquet_metadata_cache = true")
    return connection


def cluster(
    connection: duckdb.DuckDBPyConnection,
    table: Table,
    relation: str,
    folder: Path,
    progress: Callable[[int], None] = lambda rows: None,
    held: Sequence[Path] = (),
    fresh: str = "",
    spark: SparkTasks | None = None,
    refine: Refinement = iter,
    parts: PartsByColumns | None = None,
) -> list[Path]:
    """Sort the rows of `relation` by the table's key into Parquet files in `folder`, and return these in order.

    Parameters
    ----------
    connection
        From `sorting_connection`.
    table
        The canonical table.
    relation
        SQL that yields its columns, with the rows of files that may stay.
    folder
        Where the files go; made here.
    progress
        Called with the number of rows written, after each file.
    held
        Files of the version before, in order: those stay where no new rows belong into their ranges of collections.
    fresh
        SQL of the new rows, where files may stay.
    spark
        Where each file is made by a task; here where None.
    refine
        What is done here to the sorted rows of a file, batch by batch, before they are written.
    parts
        Staged parts that the relation reads, where they are in a bucket.
    """
    folder.mkdir(parents=True)
    show_parts(connection, parts or {})
    source = _Source(connection, table, relation)
    at_a_time, memory = writers(connection)
    most = min(MOST_ROWS, memory // (COPIES * ROW_BYTES))
    files = source.files(most, folder, held, fresh)
    if spark is not None:
        for done in spark.map(partial(_make, table, relation, f"{memory}B", parts or {}), files):
            progress(done)
        return sorted(folder.glob("part-*.parquet"))
    written: deque[Future[int]] = deque()
    # The connection stays with this thread: one of a pool may outlive the work, and with it what it asked DuckDB for.
    with ThreadPoolExecutor(at_a_time) as pool:
        for file in files:
            rows = source.read(file)
            written.append(pool.submit(write_rows, file.path, file.first, table, rows, refine))
            # A file is read while others are written; what DuckDB sorts has to be written before it is asked again.
            while len(written) >= at_a_time or (written and not isinstance(rows, pa.Table)):
                progress(written.popleft().result())
        for one in written:
            progress(one.result())
    return sorted(folder.glob("part-*.parquet"))


def writers(connection: duckdb.DuckDBPyConnection) -> tuple[int, int]:
    """Return how many files are worked on at a time, and the bytes of memory that each may take."""
    query = "SELECT current_setting('threads'), current_setting('memory_limit')"
    ((threads, memory),) = connection.execute(query).fetchall()
    most = min(int(threads), MOST_WRITERS)
    return most, parse_memory(memory) // most


@dataclass(frozen=True)
class _File:
    """A file to be made: the number of its first row, which rows, and whether they are sorted in memory."""

    path: Path
    first: int
    condition: str
    fits: bool


@dataclass(frozen=True)
class _Source:
    """What is sorted, and how it is asked about."""

    connection: duckdb.DuckDBPyConnection
    table: Table
    relation: str

    def read(self, file: _File) -> pa.Table | pa.RecordBatchReader:
        """Return the rows of a file, which a table still has to be sorted, without columns that nobody fills."""
        known = self.connection.sql(self.relation)
        kinds = zip(known.columns, map(str, known.types), strict=True)
        names = ", ".join(
            self._value(name)
            for name, kind in kinds
            if name in self.table.names and kind != NO_TYPE
        )
        # A collection larger than a file: DuckDB sorts it, and spills.
        order = "" if file.fits else "ORDER BY " + ", ".join(f'"{name}"' for name in self.table.key)
        rows = self.connection.sql(
            f"SELECT {names} FROM ({self.relation}) WHERE {file.condition} {order}"
        )
        return rows.to_arrow_table() if file.fits else rows.to_arrow_reader(PIECE)

    def _value(self, name: str) -> str:
        # Names of a kind as codes: texts took longer to read, to sort and to write, 5 % of the whole time.
        enum = self.table.column(name).enum
        return (
            f'CAST("{name}" AS ENUM({literals(ENUMS[enum].names)})) AS "{name}"'
            if enum
            else f'"{name}"'
        )

    def files(self, most: int, folder: Path, held: Sequence[Path], fresh: str) -> Iterator[_File]:
        """Yield each file that has to be made; link those that stay."""
        # Machine tables are ordered by time and small: one file.
        by = "collection_id" if self.table.key[0] == "collection_id" else "0"
        ids, counts = self._columns(
            f"SELECT {by}, count(*) FROM ({self.relation}) GROUP BY 1 ORDER BY 1"
        )
        found = [
            self._columns(f"SELECT min(collection_id) FROM {files_sql([path])}")
            for path in held[1:]
        ]
        starts = [int(first[0]) for (first,) in found]
        (new,) = self._columns(f"SELECT DISTINCT collection_id FROM ({fresh})") if held else ((),)
        # By the rows alone: the files must not depend on the number of cores.
        share = min(most, max(WORTH_SHARING, int(sum(counts)) // MOST_WRITERS))
        cuts, kept = plan_files(ids, counts, share, held, starts, new)
        sizes = np.bincount(np.searchsorted(cuts, ids, "right"), counts, len(cuts) + 1).astype(
            np.int64
        )
        for number, (rows, first) in enumerate(zip(sizes, np.cumsum(sizes) - sizes, strict=True)):
            path = folder / part_name(number)
            if number in kept:
                _link(kept[number], path)
            else:
                yield _File(path, int(first), range_condition(cuts, number), bool(rows <= most))

    def _columns(self, query: str) -> list[npt.NDArray[np.int64]]:
        return [
            np.asarray(column, np.int64)
            for column in self.connection.execute(query).fetchnumpy().values()
        ]


def _link(path: Path, target: Path) -> None:
    try:
        os.link(path, target)
    except OSError:
        # Not every file system has links.
        shutil.copy2(path, target)


def _make(table: Table, relation: str, memory: str, parts: PartsByColumns, file: _File) -> int:
    """Read and write one file: what a task does, far from the connection that planned it."""
    with sorting_connection(memory, 1) as connection:
        show_parts(connection, parts)
        return write_rows(
            file.path, file.first, table, _Source(connection, table, relation).read(file)
        )


def write_rows(
    path: Path,
    first: int,
    table: Table,
    rows: pa.Table | pa.RecordBatchReader,
    refine: Refinement = iter,
) -> int:
    """Write a file of a store, with a note of what it holds, and return the number of its rows.

    Parameters
    ----------
    path
        The file.
    first
        Number of its first row in the whole table.
    table
        What it is a file of.
    rows
        Its rows: a reader gives them in order, those of a table are sorted.
    refine
        As for `cluster`.
    """
    sums, schema = ContentSums(first), _stored_schema(table)
    batches = refine(sorted_batches(rows, table.key, PIECE) if isinstance(rows, pa.Table) else rows)
    wholes = (_whole(batch, schema) for batch in batches)
    group = list(islice(wholes, ROW_GROUP // PIECE))
    # Beside, then renamed: of a task that runs again, the first run may not be dead.
    with replacing(path) as draft, _stored_writer(draft, schema, diverse_columns(group)) as writer:
        while group:
            writer.write_table(pa.Table.from_batches(group))
            for whole in group:
                sums.add(whole)
            group = list(islice(wholes, ROW_GROUP // PIECE))
        writer.add_key_value_metadata(sums.note())
    return sums.rows


def _stored_schema(table: Table) -> pa.Schema:
    """Return the columns of a file; names of a kind are written as the codes that Parquet makes of them anyway."""
    enums = {
        column.name: pa.dictionary(pa.uint8(), pa.string())
        for column in table.columns
        if column.type == "enum"
    }
    return pa.schema(
        {field.name: enums.get(field.name, field.type) for field in arrow_schema(table)}
    )


def _whole(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch with all columns; those that nobody fills are NULL."""
    held = dict(zip(batch.schema.names, batch.columns, strict=True))
    columns = [held.get(field.name, _nothing(field.type)[: len(batch)]) for field in schema]
    is_coded = map(pa.types.is_dictionary, schema.types)
    coded = [
        one.dictionary_encode() if is_code else one
        for one, is_code in zip(columns, is_coded, strict=True)
    ]
    return pa.record_batch(coded, schema)


@cache
def _nothing(kind: pa.DataType) -> pa.Array:
    """Return a column of no values, which is made once: new memory costs as much as writing it."""
    return pa.nulls(ROW_GROUP, kind)


def diverse_columns(batches: Sequence[pa.RecordBatch]) -> list[str]:
    """Return the measured columns most of whose values differ: a dictionary takes more time and disk than they do."""
    rows = pa.Table.from_batches(batches).slice(0, _SAMPLE) if batches else pa.table({})
    measured = [field.name for field in rows.schema if field.type == pa.float32()]
    return [
        name for name in measured if 2 * pc.count_distinct(rows.column(name)).as_py() > len(rows)
    ]


def _stored_writer(path: Path, schema: pa.Schema, plain: Sequence[str]) -> pq.ParquetWriter:
    """Open a file of the store.

    Places in a dictionary of measured values are bits without a pattern: zstd makes 4 % less of them than lz4 does, and
    a file takes 8 % longer.  Their bounds take as long and tell row groups of half a million rows from none.
    """
    measured = {field.name for field in schema if field.type == pa.float32()}
    codecs = {
        _leaf(field): "lz4" if field.name in measured - {*plain} else "zstd" for field in schema
    }
    return parquet_writer(
        path,
        schema,
        codecs,
        plain,
        compression_level={leaf: 1 for leaf, codec in codecs.items() if codec == "zstd"},
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
    """Open a file for rows of a table; the caller says what a row group is, and which columns get no dictionary."""
    ascending = [name for name in schema.names if name in ASCENDING]
    return pq.ParquetWriter(
        path,
        schema,
        compression=compression,
        # Measured values have ten significant bits: without dictionaries a usage table takes up to 1.7 × the disk.
        # Doubles are staged only, from text of any number of digits, of which few are alike.
        use_dictionary=[
            _leaf(field)
            for field in schema
            if field.name not in (*ascending, *plain) and field.type != pa.float64()
        ],
        column_encoding=dict.fromkeys(ascending, "DELTA_BINARY_PACKED"),
        **options,
    )
