"""Rows of ``borgtrace sql``, written as they arrive, so that an answer may be larger than memory."""

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Any

import pyarrow as pa

from borgtrace.cli.grid import grid_columns, print_grid
from borgtrace.cli.printing import json_value
from borgtrace.errors import UsageError


def parse_parameters(settings: Sequence[str]) -> dict[str, Any]:
    """Turn NAME=VALUE into values of a query: a number where it reads as one, else text.

    Raises
    ------
    UsageError
        Where there is no NAME=.

    Examples
    --------
    >>> parse_parameters(["job=3418309", "share=.5", "user=Xr3="])
    {'job': 3418309, 'share': 0.5, 'user': 'Xr3='}
    """
    parameters: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(
                "--param",
                "no name and value",
                expected="NAME=VALUE, such as job=3418309",
                got=setting,
            )
        parameters[name] = parse_number(text)
    return parameters


def parse_number(text: str) -> int | float | str:
    """Read a number; return the text itself where it is none."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def print_answer(answer: pa.RecordBatchReader, format: str, rows: int) -> None:
    """Print an answer in a format of ``borgtrace sql``."""
    # A plan is a drawing of many lines, which a grid would only frame once more.
    if format == "table" and answer.schema.names == ["explain_key", "explain_value"]:
        for batch in answer:
            print(*batch.column("explain_value").to_pylist(), sep="\n")
    elif format == "table":
        print_table(answer, rows)
    else:
        # Bytes: Parquet is no text, and CSV must not have its line ends translated.
        write_rows(answer, format, sys.stdout.buffer)


def print_table(answer: pa.RecordBatchReader, rows: int) -> None:
    """Print the first `rows` rows for people; say on stderr what is left out."""
    head, has_more = first_rows(answer, rows)
    columns = grid_columns(head)
    n_shown = print_grid(columns)
    # Further rows are never fetched, so their number is unknown.
    if has_more:
        print(f"first {rows:,} rows; --rows N shows more, --format csv all", file=sys.stderr)
    if n_shown < len(columns):
        shown = f"{n_shown} of {len(columns)} columns"
        print(f"{shown}; select fewer, or use --format csv", file=sys.stderr)


def first_rows(answer: pa.RecordBatchReader, rows: int) -> tuple[pa.Table, bool]:
    """Return the first rows, and whether there are more."""
    batches: list[pa.RecordBatch] = []
    n_read = 0
    for batch in answer:
        batches.append(with_short_floats(batch.slice(0, rows - n_read)))
        n_read += batch.num_rows
        if n_read > rows:
            break
    head = pa.Table.from_batches(batches) if batches else answer.schema.empty_table()
    return head, n_read > rows


def write_rows(answer: pa.RecordBatchReader, format: str, out: IO[bytes]) -> None:
    """Write all rows as csv, json lines or parquet."""
    if format == "csv":
        write_csv(answer, out)
    elif format == "json":
        for batch in answer:
            for row in with_short_floats(batch).to_pylist():
                out.write(f"{json_text(row)}\n".encode())
    else:
        write_parquet(answer, out)
    out.flush()


def write_csv(answer: pa.RecordBatchReader, out: IO[bytes]) -> None:
    """Write all rows as CSV."""
    from pyarrow import csv

    fields = []
    for field in answer.schema:
        is_nested = pa.types.is_nested(field.type)
        fields.append((field.name, pa.string() if is_nested else field.type))
    flat = pa.schema(fields)
    options = csv.WriteOptions(quoting_style="needed")
    # Batch by batch with one schema, so that the heading is written once.
    with csv.CSVWriter(out, flat, write_options=options) as writer:
        for batch in answer:
            columns = [flattened(column) for column in batch.columns]
            writer.write_batch(pa.record_batch(columns, schema=flat))


def flattened(column: pa.Array) -> pa.Array:
    """Write lists and records, which CSV cannot hold, as JSON."""
    if not pa.types.is_nested(column.type):
        return column
    texts = []
    for value in with_short_decimals(column).to_pylist():
        texts.append(None if value is None else json_text(value))
    return pa.array(texts, pa.string())


def write_parquet(answer: pa.RecordBatchReader, out: IO[bytes]) -> None:
    """Write all rows as Parquet."""
    import pyarrow.parquet as pq

    with pq.ParquetWriter(out, answer.schema, compression="zstd") as writer:
        for batch in answer:
            writer.write_batch(batch)


def json_text(value: Any) -> str:
    """Return a value as JSON."""
    # Decimals, dates and times as text, which JSON has no types for.
    return json.dumps(json_value(value), ensure_ascii=False, default=str)


def with_short_floats(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Widen float32 by its shortest decimal form, as it was published: 0.2493, not 0.24930000305."""
    columns = [with_short_decimals(column) for column in batch.columns]
    return pa.record_batch(columns, names=batch.schema.names)


def with_short_decimals(column: pa.Array) -> pa.Array:
    """Widen a column of float32, or of lists of them, by its shortest decimal form."""
    if column.type == pa.float32():
        # Arrow writes a float32 by the shortest text that reads back as the same.
        return column.cast(pa.string()).cast(pa.float64())
    if column.type == pa.list_(pa.float32()):
        return column.cast(pa.list_(pa.string())).cast(pa.list_(pa.float64()))
    return column
