"""One SQLite file per job: a table ``task_usage`` with the columns of 2011, and an index on task and time."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.datasets.jobs._sqlite_pages import PAGE, build_files, room
from borgtrace.datasets.jobs.layout import JobsLayout
from borgtrace.datasets.scratch import scratch

LARGEST = 1 << 20
"""Rows of the largest file that is built page by page; larger ones are inserted row by row."""
_AT_ONCE = 100
"""Rows of one INSERT: fewer calls, within SQLite's oldest limit of 999 variables for nine columns."""
_VARIABLES = 900
_INDEXED = ("instance_index", "start_time")
_INTEGERS = ("int64", "int32", "bool")
Index = NDArray[np.int64]


class SqliteFiles:
    """Builds files of whole jobs page by page, a batch of files at a time."""

    def __init__(self, layout: JobsLayout) -> None:
        self._inserted = _Inserted(layout)
        self._empty = np.frombuffer(_empty(layout), np.uint8)
        self._indexed = np.array([layout.columns.index(name) for name in _indexed(layout)], np.int64)
        self._is_sorted = layout.key == "task" or _INDEXED[0] in layout.columns
        """Whether rows are in the order of the index: they are in that of job, task and time."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._inserted.close(is_whole=kind is None)

    def write(self, batch: pa.RecordBatch, edges: Index, paths: Sequence[Path]) -> int:
        """Write rows ``edges[k]:edges[k + 1]`` to file k; return how many files are new."""
        is_large = np.diff(edges) > LARGEST
        is_large[:1] |= self._inserted.is_at(paths[0]) if paths else False
        new = 0
        for insert, group in groupby(range(len(paths)), is_large.__getitem__):
            files = list(group)
            first, last = files[0], files[-1] + 1
            own = batch.slice(edges[first], edges[last] - edges[first])
            if insert:
                for k in files:
                    rows = batch.slice(edges[k], edges[k + 1] - edges[k])
                    new += self._inserted.write(rows, paths[k])
            else:
                self._build(own, edges[first : last + 1] - edges[first], paths[first:last])
                new += len(files)
        return new

    def _build(self, batch: pa.RecordBatch, edges: Index, paths: Sequence[Path]) -> None:
        bits, is_null, is_real = _bits(batch)
        order = np.arange(batch.num_rows)
        if not self._is_sorted and self._indexed.size:
            number = np.repeat(np.arange(len(paths)), np.diff(edges))
            order = np.lexsort((bits[self._indexed[0]], number))
        size = room(batch.num_columns, self._indexed.size, np.diff(edges))
        out, ends = scratch("database", size, np.uint8), np.empty(len(paths) + 1, np.int64)
        build_files(bits, is_null, is_real, self._indexed, order, edges, self._empty, out, ends)
        for path, first, last in zip(paths, ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            with path.open("wb", buffering=0) as file:
                file.write(out[first:last].data)


class _Inserted:
    """Files that SQLite writes, row by row: for those that are too large to be put together in memory."""

    def __init__(self, layout: JobsLayout) -> None:
        self._schema = _schema(layout)
        row = f"({','.join('?' * len(layout.columns))})"
        self._at_once = min(_AT_ONCE, _VARIABLES // len(layout.columns))
        self._insert = "INSERT INTO `task_usage` VALUES "
        self._row, self._rows = self._insert + row, self._insert + ",".join([row] * self._at_once)
        self._last: Path | None = None
        self._open: sqlite3.Connection | None = None

    def is_at(self, path: Path) -> bool:
        """Whether a file has been begun that may go on."""
        return self._open is not None and path == self._last

    def write(self, batch: pa.RecordBatch, path: Path) -> bool:
        """Append rows; return whether the file is new."""
        is_new = not self.is_at(path)
        if is_new:
            self.close(is_whole=True)
            self._begin(path)
        if self._open is not None:
            rows = _objects(batch)
            whole = len(rows) // self._at_once * self._at_once
            self._open.executemany(self._rows, rows[:whole].reshape(-1, rows.shape[1] * self._at_once).tolist())
            self._open.executemany(self._row, rows[whole:].tolist())
        return is_new

    def _begin(self, path: Path) -> None:
        self._last = path
        self._open = sqlite3.connect(path, isolation_level=None)
        for setting in (f"page_size = {PAGE}", "journal_mode = off", "synchronous = off"):
            self._open.execute(f"PRAGMA {setting}")
        self._open.execute("BEGIN")
        self._open.execute(self._schema[0])

    def close(self, *, is_whole: bool) -> None:
        """End the file that is open; make its index if all its rows are there."""
        if self._open is not None:
            if is_whole:
                for statement in (*self._schema[1:], "COMMIT"):
                    self._open.execute(statement)
            self._open.close()
            self._open = None


def _indexed(layout: JobsLayout) -> list[str]:
    return [name for name in _INDEXED if name in layout.columns]


def _schema(layout: JobsLayout) -> tuple[str, ...]:
    """Return the statements that make the table and, if there is something to index, the index."""
    titles = dict(zip(layout.columns, layout.titles, strict=True))
    table = ", ".join(f"`{title}` {_kind(name)}" for name, title in titles.items())
    keys = ", ".join(f"`{titles[name]}`" for name in _indexed(layout))
    index = f"CREATE INDEX `task_usage_index` ON `task_usage` ({keys})"
    return (f"CREATE TABLE `task_usage` ({table})", *((index,) if keys else ()))


def _empty(layout: JobsLayout) -> bytes:
    """Return the pages of a database without rows."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for statement in (f"PRAGMA page_size = {PAGE}", *_schema(layout)):
            connection.execute(statement)
        return connection.serialize()
    finally:
        connection.close()


def _bits(batch: pa.RecordBatch) -> tuple[Index, NDArray[np.uint8], NDArray[np.uint8]]:
    """Return columns as the page builder wants them: bits, where a value is missing, which are float64."""
    shape = (batch.num_columns, batch.num_rows)
    bits, is_null = np.empty(shape, np.int64), np.zeros(shape, np.uint8)
    is_real = np.array([pa.types.is_floating(column.type) for column in batch.columns], np.uint8)
    for k, column in enumerate(batch.columns):
        if is_real[k]:
            values = column.to_numpy(zero_copy_only=False).astype(np.float64)
            bits[k], is_null[k] = values.view(np.int64), np.isnan(values)
        elif column.null_count:
            is_null[k] = column.is_null().to_numpy(zero_copy_only=False)
            bits[k] = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        else:
            bits[k] = column.to_numpy(zero_copy_only=False)
    return bits, is_null, is_real


def _kind(name: str) -> str:
    """Return the type of a column in SQLite; the four of 2017 as they were then."""
    from borgtrace.schema import TABLES

    column = TABLES["instance_usage"].column(name)
    kind = "INTEGER" if column.type in _INTEGERS else "REAL"
    return kind if column.nullable else f"{kind} NOT NULL"


def _objects(batch: pa.RecordBatch) -> NDArray[Any]:
    """Return rows of Python numbers; missing is None (SQLite stores NaN as NULL)."""
    rows = np.empty((batch.num_rows, batch.num_columns), object)
    for k, column in enumerate(batch.columns):
        if pa.types.is_floating(column.type):
            rows[:, k] = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        elif column.null_count:
            rows[:, k] = column.to_pylist()
        else:
            rows[:, k] = column.to_numpy(zero_copy_only=False)
    return rows
