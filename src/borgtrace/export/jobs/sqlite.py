"""One SQLite file per job: a table ``task_usage`` with the columns of 2011, and an index on task and time."""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.export.jobs.file_rows import FileRows
from borgtrace.schema import PERCENTILES, TABLES

LARGEST = 1 << 20
"""Rows of the largest file that is made in memory; SQLite writes larger ones on disk."""
ROWS_PER_INSERT = 32
"""Rows of one statement: its call costs as much as inserting a row, but more rows take longer to prepare."""
MAX_VARIABLES = 999
"""Values of one statement that any version of SQLite takes."""
_INDEXED = ("instance_index", "start_time")
_TYPES = {
    "int64": "INTEGER",
    "int32": "INTEGER",
    "bool": "INTEGER",
    "float32": "REAL",
}
# The folder gets its name when it is whole, so no file needs a journal of its own.
_PRAGMAS = (
    "PRAGMA page_size = 4096",
    "PRAGMA journal_mode = off",
    "PRAGMA synchronous = off",
)


class SqliteFiles:
    """Writes the SQLite files of an export, batch by batch.

    Each file begins as a copy of one empty database and is written at once: opening a file for every job
    and letting SQLite write its pages one by one takes twice as long.

    Parameters
    ----------
    out
        Folder of the export.
    titles
        Columns and their titles.
    """

    suffix = ".sqlite3"

    def __init__(
        self,
        out: Path,
        titles: Mapping[str, str],
    ) -> None:
        self._out = out
        self._empty_database = empty_database(titles)
        self._rows_per_insert = max(1, min(ROWS_PER_INSERT, MAX_VARIABLES // len(titles)))
        self._insert_row = insertion(len(titles), 1)
        self._insert_rows = insertion(len(titles), self._rows_per_insert)
        self._memory = connect(":memory:")
        self._open = self._memory

    def close(self) -> None:
        """Close the database that is being written, and the one in memory."""
        self._open.close()
        self._memory.close()

    def write(
        self,
        start: int,
        batch: pa.RecordBatch,
        files: Sequence[FileRows],
    ) -> None:
        """Append the rows of `batch`, whose first is row `start` of the table, to their files.

        Parameters
        ----------
        start
            Number of the first row of `batch`.
        batch
            Rows of ``instance_usage``.
        files
            Files that have rows in it, in their order.
        """
        rows = python_rows(batch)
        for file in files:
            first, last = file.within(start, batch.num_rows)
            if file.first >= start:
                self._begin(file)
            self._insert(rows[first:last])
            if file.last <= start + batch.num_rows:
                self._end(file)

    def _insert(self, rows: NDArray[np.object_]) -> None:
        """Append rows to the open file, as many at a time as a statement takes, then the others one by one."""
        n_single = len(rows) % self._rows_per_insert
        together = rows[: len(rows) - n_single]
        values_per_insert = self._rows_per_insert * rows.shape[1]
        for statement, values in (
            (self._insert_rows, together.reshape(-1, values_per_insert)),
            (self._insert_row, rows[len(together) :]),
        ):
            # A statement is prepared even where it has nothing to insert.
            if len(values):
                self._open.executemany(statement, values.tolist())

    def _begin(self, file: FileRows) -> None:
        # A large job would be in memory twice: as a database and as bytes.
        if file.last - file.first > LARGEST:
            path = self._out / file.path
            path.write_bytes(self._empty_database)
            self._open = connect(path)
        else:
            self._memory.deserialize(self._empty_database)
            self._open = self._memory
        self._open.execute("BEGIN")

    def _end(self, file: FileRows) -> None:
        self._open.execute("COMMIT")
        if self._open is self._memory:
            (self._out / file.path).write_bytes(self._memory.serialize())
        else:
            self._open.close()


def connect(path: Path | str) -> sqlite3.Connection:
    """Open a database for writing whole files, fast.

    Parameters
    ----------
    path
        The file, or ``":memory:"``.
    """
    # No cached statements: one that was compiled for the database of another file writes 0 and 1 in the longer
    # encoding of old file formats, so bytes would depend on what a process wrote before.
    connection = sqlite3.connect(path, isolation_level=None, cached_statements=0)
    for pragma in _PRAGMAS:
        connection.execute(pragma)
    return connection


def insertion(columns: int, rows: int) -> str:
    """Return the statement that inserts so many rows.

    Examples
    --------
    >>> insertion(2, 3)
    'INSERT INTO `task_usage` VALUES (?,?),(?,?),(?,?)'
    """
    row = f"({','.join('?' * columns)})"
    return f"INSERT INTO `task_usage` VALUES {','.join([row] * rows)}"


def empty_database(titles: Mapping[str, str]) -> bytes:
    """Return a database with the table, and its index if there is something to index, and no rows.

    Parameters
    ----------
    titles
        Columns and their titles.
    """
    columns = [f"{_in_backticks(title)} {_type_of(name)}" for name, title in titles.items()]
    indexed = [_in_backticks(titles[name]) for name in _INDEXED if name in titles]
    with closing(connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE `task_usage` ({', '.join(columns)})")
        if indexed:
            connection.execute(
                f"CREATE INDEX `task_usage_index` ON `task_usage` ({', '.join(indexed)})"
            )
        return connection.serialize()


def _in_backticks(title: str) -> str:
    """Quote a title as the files of 2017 do."""
    return "`" + title.replace("`", "``") + "`"


def _type_of(name: str) -> str:
    """Return the type of a column in SQLite; the four of 2017 as they were then."""
    if name in PERCENTILES:
        return "REAL"
    column = TABLES["instance_usage"].column(name)
    kind = _TYPES.get(column.type, "TEXT")
    return kind if column.nullable else f"{kind} NOT NULL"


def python_rows(batch: pa.RecordBatch) -> NDArray[np.object_]:
    """Return rows of Python values: None or, in floats, NaN where one is missing (SQLite keeps both as NULL)."""
    rows = np.empty((batch.num_rows, batch.num_columns), object)
    for k, column in enumerate(batch.columns):
        if column.null_count and not pa.types.is_floating(column.type):
            rows[:, k] = column.to_pylist()
        else:
            rows[:, k] = column.to_numpy(zero_copy_only=False)
    return rows
