"""Writing one file per job from a run of rows: each row is touched once, each file opened once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from borgtrace.datasets.jobs.layout import JobsLayout
from borgtrace.datasets.jobs.sqlite import LARGEST, SqliteFiles

ROWS = 1 << 18
"""Rows that are held in memory at a time."""
_KEY = ("collection_id", "instance_index")
_NEWLINE = 10


@dataclass(frozen=True, slots=True)
class Run:
    """Rows ``first`` to ``last`` of ``instance_usage``, whole jobs."""

    first: int
    last: int


def write_run(parts: Sequence[str], run: Run, out: Path, layout: JobsLayout) -> int:
    """Write the files of all jobs of a run; return how many."""
    files = 0
    with (SqliteFiles if layout.format == "sqlite" else _CsvFiles)(layout) as writer:
        for batch in _whole(_batches(parts, run, layout), layout):
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
                        is_job = pc.equal(batch.column("collection_type").cast(pa.string()), "JOB")
                        yield batch if pc.all(is_job).as_py() else batch.filter(is_job)


def _whole(batches: Iterator[pa.RecordBatch], layout: JobsLayout) -> Iterator[pa.RecordBatch]:
    """Cut batches anew so that none ends within a file, but for files above `LARGEST` rows."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        joined = pa.concat_batches([*held, batch])
        last = int(_edges(joined, layout)[-2]) if joined.num_rows else 0
        if joined.num_rows - last > LARGEST:
            last = joined.num_rows
        yield joined.slice(0, last)
        held = [joined.slice(last)]
    yield from held


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
