"""File formats of an export: each names its files and writes them batch by batch."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import pyarrow as pa

from borgtrace.export.jobs.csv import CsvFiles
from borgtrace.export.jobs.file_rows import FileRows
from borgtrace.export.jobs.sqlite import SqliteFiles


class Writer(Protocol):
    """Writes the files of an export."""

    def write(self, start: int, batch: pa.RecordBatch, files: Sequence[FileRows]) -> None:
        """Append the rows of `batch`, whose first is row `start` of the table, to their files."""

    def close(self) -> None:
        """Finish the last file."""


class Format(NamedTuple):
    """Ending of the files, and what makes their writer from the folder and the titles of the columns."""

    suffix: str
    writer: Callable[[Path, Mapping[str, str]], Writer]


FORMATS: dict[str, Format] = {"csv": Format(".csv", CsvFiles), "sqlite": Format(".sqlite3", SqliteFiles)}
