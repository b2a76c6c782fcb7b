"""Parquet and delimited text as kinds of tables, for rows that get columns from the folders which they are in."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.ingest.files.limits import require_plausible_size
from borgtrace.ingest.files.separators import separator_of, whole_lines
from borgtrace.ingest.read.tables.kind import Columns, TableKind, damaged_table, open_text
from borgtrace.ingest.read.tables.text_rows import Row, text_batches
from borgtrace.storage import open_regular

_PARQUET_MAGIC = b"PAR1"
_BEGINNING = 1 << 16


def _parquet_columns(path: Path) -> Columns:
    with open_regular(path) as file:
        try:
            return {"": list(pq.read_schema(file).names)}
        except (pa.ArrowException, OSError) as error:
            raise damaged_table(path, "Parquet", error) from error


def _parquet_batches(path: Path, table: str) -> Iterator[pa.RecordBatch]:
    with open_regular(path) as file:
        try:
            opened = pq.ParquetFile(file)
            # A few bytes repeat one value a billion times, in each of the columns.
            n_values = opened.metadata.num_rows * opened.metadata.num_columns
            require_plausible_size(path, path.stat().st_size, n_values)
            yield from opened.iter_batches()
        except (pa.ArrowException, OSError) as error:
            raise damaged_table(path, "Parquet", error) from error


def _open_text(path: Path) -> TextIO:
    return io.TextIOWrapper(open_regular(path), encoding="utf-8", errors="replace", newline="")


def _text_columns(path: Path) -> Columns:
    with open_text(path) as file:
        return {"": _names(file)[0]}


def _names(file: TextIO) -> tuple[list[str], str]:
    """Return the names of the columns, and what separates fields; the file is at its start again."""
    beginning = file.read(_BEGINNING)
    file.seek(0)
    separator = separator_of(whole_lines(beginning.encode()))
    header = next(csv.reader([beginning.partition("\n")[0]], delimiter=separator), [])
    return [name.strip() for name in header], separator


def _text_batches(path: Path, table: str) -> Iterator[pa.RecordBatch]:
    with open_text(path) as file:
        names, separator = _names(file)
        yield from text_batches(_rows(file, names, separator))


def _rows(file: TextIO, names: list[str], separator: str) -> Iterator[Row]:
    lines = csv.reader(file, delimiter=separator)
    next(lines, None)
    for fields in lines:
        # A row of another width lacks all its values: it is refused.
        is_whole = len(fields) == len(names)
        texts = [field or None for field in fields] if is_whole else [None] * len(names)
        yield dict(zip(names, texts, strict=True))


PARQUET = TableKind(
    name="Parquet",
    recognizes=lambda head: head.startswith(_PARQUET_MAGIC),
    columns=_parquet_columns,
    batches=_parquet_batches,
)
TEXT = TableKind(
    name="delimited",
    recognizes=lambda head: not head.startswith(_PARQUET_MAGIC),
    columns=_text_columns,
    batches=_text_batches,
)
PARTITIONED = (PARQUET, TEXT)
