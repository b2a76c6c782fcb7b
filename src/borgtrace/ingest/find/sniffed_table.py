"""The first rows of a table of own data as texts, from which columns are guessed."""

import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import duckdb
import pyarrow as pa

from borgtrace.engine.guard import open_file, open_values
from borgtrace.engine.identifiers import literal, quoted
from borgtrace.errors import SourceError, first_line
from borgtrace.ingest.files.partitions import partition_columns
from borgtrace.ingest.files.raw_file import RawFile
from borgtrace.ingest.files.separators import quote_of, separator_of, whole_lines
from borgtrace.ingest.files.streams import first_lines_file, plain_file
from borgtrace.ingest.find.begun_file import BegunFile, begun_files, in_its_encoding
from borgtrace.ingest.find.beside_data import may_be_beside_data
from borgtrace.ingest.find.unread_texts import refuse_unread_text
from borgtrace.ingest.read.tables import (
    columns_in,
    first_batch,
    kind_of,
    layout_of_text,
    text_kind_of,
)
from borgtrace.storage import plain_path
from borgtrace.storage.sparse_copy import local_copies

MOST_ROWS = 20_000
"""Rows that guesses are made from."""
_PARQUET_MAGIC = b"PAR1"
_AROUND = re.compile(
    r"^((kubernetes|k8s|metadata|labels?|metric|tags|object|resource|attributes|_source|pod(?=\.namespace))\.)+"
)
"""Records around a name that say nothing of it: ``kubernetes.pod.name`` is a ``pod.name``."""


_BESIDE_LIMIT = re.compile(r"(usage)\W*_?limit$", re.IGNORECASE)
"""The name of usage whose limit stands in the same field, as docker stats prints it."""


@dataclass(frozen=True)
class SniffedColumn:
    """One column.

    Parameters
    ----------
    name
        As the file writes it.
    texts
        Its values in the order of the rows; empty where there is none.
    around
        What all names of its table begin with, such as ``usage.`` of Hive: it says nothing of the column.
    """

    name: str
    texts: Sequence[str]
    around: str = ""

    @cached_property
    def words(self) -> str:
        """The name in small letters, its words joined by ``_``: ``CPU(m)`` becomes ``cpu_m``."""
        bare = _AROUND.sub("", self.name.removeprefix(self.around))
        if any("/" in text for text in self.values):
            bare = _BESIDE_LIMIT.sub(r"\1", bare)
        apart = re.sub(r"([a-z0-9])([A-Z][a-z])", r"\1_\2", bare)
        return re.sub(r"[^a-z0-9%]+", "_", apart.lower()).strip("_")

    @cached_property
    def values(self) -> list[str]:
        """Its distinct texts, without empty ones, in the order in which they come."""
        return list(dict.fromkeys(text for text in self.texts if text))


@dataclass(frozen=True)
class SniffedTable:
    """The first rows of a table.

    Parameters
    ----------
    path
        The file.
    columns
        Its columns.
    name
        What the table is called in its file, or its file in an archive; empty for a file of its own.
    separator
        What separates its fields, where it is text.
    """

    path: Path
    columns: tuple[SniffedColumn, ...]
    name: str = ""
    separator: str = ""

    @property
    def names(self) -> list[str]:
        """Names of its columns."""
        return [column.name for column in self.columns]

    def column(self, name: str) -> SniffedColumn:
        """Return the column of a name."""
        return next(column for column in self.columns if column.name == name)


def read_first_rows(path: Path) -> list[SniffedTable]:
    """Read the first rows of the tables in a file as texts; of most files that is one.

    Raises
    ------
    SourceError
        It has no table.
    """
    (local_path,) = local_copies([path])
    tables = []
    begun_with_data = begun_files(path)
    tabular = [begun for begun in begun_with_data if not may_be_beside_data(begun.file.member)]
    for begun in tabular or begun_with_data:
        file = replace(begun.file, copy=Path(local_path))
        tables += _tables_of(begun._replace(file=file))
    if not tables:
        raise _no_table(path, "it is empty")
    return tables


def _tables_of(begun: BegunFile) -> list[SniffedTable]:
    kind = kind_of(begun.head)
    if kind is None and not begun.head.startswith(_PARQUET_MAGIC):
        if b"\0" in begun.head:
            raise _no_table(begun.file.path, "it is binary")
        begun = in_its_encoding(begun)
        refuse_unread_text(begun)
        kind = text_kind_of(begun.head) or layout_of_text(begun.head)
    file = begun.file
    if kind is None:
        table = _sniffed(file, file.member, _first_rows_of_text(begun))
        return [replace(table, separator=separator_of(whole_lines(begun.head)))]
    tables = []
    for inner, columns in columns_in(file, kind).items():
        if not columns:
            continue
        name = ": ".join(part for part in (file.member, inner) if part)
        rows = first_batch(file, kind, inner)
        if not rows.column_names:
            # Without rows there is no batch that says the columns.
            rows = pa.schema([(column, pa.string()) for column in columns]).empty_table()
        tables.append(_sniffed(file, name, rows))
    return tables


def _sniffed(file: RawFile, name: str, rows: pa.Table) -> SniffedTable:
    columns = []
    try:
        texts = _texts(rows)
    # A damaged file may hold texts that are none.
    except duckdb.Error as error:
        raise _no_table(file.path, first_line(error)) from error
    around = _before_all(rows.column_names)
    for column, values in zip(rows.column_names, texts, strict=True):
        columns.append(SniffedColumn(column, values, around))
    for column, text in partition_columns(file).items():
        if column not in rows.column_names:
            columns.append(SniffedColumn(column, [text] * min(rows.num_rows, MOST_ROWS)))
    return SniffedTable(file.path, tuple(columns), name)


def _before_all(names: Sequence[str]) -> str:
    """Return the name of the table that all names of columns begin with, and its dot; empty where they do not."""
    table, dot, _ = names[0].partition(".") if len(names) > 1 else ("", "", "")
    before = table + dot
    return before if dot and all(name.startswith(before) for name in names) else ""


def _texts(rows: pa.Table) -> list[list[str]]:
    """Return the texts of the first rows by columns, as queries write the values."""
    first = rows.slice(0, MOST_ROWS)
    if not first.num_rows:
        return [[] for _ in first.column_names]
    # By places: a file may have columns without a name.
    names = [f"column_{place}" for place in range(first.num_columns)]
    texts_sql = ", ".join(f"CAST({quoted(name)} AS VARCHAR)" for name in names)
    with closing(open_values()) as values:
        values.register("raw", first.rename_columns(names))
        texts = values.execute(f"SELECT {texts_sql} FROM raw").fetchall()
    return [[(text or "").strip() for text in column] for column in zip(*texts, strict=True)]


def _first_rows_of_text(begun: BegunFile) -> pa.Table:
    """Return the first rows of delimited text or Parquet, read by a connection that can read nothing else."""
    # Parquet is read from its end, of text the first lines do.
    opened = plain_file if begun.head.startswith(_PARQUET_MAGIC) else first_lines_file
    try:
        with opened(begun.file) as plain, open_file(plain) as connection:
            try:
                return _first_rows(connection, _reader_sql(begun, plain))
            except duckdb.Error as error:
                if "unicode" not in str(error).lower():
                    raise
            # Damaged rows are refused when they are stored; guesses are made from the others.
            rows = _first_rows(connection, _reader_sql(begun, plain, passes_over_errors=True))
            if not rows.num_rows:
                raise _in_another_encoding(begun)
            return rows
    # What is no text may raise either.
    except (duckdb.Error, pa.ArrowException) as error:
        raise _no_table(begun.file.path, first_line(error)) from error


def _first_rows(connection: duckdb.DuckDBPyConnection, reader_sql: str) -> pa.Table:
    return connection.sql(f"SELECT * FROM {reader_sql} LIMIT {MOST_ROWS}").to_arrow_table()


def _in_another_encoding(begun: BegunFile) -> SourceError:
    return SourceError(
        begun.file.label,
        "no line below the first is text in an encoding that is read",
        expected="UTF-8, UTF-16 or Windows-1252",
        way_out="write it as UTF-8, such as iconv -f SHIFT_JIS -t UTF-8",
    )


class NoTableError(SourceError):
    """A file has no table, whose columns could be guessed."""


def _no_table(path: Path, reason: str) -> NoTableError:
    return NoTableError(str(path), f"not a table ({reason})", way_out="check the file")


def _reader_sql(begun: BegunFile, plain: Path, *, passes_over_errors: bool = False) -> str:
    file_sql = literal(str(plain_path(plain)))
    if begun.head.startswith(_PARQUET_MAGIC):
        return f"read_parquet({file_sql}, hive_partitioning = false)"
    lines = whole_lines(begun.head)
    quote_sql = literal(quote_of(lines))
    # As they are written: DuckDB would take 007 for 7, and make its own of dates.
    return f"""
        read_csv(
            {file_sql},
            hive_partitioning = false,
            header = true,
            delim = {literal(separator_of(lines))},
            quote = {quote_sql},
            escape = {quote_sql},
            all_varchar = true,
            null_padding = true,
            strict_mode = false,
            -- Of several threads none reads line breaks between quotes.
            parallel = false,
            ignore_errors = {passes_over_errors}
        )
    """
