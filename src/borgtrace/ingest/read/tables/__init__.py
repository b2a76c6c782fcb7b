"""Kinds of files that hold tables with named columns, one module each; a new kind is a module and a line here.

A file of such a kind is read like Parquet: each row becomes a record with the names of its columns, whichever trace
format it is of.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.engine.guard import open_values
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.files.streams import plain_file
from borgtrace.ingest.read.records import json_texts_sql
from borgtrace.ingest.read.tables import arrow_file, sqlite_file
from borgtrace.ingest.read.tables.kind import TableKind

KINDS: tuple[TableKind, ...] = (arrow_file.KIND, sqlite_file.KIND)
"""All kinds, in the order in which they are asked."""
ROWS_PER_BLOCK = 1 << 17


def kind_of(head: bytes) -> TableKind | None:
    r"""Return the kind of a file with tables, by its first bytes; None where it is none.

    Examples
    --------
    >>> kind_of(b"SQLite format 3\x00").name, kind_of(b"task,time,cpu")
    ('SQLite', None)
    """
    return next((kind for kind in KINDS if kind.recognizes(head)), None)


def kind_called(name: str) -> TableKind:
    """Return the kind of a name."""
    return next(kind for kind in KINDS if kind.name == name)


def table_blocks(source: Source) -> Iterator[pa.Table]:
    """Yield the rows of a table as numbered lines of JSON.

    Raises
    ------
    SourceError
        The file is damaged.
    """
    n_done = 0
    kind = kind_called(source.kind)
    with plain_file(source) as path, open_values(threads=1) as connection:
        for batch in kind.batches(path, source.inner):
            for start in range(0, batch.num_rows, ROWS_PER_BLOCK):
                rows = _without_nan(pa.Table.from_batches([batch.slice(start, ROWS_PER_BLOCK)]))
                connection.register("rows", rows)
                lines = connection.sql(json_texts_sql("rows", rows.column_names)).to_arrow_table()
                connection.unregister("rows")
                numbers = pa.array(np.arange(n_done, n_done + lines.num_rows))
                n_done += lines.num_rows
                yield pa.table({"source_row": numbers, "line": lines.column("line")})


def _without_nan(rows: pa.Table) -> pa.Table:
    """Return rows in which what is missing is NULL: pandas makes doubles of integers, and NaN of missing ones."""
    for place, column in enumerate(rows.schema):
        if pa.types.is_floating(column.type):
            is_nan = pc.is_nan(rows.column(place))
            values = pc.if_else(is_nan, pa.scalar(None, column.type), rows.column(place))
            rows = rows.set_column(place, column, values)
    return rows


__all__ = ["KINDS", "TableKind", "kind_called", "kind_of", "table_blocks"]
