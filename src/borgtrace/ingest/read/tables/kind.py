"""The base class of a kind of file that holds tables."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import pyarrow as pa

from borgtrace.errors import SourceError
from borgtrace.storage import open_regular

Columns = Mapping[str, Sequence[str]]
"""Names of the columns of each table, by its name; the only table of a file may have an empty name."""


@dataclass(frozen=True, slots=True)
class TableKind:
    """A kind of file with tables.

    Parameters
    ----------
    name
        What messages call it.
    recognizes
        Whether a file that begins with these bytes (up to 64 KiB, decompressed) is one.
    columns
        The tables in a file, on this machine and decompressed, with their columns.
    batches
        The rows of one of them, in their order: a column for each name, of any type that DuckDB writes as JSON.
    time_column
        The column of times that the name of a file stands for where its rows have none; empty where it never does.
    """

    name: str
    recognizes: Callable[[bytes], bool]
    columns: Callable[[Path], Columns]
    batches: Callable[[Path, str], Iterator[pa.RecordBatch]]
    time_column: str = ""


def damaged_table(path: Path, kind: str, error: Exception) -> SourceError:
    """Return the error for a file that cannot be read as what its first bytes say."""
    return SourceError(
        str(path),
        f"damaged {kind} file ({error})",
        way_out="fetch it again, or write it again",
    )


def open_text(path: Path) -> TextIO:
    """Open a text for reading; a byte that is no UTF-8 becomes a mark that no field accepts.

    Parameters
    ----------
    path
        The file, on this machine and decompressed.
    """
    return io.TextIOWrapper(open_regular(path), encoding="utf-8", errors="replace", newline="")
