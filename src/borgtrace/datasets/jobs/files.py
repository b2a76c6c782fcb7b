"""Writing one file per job from a run of rows: each row is touched once, each file opened once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from borgtrace.datasets.jobs.layout import JobsLayout

ROWS = 1 << 18
"""Rows that are held in memory at a time."""
_AT_ONCE = 100
"""Rows of one INSERT: fewer calls, within SQLite's oldest limit of 999 variables for nine columns."""
_VARIABLES = 900
_KEY = ("collection_id", "instance_index")
_NEWLINE = 10
_INTEGERS = ("int64", "int32", "bool")


@dataclass(frozen=True, slots=True)
class Run:
    """Rows ``first`` to ``last`` of ``instance_usage``, whole jobs."""

    first: int
    last: int


def write_run(parts: Sequence[str], run: Run, out: Path, layout: JobsLayout) -> int:
    """Write the files of all jobs of a run; return how many."""
    files = 0
    with (_SqliteFiles if layout.format == "sqlite" else _CsvFiles)(layout) as writer:
        for batch in _batches(parts, run, layout):
            edges = _edges(batch, layout)
            keys = [batch.column(name).to_numpy()[edges[:-1]].astype(np.int64) for name in _KEY]
            paths = [out / path for path in layout.paths(*keys)]
            for folder in {path.parent for path in paths}:
                folder.mkdir(exist_ok=True)
            files += writer.write(batch.select(list(layout.columns)), edges, paths)
    return files


def _batches(parts: Sequence[str], run: Run, layout: JobsLayout) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a run that belong to jobs."""
    columns = list(dict.fromkeys([*layout.columns, *_KEY, "collection_type"]))
    start = 0
    for part in parts:
        with pq.ParquetFile(part) as file:
            for group in range(file.num_row_groups):
                rows = file.metadata.row_group(group).num_rows
                low, high = max(run.first - start, 0), min(run.last - start, rows)
                start += rows
                if low < high:
                    table = file.read_row_group(group, columns, use_threads=False).slice(low, high - low)
                    for batch in table.combine_chunks().to_batches(ROWS):
                        is_job = batch.column("collection_type").cast(pa.string()).to_numpy(False) == "JOB"
                        yield batch if is_job.all() else batch.filter(pa.array(is_job))


def _edges(batch: pa.RecordBatch, layout: JobsLayout) -> NDArray[np.int64]:
    """Return where a file's rows begin in a batch, and the number of rows last."""
    changes = np.zeros(max(batch.num_rows - 1, 0), bool)
    for name in _KEY if layout.key == "task" else _KEY[:1]:
        values = batch.column(name).to_numpy()
        changes |= values[1:] != values[:-1]
    inner = np.flatnonzero(changes) + 1
    return np.concatenate(([0], inner, [batch.num_rows])) if batch.num_rows else np.zeros(1, np.int64)


class _Files(Protocol):
    def __init__(self, layout: JobsLayout) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...

    def write(self, batch: pa.RecordBatch, edges: NDArray[np.int64], paths: list[Path]) -> int:
        """Append rows ``edges[k]:edges[k + 1]`` to file k; return how many files are new."""


class _CsvFiles:
    """Text without a header; all rows of a batch are formatted at once, then cut at line ends."""

    def __init__(self, layout: JobsLayout) -> None:
        self._options = pa_csv.WriteOptions(include_header=False, quoting_style="none")
        self._last: Path | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def write(self, batch: pa.RecordBatch, edges: NDArray[np.int64], paths: list[Path]) -> int:
        sink = pa.BufferOutputStream()
        pa_csv.write_csv(batch, sink, self._options)
        text = sink.getvalue()
        ends = np.flatnonzero(np.frombuffer(text, np.uint8) == _NEWLINE) + 1
        cuts = np.concatenate(([0], ends))[edges].tolist()
        view = memoryview(text)
        new = 0
        for path, first, last in zip(paths, cuts[:-1], cuts[1:], strict=True):
            is_new = path != self._last
            with path.open("wb" if is_new else "ab", buffering=0) as file:
                file.write(view[first:last])
            new += is_new
            self._last = path
        return new


class _SqliteFiles:
    """One table ``task_usage`` with the columns of 2011, and an index on task and time."""

    def __init__(self, layout: JobsLayout) -> None:
        titles = ", ".join(
            f"`{title}` {_kind(name)}" for name, title in zip(layout.columns, layout.titles, strict=True)
        )
        self._table = f"CREATE TABLE `task_usage` ({titles})"
        row = f"({','.join('?' * len(layout.columns))})"
        self._at_once = min(_AT_ONCE, _VARIABLES // len(layout.columns))
        self._insert = "INSERT INTO `task_usage` VALUES "
        self._row, self._rows = self._insert + row, self._insert + ",".join([row] * self._at_once)
        keys = [title for title in ("task index", "start time") if title in layout.titles]
        self._index = (
            f"CREATE INDEX `task_usage_index` ON `task_usage` ({', '.join(f'`{key}`' for key in keys)})"
        )
        self._has_index = bool(keys)
        self._last: Path | None = None
        self._open: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._open is not None:
            if kind is None:
                self._finish(self._open)
            self._open.close()

    def write(self, batch: pa.RecordBatch, edges: NDArray[np.int64], paths: list[Path]) -> int:
        rows = _objects(batch)
        new = 0
        for path, first, last in zip(paths, edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            connection = self._connection(path)
            new += path != self._last
            self._last = path
            whole = first + (last - first) // self._at_once * self._at_once
            width = rows.shape[1] * self._at_once
            connection.executemany(self._rows, rows[first:whole].reshape(-1, width).tolist())
            connection.executemany(self._row, rows[whole:last].tolist())
        return new

    def _connection(self, path: Path) -> sqlite3.Connection:
        if self._open is not None and path == self._last:
            return self._open
        if self._open is not None:
            self._finish(self._open)
            self._open.close()
        self._open = sqlite3.connect(path, isolation_level=None)
        for setting in ("journal_mode = off", "synchronous = off", "locking_mode = exclusive"):
            self._open.execute(f"PRAGMA {setting}")
        self._open.execute("BEGIN")
        self._open.execute(self._table)
        return self._open

    def _finish(self, connection: sqlite3.Connection) -> None:
        if self._has_index:
            connection.execute(self._index)
        connection.execute("COMMIT")


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
