"""Kernels over the windows of whole collections: block by block here, inside the workers on Spark.

A block holds all windows of a range of collections (on Spark of those whose id has one remainder),
sorted by task and time. A kernel turns a block into integer sums; they are added up, so neither the
number of blocks nor the engine shows in the result.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import reduce
from operator import add
from typing import Any, TypeVar

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from borgtrace.analyses.shared.attempts import TASK, of_jobs
from borgtrace.analyses.shared.joins import lookup
from borgtrace.analyses.shared.windows import UNKNOWN, regular, tier
from borgtrace.kernels.runs import are_sorted, run_starts
from borgtrace.question import Tables
from borgtrace.schema.time import SECOND
from borgtrace.store.traces import find_rows

ROWS_PER_BLOCK = 4_000_000
"""So many that fetching all blocks takes little longer than fetching one; three are in memory at a time."""
ORDER = (*TASK, "start_time", "source_part", "source_row")
THREADS = 2
MIN_WORKER_BLOCKS = 8
"""A block goes to one worker: with fewer of them, workers would idle on a small store."""
BlockResult = TypeVar("BlockResult")
Kernel = Callable[[pa.Table], NDArray[np.int64]]


def tier_names(tables: Tables) -> tuple[str, ...]:
    """Return the tiers of the trace and, last, the unknown one; a row's tier is a position here."""
    return (*(name for name, _, _ in tables.dialect.tiers), UNKNOWN)


def task_windows(
    tables: Tables, *columns: str, **index: ibis.Value
) -> tuple[ibis.Table, ibis.Table]:
    """Return the usage windows of jobs with some columns of the usage and some of the task.

    Parameters
    ----------
    columns
        Columns of instance_usage.
    index
        Names and expressions over ``tables.tasks``.

    Returns
    -------
    tuple of two tables
        Windows with `ORDER`, ``seconds``, ``slot`` and `columns`; tasks, which may lack those of some windows, with
        `TASK`, ``tier`` (position in :func:`tier_names`) and `index`.
    """
    usage = of_jobs(regular(tables.instance_usage))
    names = tier_names(tables)
    positions = [(name, position) for position, name in enumerate(names)]
    tier_name = tier(tables, tables.tasks.priority)
    tier_position = tier_name.cases(*positions, else_=len(names) - 1)
    tasks = tables.tasks.select(*TASK, tier=tier_position.cast("int64"), **index)
    return usage.select(*ORDER, "seconds", "slot", *columns), tasks


def sum_blocks(
    tables: Tables, usage: ibis.Table, tasks: ibis.Table, kernel: Kernel, stage: str
) -> NDArray[np.int64]:
    """Run `kernel` on every block of windows with the columns of their tasks, and add up its results.

    Parameters
    ----------
    usage, tasks
        From :func:`task_windows`.
    kernel
        From a sorted block to an array of integers, of the same shape for every block.  Columns of tasks are NULL where
        no event names the task.
    stage
        Name of the relational stage.
    """
    if tables.engine != "duckdb":
        n_blocks = -(-tables.n_rows("instance_usage") // ROWS_PER_BLOCK)
        return sum_in_workers(lookup(usage, tasks, TASK), kernel, n_blocks)
    return reduce(add, map_blocks(tables, usage, tasks, kernel, stage))


def map_blocks(
    tables: Tables,
    usage: ibis.Table,
    tasks: ibis.Table | None,
    kernel: Callable[[pa.Table], BlockResult],
    stage: str,
) -> Iterator[BlockResult]:
    """Yield the result of `kernel` for each block; it runs on threads while the engine reads the next block.

    Parameters
    ----------
    usage, tasks
        From :func:`task_windows`; None where the kernel needs no column of tasks.
    kernel
        From a sorted block to anything; it should release the GIL most of the time.
    stage
        Name of the relational stage.
    """
    running: list[Future[BlockResult]] = []
    with ThreadPoolExecutor(THREADS) as pool:
        # Fetched by the caller's thread: a connection answers one query at a time.
        for ids in collection_ranges(tables):
            windows = tables.fetch(within(usage, ids), stage)
            block_tasks = None
            if tasks is not None:
                block_tasks = tables.fetch(within(tasks, ids), f"{stage}_tasks")
            # Not more blocks than threads at a time: each takes memory.
            if len(running) == THREADS:
                yield running.pop(0).result()
            running.append(pool.submit(run_kernel, kernel, windows, block_tasks))
        for future in running:
            yield future.result()


def run_kernel(
    kernel: Callable[[pa.Table], BlockResult], windows: pa.Table, tasks: pa.Table | None
) -> BlockResult:
    """Run a kernel on the windows of one block, sorted and with the columns of their tasks."""
    return kernel(with_task_columns(windows, tasks))


def within(rows: ibis.Table, ids: tuple[int, int] | None) -> ibis.Table:
    """Keep the rows of a range of collections; all rows where it is None."""
    return rows if ids is None else rows.filter(rows.collection_id.between(*ids))


def collection_ranges(tables: Tables) -> Iterator[tuple[int, int] | None]:
    """Yield the first and the last collection of each block; None where one block holds all.

    Files are sorted by collection, so that each range reads its own part of them; remainders would each read all.
    """
    if tables.n_rows("instance_usage") <= ROWS_PER_BLOCK:
        yield None
        return
    usage = tables.instance_usage
    counts = usage.group_by("collection_id").aggregate(n=usage.count()).order_by("collection_id")
    collections = tables.fetch(counts, "collections")
    # A block ends with the collection that fills it, so that no task is cut.
    block_numbers = (np.cumsum(integers(collections, "n")) - 1) // ROWS_PER_BLOCK
    block_starts = np.flatnonzero(np.diff(block_numbers)) + 1
    for ids in np.split(integers(collections, "collection_id"), block_starts):
        yield int(ids[0]), int(ids[-1])


def with_task_columns(usage: pa.Table, tasks: pa.Table | None = None) -> pa.Table:
    """Sort windows, and add the columns of `tasks` to each; NULL where its task is missing there.

    In Arrow, because a join of DuckDB does not keep the order of its rows.
    """
    block = in_order(usage.combine_chunks())
    if tasks is None:
        return block
    tasks = tasks.sort_by([(name, "ascending") for name in TASK])
    collections = integers(block, "collection_id")
    instances = integers(block, "instance_index")
    starts = run_starts(collections, instances)
    first_windows = starts[:-1]
    task_rows = find_rows(
        integers(tasks, "collection_id"),
        integers(tasks, "instance_index").astype(np.int32),
        np.stack([collections[first_windows], instances[first_windows]], axis=1),
    )
    row_of_window = pa.array(np.repeat(task_rows, np.diff(starts)))
    known_row_of_window = pc.if_else(pc.less(row_of_window, 0), None, row_of_window)
    task_columns = tasks.drop(list(TASK)).take(known_row_of_window)
    for name in task_columns.column_names:
        block = block.append_column(name, task_columns[name])
    return block


def in_order(block: pa.Table) -> pa.Table:
    """Return rows of windows in `ORDER`."""
    # Rows of a store are sorted, and an engine that only filters keeps the order: checking takes a sixth of a sort.
    if are_sorted(*(integers(block, name) for name in ORDER)):
        return block
    return block.sort_by([(name, "ascending") for name in ORDER])


def sum_in_workers(rows: ibis.Table, kernel: Kernel, n_blocks: int) -> NDArray[np.int64]:
    """Let Spark's workers run the kernel over their blocks, and add up the results."""
    from borgtrace.engine.spark import frame, frame_to_arrow

    backend: Any = ibis.get_backend(rows)
    blocks = rows.mutate(block=rows.collection_id % max(n_blocks, MIN_WORKER_BLOCKS))

    def nonzero_sums(block: pa.Table) -> pa.Table:
        sums = kernel(in_order(block.combine_chunks())).ravel()
        # Most bins of a block are empty: only the others travel.
        positions = np.flatnonzero(sums)
        return pa.table({"position": positions.astype(np.int64), "value": sums[positions]})

    grouped = frame(backend, blocks).groupBy("block")
    sums_of_blocks = frame_to_arrow(grouped.applyInArrow(nonzero_sums, "position long, value long"))
    # The shape of a kernel's result does not depend on the rows: an empty block gives it.
    empty_result = kernel(rows.schema().to_pyarrow().empty_table())
    total = np.zeros(empty_result.size, dtype=np.int64)
    # add.at, not ``+=``: several blocks send the same position.
    np.add.at(
        total,
        sums_of_blocks["position"].to_numpy(),
        sums_of_blocks["value"].to_numpy(),
    )
    return total.reshape(empty_result.shape)


def column(block: pa.Table, name: str) -> NDArray[np.float64]:
    """Return a column as float64, NaN where it is NULL.

    Parameters
    ----------
    block
        Rows of windows.
    name
        A column of numbers.

    Returns
    -------
    ndarray
        float64 of shape (n,).
    """
    return np.asarray(block[name].to_numpy(), dtype=np.float64)


def integers(block: pa.Table, name: str, missing: int = 0) -> NDArray[np.int64]:
    """Return a column as int64.

    Parameters
    ----------
    block
        Rows of windows.
    name
        A column of whole numbers.
    missing
        Stands for NULL.

    Returns
    -------
    ndarray
        int64 of shape (n,).
    """
    values = np.asarray(block[name].fill_null(missing).to_numpy(), dtype=np.int64)
    # As Arrow's own memory is: otherwise kernels would be compiled for both kinds.
    values.flags.writeable = False
    return values


def task_numbers(block: pa.Table) -> NDArray[np.int64]:
    """Number the tasks of a sorted block from 0."""
    starts = run_starts(integers(block, "collection_id"), integers(block, "instance_index"))
    lengths = np.diff(starts)
    return np.repeat(np.arange(len(lengths)), lengths)


def seconds_since_start(block: pa.Table) -> NDArray[np.int64]:
    """Return the start of the windows in whole seconds."""
    return integers(block, "start_time") // SECOND
