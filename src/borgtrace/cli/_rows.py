"""Rows of ``borgtrace sql``, written as they arrive, so that an answer may be larger than memory."""

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Any

import pyarrow as pa

from borgtrace.cli._grid import grid_columns, print_grid
from borgtrace.cli._printing import json_value
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
    found: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(
                "--param",
                "no name and value",
                expected="NAME=VALUE, such as job=3418309",
                got=setting,
            )
        found[name] = _value(text)
    return found


def _value(text: str) -> int | float | str:
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
        write(answer, format, sys.stdout.buffer)


def print_table(answer: pa.RecordBatchReader, rows: int) -> None:
    """Print the first `rows` rows for people; what is left out is said on stderr."""
    head, has_more = _head(answer, rows)
    columns = grid_columns(head)
    n_shown = print_grid(columns)
    # The rows behind are never fetched, so nobody knows how many there are.
    if has_more:
        print(f"first {rows:,} rows; --rows N shows more, --format csv all", file=sys.stderr)
    if n_shown < len(columns):
        print(
            f"{n_shown} of {len(columns)} columns; select fewer, or use --format csv",
            file=sys.stderr,
        )


def _head(answer: pa.RecordBatchReader, rows: int) -> tuple[pa.Table, bool]:
    """Return the first rows, and whether there are more."""
    batches: list[pa.RecordBatch] = []
    held = 0
    for batch in answer:
        batches.append(_shortest(batch.slice(0, rows - held)))
        held += batch.num_rows
        if held > rows:
            break
    head = pa.Table.from_batches(batches) if batches else answer.schema.empty_table()
    return head, held > rows


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

    kinds = (
        pa.string() if pa.types.is_nested(field.type) else field.type for field in answer.schema
    )
    flat = pa.schema(zip(answer.schema.names, kinds, strict=True))
    # Batch by batch with one schema, so that the heading is written once.
    with csv.CSVWriter(out, flat, write_options=csv.WriteOptions(quoting_style="needed")) as writer:
        for batch in answer:
            writer.write_batch(pa.record_batch(list(map(_flattened, batch.columns)), schema=flat))


def _flattened(column: pa.Array) -> pa.Array:
    """Write lists and records, which CSV cannot hold, as JSON."""
    if not pa.types.is_nested(column.type):
        return column
    return pa.array(
        [None if v is None else _json(v) for v in _widened(column).to_pylist()], pa.string()
    )


def _write_parquet(answer: pa.RecordBatchReader, out: IO[bytes]) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetWriter(out, answer.schema, compression="zstd") as writer:
        for batch in answer:
            writer.write_batch(batch)


def _json(value: Any) -> str:
    # Decimals, dates and times as text, which JSON has no types for.
    return json.dumps(json_value(value), ensure_ascii=False, default=str)


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
