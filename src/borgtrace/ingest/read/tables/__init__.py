"""Kinds of files that hold tables with named columns, one module each; a new kind is a module and a line here.

A file of such a kind is read like Parquet: each row becomes a record with the names of its columns, whichever trace
format it is of.
"""

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.engine.guard import open_values
from borgtrace.errors import SourceError
from borgtrace.ingest.files.partitions import partition_columns
from borgtrace.ingest.files.raw_file import RawFile
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.files.streams import plain_file
from borgtrace.ingest.read.records import json_texts_sql
from borgtrace.ingest.read.tables import (
    arrow_file,
    json_file,
    orc_file,
    partitioned_file,
    printed_table,
    sqlite_file,
    wide_file,
    xlsx_file,
)
from borgtrace.ingest.read.tables.kind import Columns, TableKind
from borgtrace.ingest.read.tables.time_of_name import time_of_name, with_column

KINDS: tuple[TableKind, ...] = (
    arrow_file.KIND,
    arrow_file.STREAM,
    orc_file.KIND,
    sqlite_file.KIND,
    xlsx_file.KIND,
)
"""Kinds of binary files, in the order in which they are asked."""
TEXT_KINDS: tuple[TableKind, ...] = (json_file.KIND,)
"""Kinds of text: asked where a text is of no published form."""
LAYOUTS: tuple[TableKind, ...] = (wide_file.KIND, printed_table.KIND)
"""Kinds of text in lines: asked where the first line is no header that is known."""
PARTITIONED: tuple[TableKind, ...] = partitioned_file.PARTITIONED
"""Parquet and delimited text, where a column of theirs is in the name of a folder."""
ROWS_PER_BLOCK = 1 << 17


def kind_of(head: bytes) -> TableKind | None:
    r"""Return the kind of a binary file with tables, by its first bytes; None where it is none.

    Examples
    --------
    >>> kind_of(b"SQLite format 3\x00").name, kind_of(b"task,time,cpu")
    ('SQLite', None)
    """
    return next((kind for kind in KINDS if kind.recognizes(head)), None)


def text_kind_of(head: bytes) -> TableKind | None:
    """Return the kind of a text with tables, by its first bytes in UTF-8; None where it is none.

    Examples
    --------
    >>> text_kind_of(b'[{"task": "web"}]').name, text_kind_of(b"task,time,cpu")
    ('JSON', None)
    """
    return next((kind for kind in TEXT_KINDS if kind.recognizes(head)), None)


def layout_of_text(head: bytes) -> TableKind | None:
    r"""Return how the lines of a text are a table other than by fields under a header; None where they are not.

    Examples
    --------
    >>> layout_of_text(b"Time,web-0,web-1\n2026-11-01 00:00:00,0.25,\n").name
    'wide'
    """
    return next((kind for kind in LAYOUTS if kind.recognizes(head)), None)


def kind_called(name: str) -> TableKind:
    """Return the kind of a name."""
    return next(kind for kind in (*KINDS, *TEXT_KINDS, *LAYOUTS, *PARTITIONED) if kind.name == name)


def columns_in(file: RawFile, kind: TableKind) -> Columns:
    """Return the tables in a file with their columns.

    Parameters
    ----------
    file
        The file, packed or not.
    kind
        What it is.

    Raises
    ------
    SourceError
        The file is damaged.
    """
    with plain_file(file) as path, _named(path, file):
        columns = kind.columns(path)
    if not time_of_name(file.file_name):
        return columns
    return {table: [*names, *_lacking_time(kind, names)] for table, names in columns.items()}


def _lacking_time(kind: TableKind, names: Sequence[str]) -> list[str]:
    """Return the column of times that the name of a file gives, where its rows have none."""
    return [kind.time_column] if kind.time_column and kind.time_column not in names else []


def _batches(
    file: RawFile,
    kind: TableKind,
    table: str,
    path: Path,
) -> Iterator[pa.RecordBatch]:
    time = time_of_name(file.file_name)
    for batch in kind.batches(path, table):
        for name in _lacking_time(kind, batch.schema.names) if time else ():
            batch = with_column(batch, name, time)  # noqa: PLW2901
        yield batch


def first_batch(file: RawFile, kind: TableKind, table: str) -> pa.Table:
    """Return the first rows of a table of a file.

    Parameters
    ----------
    file, kind
        As for `columns_in`.
    table
        Its name.

    Raises
    ------
    SourceError
        The file is damaged.
    """
    with plain_file(file) as path, _named(path, file):
        batches = list(islice(_batches(file, kind, table, path), 1))
        return pa.Table.from_batches(batches) if batches else pa.table({})


def table_blocks(source: Source) -> Iterator[pa.Table]:
    """Yield the rows of a table as numbered lines of JSON.

    Raises
    ------
    SourceError
        The file is damaged.
    """
    n_done = 0
    kind = kind_called(source.kind)
    with (
        plain_file(source) as path,
        _named(path, source),
        open_values(threads=1) as connection,
    ):
        for batch in _batches(source, kind, source.inner, path):
            batch = _with_partitions(batch, source)  # noqa: PLW2901
            for start in range(0, batch.num_rows, ROWS_PER_BLOCK):
                rows = _without_nan(pa.Table.from_batches([batch.slice(start, ROWS_PER_BLOCK)]))
                connection.register("rows", rows)
                lines = connection.sql(json_texts_sql("rows", rows.column_names)).to_arrow_table()
                connection.unregister("rows")
                numbers = pa.array(np.arange(n_done, n_done + lines.num_rows))
                n_done += lines.num_rows
                yield pa.table({"source_row": numbers, "line": lines.column("line")})


@contextmanager
def _named(path: Path, file: RawFile) -> Iterator[None]:
    """Name a file in errors by its own name, rather than by that of the copy that is read."""
    try:
        yield
    except csv.Error as error:
        raise SourceError(
            file.label,
            f"a line that is no delimited text ({error})",
            way_out="correct the line, or export it again",
        ) from error
    except SourceError as error:
        if error.where != str(path):
            raise
        raise SourceError(
            file.label,
            error.what,
            expected=error.expected,
            got=error.got,
            way_out=error.way_out,
        ) from error


def _with_partitions(batch: pa.RecordBatch, source: Source) -> pa.RecordBatch:
    """Return rows with the columns of their folders that their table has."""
    names = source.dialect.tables[source.table].names
    for name, text in partition_columns(source).items():
        if name in names and name not in batch.schema.names:
            batch = with_column(batch, name, text)
    return batch


def _without_nan(rows: pa.Table) -> pa.Table:
    """Return rows in which what is missing is NULL: pandas makes doubles of integers, and NaN of missing ones."""
    for place, column in enumerate(rows.schema):
        if pa.types.is_floating(column.type):
            is_nan = pc.is_nan(rows.column(place))
            values = pc.if_else(is_nan, pa.scalar(None, column.type), rows.column(place))
            rows = rows.set_column(place, column, values)
    return rows


__all__ = [
    "KINDS",
    "LAYOUTS",
    "PARTITIONED",
    "TEXT_KINDS",
    "TableKind",
    "columns_in",
    "first_batch",
    "kind_called",
    "kind_of",
    "layout_of_text",
    "table_blocks",
    "text_kind_of",
]
