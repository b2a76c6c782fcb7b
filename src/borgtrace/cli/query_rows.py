"""Rows of ``borgtrace sql``, written as they arrive, so that an answer may be larger than memory."""

import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Any

import pyarrow as pa

from borgtrace.cli.grid import grid_columns, print_grid
from borgtrace.cli.terminal import data_stream
from borgtrace.engine.answer_text import json_text, short_floats
from borgtrace.engine.csv_text import write_csv
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


def print_answer(
    answer: pa.RecordBatchReader,
    format: str,
    rows: int,
    *,
    raw: bool = False,
) -> None:
    """Print an answer in a format of ``borgtrace sql``; `raw` CSV keeps what a spreadsheet takes for a formula."""
    # A plan is a drawing of many lines, which a grid would only frame once more.
    if format == "table" and answer.schema.names == ["explain_key", "explain_value"]:
        for batch in answer:
            print(*batch.column("explain_value").to_pylist(), sep="\n")
    elif format == "table":
        print_table(answer, rows)
    else:
        if format == "parquet" and sys.stdout.isatty():
            raise UsageError(
                "--format", "Parquet is no text", way_out="name a file: > rows.parquet"
            )
        # Bytes: Parquet is no text, and CSV must not have its line ends translated.
        write_rows(answer, format, data_stream(), raw=raw)


def print_table(answer: pa.RecordBatchReader, rows: int) -> None:
    """Print the first `rows` rows for people; say on stderr what is left out."""
    head, has_more = first_rows(answer, rows)
    columns = grid_columns(head)
    n_shown = len(print_grid(columns))
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
        batches.append(short_floats(batch.slice(0, rows - n_read)))
        n_read += batch.num_rows
        if n_read > rows:
            break
    head = pa.Table.from_batches(batches) if batches else answer.schema.empty_table()
    return head, n_read > rows


def write_rows(
    answer: pa.RecordBatchReader,
    format: str,
    out: IO[bytes],
    *,
    raw: bool = False,
) -> None:
    """Write all rows as csv, json lines or parquet; `raw` as for `print_answer`."""
    if format == "csv":
        write_csv(answer, out, raw=raw)
    elif format == "json":
        for batch in answer:
            for row in short_floats(batch).to_pylist():
                out.write(f"{json_text(row)}\n".encode())
    else:
        write_parquet(answer, out)
    out.flush()


def write_parquet(answer: pa.RecordBatchReader, out: IO[bytes]) -> None:
    """Write all rows as Parquet."""
    import pyarrow.parquet as pq

    with pq.ParquetWriter(out, answer.schema, compression="zstd") as writer:
        for batch in answer:
            writer.write_batch(batch)
