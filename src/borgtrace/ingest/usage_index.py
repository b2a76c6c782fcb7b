"""One pass over sorted usage: the trace arrays, and what usage says of each task."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from joblib import Parallel, delayed

from borgtrace.ingest._task_statistics import repeating_runs, run_spans, run_statistics
from borgtrace.kernels.runs import run_starts
from borgtrace.schema.tables import STATISTICS_COLUMNS
from borgtrace.schema.time import AFTER_TRACE, SECOND

_READ = (
    "collection_id",
    "instance_index",
    "start_time",
    "end_time",
    "machine_id",
    "collection_type",
    *STATISTICS_COLUMNS,
)
ROWS_PER_BLOCK = 1 << 20
Arrays = dict[str, npt.NDArray[Any]]
STATISTICS = ("mean", "std", "max", "weighted_mean")
LAST_SECOND = np.uint32(2**32 - 1)
"""Stored in ``start_time`` for "after the trace"."""


def index_usage(
    parts: Sequence[Path],
    rows: int,
    folder: Path,
    threads: int = 1,
    progress: Callable[[int], None] = lambda rows: None,
) -> tuple[pa.Table, npt.NDArray[np.int64]]:
    """Write the trace arrays of sorted usage and return one row per task.

    Parameters
    ----------
    parts
        The table's files, in order; a task never spans two.
    rows
        Rows in all of them.
    folder
        Where ``<column>.npy`` go; must exist.
    threads
        Blocks of rows worked on at a time; each takes about 200 MB.

    Returns
    -------
    tasks
        Key, first_row, n_windows, spans and statistics of each task, in order.
    suspects
        Collections in which a window may repeat another: same task, start, machine, mean and sampled usage.
    """
    kinds = {"start_time": np.uint32, "duration": np.float32} | dict.fromkeys(STATISTICS_COLUMNS, np.float32)
    arrays = {name: _create(folder / f"{name}.npy", kind, rows) for name, kind in kinds.items()}
    # As many blocks as threads and no more ahead: each takes about 200 MB.
    pool = Parallel(threads, backend="threading", return_as="generator", pre_dispatch=threads, batch_size=1)
    # An index of no rows first, for the columns of a trace without usage.
    tables, suspects = [_index_block(_nothing(), 0, arrays)[0]], [np.empty(0, np.int64)]
    for found, suspect in pool(delayed(_index_block)(block, first, arrays) for first, block in _whole_tasks(parts)):
        tables.append(found)
        suspects.append(suspect)
        progress(int(pc.sum(found.column("n_windows")).as_py()))
    return pa.concat_tables(tables), np.unique(np.concatenate(suspects))


def _whole_tasks(parts: Sequence[Path]) -> Iterator[tuple[int, pa.Table]]:
    """Yield the rows of sorted files in blocks that end where a task ends, each with its first row."""
    rest: pa.Table | None = None
    done = 0
    for part in parts:
        file = pq.ParquetFile(part, read_dictionary=["collection_type"])
        for batch in file.iter_batches(ROWS_PER_BLOCK, columns=list(_READ)):
            block = pa.Table.from_batches([batch])
            block = block if rest is None else pa.concat_tables([rest, block], promote_options="permissive")
            last = _last_task(block)
            # The last task may go on in the next batch: it waits, and a batch that is one task whole waits altogether.
            if last:
                yield done, block.slice(0, last)
            rest, done = block.slice(last), done + last
    if rest is not None and rest.num_rows:
        yield done, rest


def _last_task(block: pa.Table) -> int:
    """Return the row at which the last task of a sorted block begins."""
    collection = block.column("collection_id").to_numpy()
    instance = block.column("instance_index").to_numpy()
    low = int(np.searchsorted(collection, collection[-1], "left"))
    return low + int(np.searchsorted(instance[low:], instance[-1], "left"))


def _create(path: Path, kind: type, rows: int) -> npt.NDArray[Any]:
    """Make an array file; an empty one cannot be mapped and is saved instead."""
    if rows == 0:
        np.save(path, np.empty(0, kind))
        return np.empty(0, kind)
    return np.lib.format.open_memmap(path, mode="w+", dtype=kind, shape=(rows,))


def _index_block(table: pa.Table, first: int, arrays: Arrays) -> tuple[pa.Table, npt.NDArray[np.int64]]:
    collection, instance = _numbers(table, "collection_id"), _numbers(table, "instance_index")
    start, end = _numbers(table, "start_time"), _numbers(table, "end_time")
    machine = pc.fill_null(table.column("machine_id"), -1).to_numpy()
    starts = run_starts(collection, instance)
    # A window that ends after the trace has no known length.
    length = np.where(end == AFTER_TRACE, 0, end - start)
    spans = run_spans(start, end, length, machine, starts)
    duration = length / SECOND
    rows = slice(first, first + len(start))
    # Each block writes its own rows: threads never touch the same ones.
    arrays["start_time"][rows] = _seconds(start)
    arrays["duration"][rows] = duration
    statistics: dict[str, pa.Array] = {}
    missing = np.float32(np.nan)
    measured = np.stack([pc.fill_null(table.column(name), missing).to_numpy() for name in STATISTICS_COLUMNS])
    for name, values in zip(STATISTICS_COLUMNS, measured, strict=True):
        arrays[name][rows] = values
        found = run_statistics(values, starts, duration)
        statistics |= {f"{what}_{name}": pa.array(found[i], from_pandas=True) for i, what in enumerate(STATISTICS)}
    heads = starts[:-1]
    columns = {
        "collection_id": collection[heads],
        "instance_index": instance[heads].astype(np.int32),
        "collection_type": pc.cast(table.column("collection_type").take(pa.array(heads)), pa.string()),
        "first_row": heads + first,
        "n_windows": np.diff(starts).astype(np.int32),
        "n_gaps": spans[3].astype(np.int32),
        "n_machines": spans[4].astype(np.int32),
        "seconds": spans[2] / SECOND,
        "first_time": spans[0],
        "last_time": spans[1],
        **statistics,
    }
    # As bits, so that a missing value (NaN) equals another.
    suspect = repeating_runs(start, machine, measured.view(np.uint32), starts)
    return pa.table(columns), collection[heads][suspect]


def _numbers(table: pa.Table, name: str) -> npt.NDArray[np.int64]:
    return np.ascontiguousarray(table.column(name).to_numpy(), dtype=np.int64)


def _seconds(start: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
    return np.where(start == AFTER_TRACE, LAST_SECOND, start // SECOND).astype(np.uint32)


def _nothing() -> pa.Table:
    kinds = {"collection_type": pa.string()} | dict.fromkeys(STATISTICS_COLUMNS, pa.float32())
    return pa.table({name: pa.array([], kinds.get(name, pa.int64())) for name in _READ})
