"""One pass over a file of sorted usage: the index of its tasks."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from borgtrace.ingest.build import task_statistics
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.runs import run_starts
from borgtrace.schema.tables import STATISTICS_COLUMNS
from borgtrace.schema.time import SECOND
from borgtrace.storage import readable
from borgtrace.store.columns import window_lengths

READ_COLUMNS = [
    "collection_id",
    "instance_index",
    "start_time",
    "end_time",
    "machine_id",
    "collection_type",
    *STATISTICS_COLUMNS,
]
ROWS_PER_BLOCK = 1 << 20
STATISTICS = {
    "mean": task_statistics.MEAN,
    "std": task_statistics.DEVIATION,
    "max": task_statistics.LARGEST,
    "weighted_mean": task_statistics.WEIGHTED_MEAN,
}
"""Prefix of the columns of each statistic, and its row."""


def index_usage(path: Path | None, first: int) -> tuple[pa.Table, npt.NDArray[np.int64]]:
    """Return one row per task of a file of sorted usage.

    Parameters
    ----------
    path
        The file, whose tasks are in no other one; None for a store without usage.
    first
        Number of its first row in the whole table.

    Returns
    -------
    tasks
        Key, first_row, n_windows, spans and statistics of each task, in order.
    suspects
        Collections in which a window may repeat another: same task, start, machine, mean and sampled usage.

    Notes
    -----
    Reads a million rows at a time: about 200 MB.
    """
    index = UsageIndex(first)
    if path:
        file = pq.ParquetFile(readable(path), read_dictionary=["collection_type"])
        for batch in file.iter_batches(ROWS_PER_BLOCK, columns=READ_COLUMNS):
            index.add(batch)
    return index.finish()


class UsageIndex:
    """The index of tasks of sorted usage, of which some rows come at a time.

    Parameters
    ----------
    first
        Number of the first row in the whole table.
    """

    def __init__(self, first: int) -> None:
        self._n_indexed = first
        # Those of the last task so far, which may go on.
        self._waiting: pa.Table | None = None
        # An index of no rows first, for the columns of a trace without usage.
        tasks, suspects = _index_block(_no_usage(), 0)
        self._tasks = [tasks]
        self._suspects = [suspects]

    def add(self, batch: pa.RecordBatch) -> None:
        """Add the next rows, with the columns :data:`READ_COLUMNS` at least."""
        block = pa.Table.from_batches([batch]).select(READ_COLUMNS)
        if self._waiting is not None:
            block = pa.concat_tables([self._waiting, block], promote_options="permissive")
        if not block.num_rows:
            return
        # A batch that is one task whole waits altogether.
        end = start_of_last_task(block)
        if end:
            self._index(block.slice(0, end))
        self._waiting = block.slice(end)

    def _index(self, block: pa.Table) -> None:
        tasks, suspects = _index_block(block, self._n_indexed)
        self._tasks.append(tasks)
        self._suspects.append(suspects)
        self._n_indexed += block.num_rows

    def finish(self) -> tuple[pa.Table, npt.NDArray[np.int64]]:
        """Return tasks and suspects, as :func:`index_usage` does."""
        if self._waiting is not None and self._waiting.num_rows:
            self._index(self._waiting)
        return pa.concat_tables(self._tasks), np.unique(np.concatenate(self._suspects))


def start_of_last_task(block: pa.Table) -> int:
    """Return the row at which the last task of a sorted block begins."""
    collections = block.column("collection_id").to_numpy()
    instances = block.column("instance_index").to_numpy()
    first_of_collection = int(np.searchsorted(collections, collections[-1], "left"))
    instances_of_collection = instances[first_of_collection:]
    return first_of_collection + int(np.searchsorted(instances_of_collection, instances[-1]))


def _index_block(usage: pa.Table, first: int) -> tuple[pa.Table, npt.NDArray[np.int64]]:
    """Index whole tasks; return one row for each, and the collections in which a window may repeat another."""
    collections = _integers(usage, "collection_id")
    instances = _integers(usage, "instance_index")
    start_times = _integers(usage, "start_time")
    end_times = _integers(usage, "end_time")
    machines = pc.fill_null(usage.column("machine_id"), -1).to_numpy()
    starts = run_starts(collections, instances)
    windows = window_lengths(start_times, end_times)
    spans = task_statistics.run_spans(start_times, end_times, windows, machines, starts)
    measured = _measured_values(usage)
    first_rows = starts[:-1]
    types = usage.column("collection_type").take(pa.array(first_rows))
    tasks = {
        "collection_id": collections[first_rows],
        "instance_index": instances[first_rows].astype(np.int32),
        "collection_type": pc.cast(types, pa.string()),
        "first_row": first_rows + first,
        "n_windows": np.diff(starts).astype(np.int32),
        "n_gaps": spans[task_statistics.N_GAPS].astype(np.int32),
        "n_machines": spans[task_statistics.N_MACHINES].astype(np.int32),
        "seconds": spans[task_statistics.DURATION] / SECOND,
        "first_time": spans[task_statistics.FIRST_START],
        "last_time": spans[task_statistics.LAST_END],
        **_statistics(measured, starts, windows / SECOND),
    }
    # As bits, so that a missing value (NaN) equals another.
    words = measured.view(np.uint32)
    may_repeat = task_statistics.repeating_runs(start_times, machines, words, starts)
    return pa.table(tasks), collections[first_rows][may_repeat]


def _measured_values(usage: pa.Table) -> npt.NDArray[np.float32]:
    """Return the measured columns, shape (columns, rows), NaN where there is no value."""
    missing = np.float32(np.nan)
    columns = []
    for name in STATISTICS_COLUMNS:
        columns.append(pc.fill_null(usage.column(name), missing).to_numpy())
    return np.stack(columns)


def _statistics(
    measured: npt.NDArray[np.float32],
    starts: Index,
    durations: Numbers,
) -> dict[str, pa.Array]:
    """Return the statistics of each measured column, for each task."""
    statistics: dict[str, pa.Array] = {}
    for name, values in zip(STATISTICS_COLUMNS, measured, strict=True):
        of_column = task_statistics.run_statistics(values, starts, durations)
        for prefix, row in STATISTICS.items():
            statistics[f"{prefix}_{name}"] = pa.array(of_column[row], from_pandas=True)
    return statistics


def _integers(usage: pa.Table, name: str) -> npt.NDArray[np.int64]:
    return np.ascontiguousarray(usage.column(name).to_numpy(), dtype=np.int64)


def _no_usage() -> pa.Table:
    types = dict.fromkeys(READ_COLUMNS, pa.int64())
    types["collection_type"] = pa.string()
    for name in STATISTICS_COLUMNS:
        types[name] = pa.float32()
    return pa.table({name: pa.array([], column_type) for name, column_type in types.items()})
