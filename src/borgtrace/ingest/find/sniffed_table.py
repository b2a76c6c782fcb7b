"""The first rows of a table of own data, as texts: what guesses are made from."""

import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path

import duckdb
import pyarrow as pa

from borgtrace.engine.guard import open_file, open_values
from borgtrace.engine.identifiers import literal, quoted
from borgtrace.errors import SourceError, first_line
from borgtrace.ingest.files.streams import first_lines_file, plain_file
from borgtrace.ingest.find.begun_file import BegunFile, begun_files, whole_lines
from borgtrace.ingest.find.separators import separator_of
from borgtrace.ingest.read.tables import kind_of
from borgtrace.storage import plain_path
from borgtrace.storage.sparse_copy import local_copies

MOST_ROWS = 20_000
"""Rows that guesses are made from."""
_PARQUET_MAGIC = b"PAR1"


@dataclass(frozen=True)
class SniffedColumn:
    """One column.

    Parameters
    ----------
    name
        As the file writes it.
    texts
        Its values in the order of the rows; empty where there is none.
    """

    name: str
    texts: Sequence[str]

    @cached_property
    def words(self) -> str:
        """The name in small letters, its words joined by ``_``: ``CPU(m)`` becomes ``cpu_m``."""
        apart = re.sub(r"([a-z0-9])([A-Z][a-z])", r"\1_\2", self.name)
        return re.sub(r"[^a-z0-9%]+", "_", apart.lower()).strip("_")

    @cached_property
    def values(self) -> list[str]:
        """Its distinct texts, without empty ones, in the order in which they come."""
        return list(dict.fromkeys(text for text in self.texts if text))


@dataclass(frozen=True)
class SniffedTable:
    """The first rows of a table."""

    path: Path
    columns: tuple[SniffedColumn, ...]

    @property
    def names(self) -> list[str]:
        """Names of its columns."""
        return [column.name for column in self.columns]

    def column(self, name: str) -> SniffedColumn:
        """Return the column of a name."""
        return next(column for column in self.columns if column.name == name)


def read_first_rows(path: Path) -> SniffedTable:
    """Read the first rows of a file as texts.

    Raises
    ------
    SourceError
        It is no table, or an archive of several.
    """
    begun = _only_file(path)
    # What is no text is read from its end, or as a whole.
    is_text = kind_of(begun.head) is None and not begun.head.startswith(_PARQUET_MAGIC)
    opened = first_lines_file if is_text else plain_file
    try:
        with opened(begun.file) as plain, _open_view(begun, plain) as connection:
            names = [name for name, *_ in connection.execute("DESCRIBE raw").fetchall()]
            texts_sql = ", ".join(f"CAST({quoted(name)} AS VARCHAR)" for name in names)
            rows = connection.execute(f"SELECT {texts_sql} FROM raw LIMIT {MOST_ROWS}").fetchall()
    except duckdb.Error as error:
        raise _no_table(path, first_line(error)) from error
    columns = []
    for place, name in enumerate(names):
        columns.append(SniffedColumn(name, [(row[place] or "").strip() for row in rows]))
    return SniffedTable(path, tuple(columns))


def _only_file(path: Path) -> BegunFile:
    (local_path,) = local_copies([path])
    begun = begun_files(path)
    if len(begun) != 1:
        raise SourceError(
            str(path),
            "an archive of several files",
            got=f"{len(begun)} files",
            way_out="unpack it, and name the file that holds the usage",
        )
    (only,) = begun
    return only._replace(file=replace(only.file, copy=Path(local_path)))


class NoTableError(SourceError):
    """A file has no table, whose columns could be guessed."""


def _no_table(path: Path, reason: str) -> NoTableError:
    return NoTableError(str(path), f"not a table ({reason})", way_out="check the file")


@contextmanager
def _open_view(begun: BegunFile, plain: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection whose view ``raw`` is the table of a file, of which it can read nothing else."""
    kind = kind_of(begun.head)
    if kind is not None:
        tables = list(kind.columns(plain))
        if len(tables) != 1:
            raise SourceError(
                str(begun.file.path),
                "several tables in one file",
                got=", ".join(tables) or "none",
                way_out="export the one that holds the usage as CSV or Parquet",
            )
        with closing(open_values()) as values:
            batches = list(islice(kind.batches(plain, tables[0]), 1))
            values.register("raw", pa.Table.from_batches(batches))
            yield values
        return
    with open_file(plain) as connection:
        connection.execute(f"CREATE VIEW raw AS SELECT * FROM {_reader_sql(begun, plain)}")
        yield connection


def _reader_sql(begun: BegunFile, plain: Path) -> str:
    file_sql = literal(str(plain_path(plain)))
    if begun.head.startswith(_PARQUET_MAGIC):
        return f"read_parquet({file_sql})"
    if ".json" in begun.file.file_name or begun.head[:1] == b"{":
        return f"read_json({file_sql}, format = 'newline_delimited')"
    separator = separator_of(whole_lines(begun.head))
    # As they are written: DuckDB would take 007 for 7, and make its own of dates.
    return f"""
        read_csv(
            {file_sql},
            header = true,
            delim = {literal(separator)},
            quote = '"',
            escape = '"',
            all_varchar = true,
            null_padding = true,
            strict_mode = false
        )
    """
