"""One pass over a file of sorted usage: what it says of each task."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from borgtrace.ingest.build.task_statistics import repeating_runs, run_spans, run_statistics
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
]
READ_COLUMNS += STATISTICS_COLUMNS
ROWS_PER_BLOCK = 1 << 20
STATISTICS = ("mean", "std", "max", "weighted_mean")


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
    # An index of no rows first, for the columns of a trace without usage.
    tables, suspects = [_index_block(_nothing(), 0)[0]], [np.empty(0, np.int64)]
    for begin, block in whole_task_blocks(path) if path else ():
        found, suspect = _index_block(block, first + begin)
        tables.append(found)
        suspects.append(suspect)
    return pa.concat_tables(tables), np.unique(np.concatenate(suspects))


def whole_task_blocks(path: Path) -> Iterator[tuple[int, pa.Table]]:
    """Yield the rows of a sorted file in blocks that end where a task ends, each with its first row in the file."""
    rest: pa.Table | None = None
    done = 0
    file = pq.ParquetFile(readable(path), read_dictionary=["collection_type"])
    for batch in file.iter_batches(ROWS_PER_BLOCK, columns=READ_COLUMNS):
        block = pa.Table.from_batches([batch])
        block = (
            block if rest is None else pa.concat_tables([rest, block], promote_options="permissive")
        )
        last = start_of_last_task(block)
        # The last task may go on in the next batch: it waits, and a batch that is one task whole waits altogether.
        if last:
            yield done, block.slice(0, last)
        rest, done = block.slice(last), done + last
    if rest is not None and rest.num_rows:
        yield done, rest


def start_of_last_task(block: pa.Table) -> int:
    """Return the row at which the last task of a sorted block begins."""
    collection = block.column("collection_id").to_numpy()
    instance = block.column("instance_index").to_numpy()
    low = int(np.searchsorted(collection, collection[-1], "left"))
    return low + int(np.searchsorted(instance[low:], instance[-1], "left"))


def _index_block(table: pa.Table, first: int) -> tuple[pa.Table, npt.NDArray[np.int64]]:
    collection, instance = _numbers(table, "collection_id"), _numbers(table, "instance_index")
    start, end = _numbers(table, "start_time"), _numbers(table, "end_time")
    machine = pc.fill_null(table.column("machine_id"), -1).to_numpy()
    starts = run_starts(collection, instance)
    length = window_lengths(start, end)
    spans = run_spans(start, end, length, machine, starts)
    duration = length / SECOND
    statistics: dict[str, pa.Array] = {}
    missing = np.float32(np.nan)
    measured = np.stack(
        [pc.fill_null(table.column(name), missing).to_numpy() for name in STATISTICS_COLUMNS]
    )
    for name, values in zip(STATISTICS_COLUMNS, measured, strict=True):
        found = run_statistics(values, starts, duration)
        statistics |= {
            f"{what}_{name}": pa.array(found[i], from_pandas=True)
            for i, what in enumerate(STATISTICS)
        }
    heads = starts[:-1]
    columns = {
        "collection_id": collection[heads],
        "instance_index": instance[heads].astype(np.int32),
        "collection_type": pc.cast(
            table.column("collection_type").take(pa.array(heads)), pa.string()
        ),
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


def _nothing() -> pa.Table:
    kinds = {"collection_type": pa.string()} | dict.fromkeys(STATISTICS_COLUMNS, pa.float32())
    return pa.table({name: pa.array([], kinds.get(name, pa.int64())) for name in READ_COLUMNS})
