"""Rows of ``borgtrace sql``, written as they arrive, so that an answer may be larger than memory."""

from __future__ import annotations

import json
import sys
from itertools import islice
from typing import IO, Any

import pyarrow as pa
from rich.console import Console
from rich.table import Table as Grid

from borgtrace.cli._printing import json_value

NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)


def print_table(answer: pa.RecordBatchReader, rows: int) -> None:
    """Print the first `rows` rows for people; what is left out is counted on stderr."""
    records = _records(answer)
    # Only the head is held: an answer may be larger than memory.
    head = list(islice(records, rows))
    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for field in answer.schema:
        is_number = any(kind(field.type) for kind in NUMBERS)
        grid.add_column(field.name, justify="right" if is_number else "left", overflow="fold")
    for record in head:
        grid.add_row(*(_text(record[i]) for i in range(len(answer.schema))))
    # A pipe has no edge to wrap at.
    width = None if sys.stdout.isatty() else 10_000
    Console(highlight=False, markup=False, width=width).print(grid)
    # Counted by reading on; whoever wants fewer says so in the query.
    more = sum(1 for _ in records)
    if more:
        print(f"{more:,} more rows; --rows N shows more, --format csv shows all", file=sys.stderr)


def write(answer: pa.RecordBatchReader, format: str, out: IO[bytes]) -> None:
    """Write all rows as csv, json lines or parquet."""
    if format == "csv":
        _write_csv(answer, out)
    elif format == "json":
        for batch in answer:
            out.writelines(f"{_json(row)}\n".encode() for row in _shortest(batch).to_pylist())
    else:
        _write_parquet(answer, out)
    out.flush()


def _write_csv(answer: pa.RecordBatchReader, out: IO[bytes]) -> None:
    from pyarrow import csv

    kinds = (pa.string() if pa.types.is_nested(field.type) else field.type for field in answer.schema)
    flat = pa.schema(zip(answer.schema.names, kinds, strict=True))
    # Batch by batch with one schema, so that the heading is written once.
    with csv.CSVWriter(out, flat, write_options=csv.WriteOptions(quoting_style="needed")) as writer:
        for batch in answer:
            writer.write_batch(pa.record_batch(list(map(_flattened, batch.columns)), schema=flat))


def _flattened(column: pa.Array) -> pa.Array:
    """Write lists and records, which CSV cannot hold, as JSON."""
    if not pa.types.is_nested(column.type):
        return column
    return pa.array([None if v is None else _json(v) for v in _widened(column).to_pylist()], pa.string())


def _write_parquet(answer: pa.RecordBatchReader, out: IO[bytes]) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetWriter(out, answer.schema, compression="zstd") as writer:
        for batch in answer:
            writer.write_batch(batch)


def _json(value: Any) -> str:
    # Decimals, dates and times as text, which JSON has no types for.
    return json.dumps(json_value(value), ensure_ascii=False, default=str)


def _records(answer: pa.RecordBatchReader) -> Any:
    for batch in answer:
        yield from zip(*(column.to_pylist() for column in _shortest(batch).columns), strict=True)


def _shortest(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Widen float32 by its shortest decimal form, as it was published: 0.2493, not 0.24930000305."""
    return pa.record_batch(list(map(_widened, batch.columns)), names=batch.schema.names)


def _widened(column: pa.Array) -> pa.Array:
    if column.type == pa.float32():
        # Arrow writes a float32 by the shortest text that reads back as the same.
        return column.cast(pa.string()).cast(pa.float64())
    if column.type == pa.list_(pa.float32()):
        return column.cast(pa.list_(pa.string())).cast(pa.list_(pa.float64()))
    return column


def _text(value: Any) -> str:
    if value is None:
        return "NULL"
    return f"{value:.12g}" if isinstance(value, float) else str(value)
