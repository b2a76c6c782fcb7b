"""Files of a table in the order of its key, each with a note of its content."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from borgtrace.ingest.build.row_order import sorted_batches
from borgtrace.schema import Table
from borgtrace.schema.arrow import arrow_schema
from borgtrace.storage import replacing
from borgtrace.store.content import ContentSums

ROW_GROUP = 1 << 19
PIECE = 1 << 17
"""Rows sorted at a time: the allocator reuses buffers of a megabyte a column, and not larger ones."""
_SAMPLE = 1 << 14
"""Rows that tell whether the values of a column are mostly different."""
ASCENDING = ("time", "start_time", "end_time", "source_row")
"""Columns stored as differences: times of a task and numbers of rows ascend, or nearly (6 % of a usage table)."""

Rows: TypeAlias = pa.Table | Iterable[pa.RecordBatch]
"""Rows in no order, or batches in the order of the key."""
Refinement = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
Watch = Callable[[Path, int], AbstractContextManager[Callable[[pa.RecordBatch], None]]]
"""Of a file and the number of its first row: what takes each of its batches once they are written."""


@contextmanager
def nobody_watches(_path: Path, _first: int) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """Yield a function that does nothing with the rows of a file."""
    yield lambda _batch: None


@dataclass(frozen=True)
class WriteHooks:
    """What is done with the sorted rows of a file while it is written.

    Parameters
    ----------
    refine
        Makes the batches that are written of those that were sorted.
    watch
        What takes the batches that were written.
    """

    refine: Refinement = iter
    watch: Watch = nobody_watches


NO_HOOKS = WriteHooks()
"""Rows are written as they were sorted."""


def write_rows(
    path: Path,
    first: int,
    table: Table,
    rows: Rows,
    hooks: WriteHooks = NO_HOOKS,
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
    hooks
        What is done with them on the way.
    """
    sums = ContentSums(first)
    schema = _stored_schema(table)
    batches = sorted_batches(rows, table.key, PIECE) if isinstance(rows, pa.Table) else rows
    whole_batches = (_with_all_columns(batch, schema) for batch in hooks.refine(batches))
    row_group = list(islice(whole_batches, ROW_GROUP // PIECE))
    plain_columns = diverse_columns(row_group)
    # Beside, then renamed: of a task that runs again, the first run may not be dead.
    with (
        replacing(path) as draft,
        _stored_writer(draft, schema, plain_columns) as writer,
        hooks.watch(path, first) as take,
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
